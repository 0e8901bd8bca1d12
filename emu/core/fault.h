/* SPDX-License-Identifier: BSD-2-Clause */
/* Verdicts of the protocol; fault.def says what each one leads to. */
#ifndef EMU_FAULT_H
#define EMU_FAULT_H

#include <emu/types.h>

#include "pkt.h"

enum emu_fault {
	EMU_PASS,
	EMU_DROP, /* silently */
	EMU_NOT_READY_NAK, /* no receive posted: RNR NAK */
#define FAULT(name, nak, status, vendor, rstatus, event) EMU_FAULT_##name,
#include "fault.def"
#undef FAULT
	EMU_FAULTS,
};

/* vendor_err of flushed work requests */
#define EMU_VENDOR_FLUSH_SEND 0xf5
#define EMU_VENDOR_FLUSH_RECV 0xf9

struct emu_fault_row {
	uint8_t syndrome; /* EMU_AETH_ACK: no NAK */
	enum emu_wc_status status; /* at the initiator */
	uint32_t vendor_err;
	enum emu_wc_status recv_status; /* of the receive in work at the responder */
	enum emu_event_type event; /* at the responder */
};

const struct emu_fault_row *emu_fault_row(enum emu_fault fault);
/* The fault that an error NAK reports to the initiator; EMU_PASS: not an error NAK. */
enum emu_fault emu_fault_of_nak(uint8_t syndrome);

#endif
