/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of faults against the numbers that programs know from hardware. */
#include "device.h"

#include "fault.h"

static void rows_have_status_and_vendor_err_of_hardware(void **state)
{
	static const struct {
		enum emu_fault fault;
		uint8_t syndrome;
		enum emu_wc_status status;
		uint32_t vendor_err;
	} rows[] = {
		{EMU_FAULT_RKEY, 0x62, EMU_WC_REM_ACCESS_ERR, 0x88},
		{EMU_FAULT_QP_ACCESS, 0x61, EMU_WC_REM_INV_REQ_ERR, 0x8a},
		{EMU_FAULT_TOO_MANY_READS, 0x61, EMU_WC_REM_INV_REQ_ERR, 0x8a},
		{EMU_FAULT_MISALIGNED, 0x61, EMU_WC_REM_INV_REQ_ERR, 0x8a},
		{EMU_FAULT_RECV_TOO_SHORT, 0x61, EMU_WC_REM_INV_REQ_ERR, 0x8a},
		{EMU_FAULT_RECV_SGE, 0x63, EMU_WC_REM_OP_ERR, 0x89},
		{EMU_FAULT_LOCAL_KEY, EMU_AETH_ACK, EMU_WC_LOC_PROT_ERR, 0x52},
		{EMU_FAULT_LOCAL_RANGE, EMU_AETH_ACK, EMU_WC_LOC_PROT_ERR, 0x53},
		{EMU_FAULT_LOCAL_RIGHT, EMU_AETH_ACK, EMU_WC_LOC_PROT_ERR, 0x33},
		{EMU_FAULT_NO_ANSWER, EMU_AETH_ACK, EMU_WC_RETRY_EXC_ERR, 0x81},
		{EMU_FAULT_NOT_READY, EMU_AETH_ACK, EMU_WC_RNR_RETRY_EXC_ERR, 0x87},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct emu_fault_row *row = emu_fault_row(rows[i].fault);

		assert_int_equal(row->syndrome, rows[i].syndrome);
		assert_int_equal(row->status, rows[i].status);
		assert_int_equal(row->vendor_err, rows[i].vendor_err);
	}
}

static void nak_tells_the_initiator_its_status(void **state)
{
	static const struct {
		uint8_t syndrome;
		enum emu_wc_status status;
	} rows[] = {
		{0x61, EMU_WC_REM_INV_REQ_ERR},
		{0x62, EMU_WC_REM_ACCESS_ERR},
		{0x63, EMU_WC_REM_OP_ERR},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(emu_fault_row(emu_fault_of_nak(rows[i].syndrome))->status,
		                 rows[i].status);
	assert_int_equal(emu_fault_of_nak(0x60), EMU_PASS);
	assert_int_equal(emu_fault_of_nak(0x1f), EMU_PASS);
	assert_int_equal(emu_fault_of_nak(0x7f), EMU_PASS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_status_and_vendor_err_of_hardware),
		cmocka_unit_test(nak_tells_the_initiator_its_status),
	};

	return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
