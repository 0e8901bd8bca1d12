// SPDX-License-Identifier: BSD-2-Clause
#include "fault.h"

#include <assert.h>

static const struct emu_fault_row rows[EMU_FAULTS] = {
#define FAULT(name, nak, st, vendor, rst, ev)                                                     \
	[EMU_FAULT_##name] = {                                                                    \
		.syndrome = EMU_AETH_##nak,                                                       \
		.status = EMU_WC_##st,                                                            \
		.vendor_err = vendor,                                                             \
		.recv_status = EMU_WC_##rst,                                                      \
		.event = EMU_EVENT_##ev,                                                          \
	},
#include "fault.def"
#undef FAULT
};

const struct emu_fault_row *emu_fault_row(enum emu_fault fault)
{
	assert(fault > EMU_NOT_READY_NAK && fault < EMU_FAULTS);
	return &rows[fault];
}

enum emu_fault emu_fault_of_nak(uint8_t syndrome)
{
	for (int f = EMU_NOT_READY_NAK + 1; f < EMU_FAULTS; f++)
		if (syndrome != EMU_AETH_ACK && rows[f].syndrome == syndrome &&
		    rows[f].status != EMU_WC_SUCCESS)
			return f;
	return EMU_PASS;
}
