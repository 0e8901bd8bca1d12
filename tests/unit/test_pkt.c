/* SPDX-License-Identifier: BSD-2-Clause */
/* PSN arithmetic, the opcode table, packets to bytes and back, hostile bytes. */
#include "device.h"

#include <stdlib.h>
#include <string.h>

#include "pkt.h"
#include "psn.h"

#define PAYLOAD 100u

static void psn_add_wraps_at_24_bits(void **state)
{
	static const struct {
		uint32_t psn, n, sum;
	} rows[] = {
		{0, 0, 0},        {0, 1, 1},        {0xffffff, 1, 0},
		{0xfffffe, 5, 3}, {5, 0xffffff, 4}, {0x800000, 0x800000, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(emu_psn_add(rows[i].psn, rows[i].n), rows[i].sum);
}

static void psn_diff_looks_half_a_circle_each_way(void **state)
{
	static const struct {
		uint32_t a, b;
		int32_t diff;
	} rows[] = {
		{0, 0, 0},
		{1, 0, 1},
		{0, 1, -1},
		{0, 0xffffff, 1},
		{0xffffff, 0, -1},
		{0x7fffff, 0, 0x7fffff},
		{0x800000, 0, -0x800000},
		{2, 0xfffffe, 4},
		{0xfffffe, 2, -4},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(emu_psn_diff(rows[i].a, rows[i].b), rows[i].diff);
}

static void packets_of_a_message_are_counted(void **state)
{
	static const struct {
		uint64_t len;
		uint32_t mtu, count;
	} rows[] = {
		{0, 1024, 1},    {1, 1024, 1},    {1024, 1024, 1},
		{1025, 1024, 2}, {4096, 256, 16}, {1u << 31, 4096, 1u << 19},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(emu_pkt_count(rows[i].len, rows[i].mtu), rows[i].count);
}

/* IBTA table 38 and the lengths of chapter 9's headers, told again here. */
static const struct {
	uint8_t code;
	uint32_t hdr_len;
	enum emu_pkt_class cls;
	enum emu_pkt_pos pos;
} opcodes[] = {
	{0x00, 12, EMU_CLASS_SEND, EMU_POS_FIRST},
	{0x01, 12, EMU_CLASS_SEND, EMU_POS_MIDDLE},
	{0x02, 12, EMU_CLASS_SEND, EMU_POS_LAST},
	{0x03, 16, EMU_CLASS_SEND, EMU_POS_LAST},
	{0x04, 12, EMU_CLASS_SEND, EMU_POS_ONLY},
	{0x05, 16, EMU_CLASS_SEND, EMU_POS_ONLY},
	{0x06, 28, EMU_CLASS_WRITE, EMU_POS_FIRST},
	{0x07, 12, EMU_CLASS_WRITE, EMU_POS_MIDDLE},
	{0x08, 12, EMU_CLASS_WRITE, EMU_POS_LAST},
	{0x09, 16, EMU_CLASS_WRITE, EMU_POS_LAST},
	{0x0a, 28, EMU_CLASS_WRITE, EMU_POS_ONLY},
	{0x0b, 32, EMU_CLASS_WRITE, EMU_POS_ONLY},
	{0x0c, 28, EMU_CLASS_READ, EMU_POS_ONLY},
	{0x0d, 16, EMU_CLASS_READ_RESP, EMU_POS_FIRST},
	{0x0e, 12, EMU_CLASS_READ_RESP, EMU_POS_MIDDLE},
	{0x0f, 16, EMU_CLASS_READ_RESP, EMU_POS_LAST},
	{0x10, 16, EMU_CLASS_READ_RESP, EMU_POS_ONLY},
	{0x11, 16, EMU_CLASS_ACK, EMU_POS_ONLY},
	{0x12, 24, EMU_CLASS_ATOMIC_ACK, EMU_POS_ONLY},
	{0x13, 40, EMU_CLASS_ATOMIC, EMU_POS_ONLY},
	{0x14, 40, EMU_CLASS_ATOMIC, EMU_POS_ONLY},
	{0x16, 16, EMU_CLASS_SEND, EMU_POS_LAST},
	{0x17, 16, EMU_CLASS_SEND, EMU_POS_ONLY},
	{0x20, 12, EMU_CLASS_SEND, EMU_POS_FIRST},
	{0x21, 12, EMU_CLASS_SEND, EMU_POS_MIDDLE},
	{0x22, 12, EMU_CLASS_SEND, EMU_POS_LAST},
	{0x23, 16, EMU_CLASS_SEND, EMU_POS_LAST},
	{0x24, 12, EMU_CLASS_SEND, EMU_POS_ONLY},
	{0x25, 16, EMU_CLASS_SEND, EMU_POS_ONLY},
	{0x26, 28, EMU_CLASS_WRITE, EMU_POS_FIRST},
	{0x27, 12, EMU_CLASS_WRITE, EMU_POS_MIDDLE},
	{0x28, 12, EMU_CLASS_WRITE, EMU_POS_LAST},
	{0x29, 16, EMU_CLASS_WRITE, EMU_POS_LAST},
	{0x2a, 28, EMU_CLASS_WRITE, EMU_POS_ONLY},
	{0x2b, 32, EMU_CLASS_WRITE, EMU_POS_ONLY},
};

static void opcodes_have_class_position_and_length(void **state)
{
	for (size_t i = 0; i < COUNT(opcodes); i++) {
		const struct emu_opcode *op = emu_opcode(opcodes[i].code);

		assert_non_null(op);
		assert_int_equal(op->code, opcodes[i].code);
		assert_int_equal(op->cls, opcodes[i].cls);
		assert_int_equal(op->pos, opcodes[i].pos);
		assert_int_equal(emu_opcode_type(op),
		                 opcodes[i].code < 0x20 ? EMU_QPT_RC : EMU_QPT_UC);
		assert_int_equal(emu_opcode_hdr_len(op), opcodes[i].hdr_len);
		assert_true(emu_opcode_hdr_len(op) <= EMU_HDR_MAX);
	}
}

static void opcode_is_found_by_what_it_is(void **state)
{
	const uint8_t tail = EMU_HDR_IMM | EMU_HDR_IETH;

	for (size_t i = 0; i < COUNT(opcodes); i++) {
		const struct emu_opcode *op = emu_opcode(opcodes[i].code);

		if (op->cls != EMU_CLASS_ATOMIC)
			assert_ptr_equal(emu_opcode_find(emu_opcode_type(op), op->cls, op->pos,
			                                 op->hdrs & tail),
			                 op);
	}
	assert_null(emu_opcode_find(EMU_QPT_UC, EMU_CLASS_SEND, EMU_POS_LAST, EMU_HDR_IETH));
	assert_null(emu_opcode_find(EMU_QPT_UC, EMU_CLASS_READ, EMU_POS_ONLY, 0));
	assert_null(emu_opcode_find(EMU_QPT_RC, EMU_CLASS_SEND, EMU_POS_FIRST, EMU_HDR_IMM));
	assert_null(emu_opcode_find(EMU_QPT_RC, EMU_CLASS_WRITE, EMU_POS_LAST, EMU_HDR_IETH));
}

/* Every field different, as the headers of the opcode can carry it. */
static struct emu_pkt make_packet(const struct emu_opcode *op)
{
	struct emu_pkt pkt = {.op = op, .solicited = op->code & 1, .ack_req = op->code & 2};

	pkt.dqpn = 0xabcdef;
	pkt.psn = 0xfedcba;
	if (op->hdrs & (EMU_HDR_RETH | EMU_HDR_ATOMIC)) {
		pkt.va = 0x0123456789abcdefu;
		pkt.rkey = 0x89abcdef;
	}
	if (op->hdrs & EMU_HDR_RETH)
		pkt.len = 0x76543210;
	if (op->hdrs & EMU_HDR_ATOMIC) {
		pkt.swap_add = 0x1122334455667788u;
		pkt.compare = 0x99aabbccddeeff00u;
	}
	if (op->hdrs & EMU_HDR_AETH) {
		pkt.syndrome = 0x6b;
		pkt.msn = 0x314159;
	}
	if (op->hdrs & EMU_HDR_ATOMIC_ACK)
		pkt.orig = 0xf0e0d0c0b0a09080u;
	if (op->hdrs & (EMU_HDR_IMM | EMU_HDR_IETH))
		pkt.imm = 0x27182818;
	return pkt;
}

static void assert_same(const struct emu_pkt *a, const struct emu_pkt *b)
{
	assert_ptr_equal(a->op, b->op);
	assert_int_equal(a->solicited, b->solicited);
	assert_int_equal(a->ack_req, b->ack_req);
	assert_int_equal(a->dqpn, b->dqpn);
	assert_int_equal(a->psn, b->psn);
	assert_true(a->va == b->va);
	assert_int_equal(a->rkey, b->rkey);
	assert_int_equal(a->len, b->len);
	assert_true(a->swap_add == b->swap_add);
	assert_true(a->compare == b->compare);
	assert_int_equal(a->syndrome, b->syndrome);
	assert_int_equal(a->msn, b->msn);
	assert_true(a->orig == b->orig);
	assert_int_equal(a->imm, b->imm);
}

/* A frame of exactly len bytes of heap: the sanitizer sees a read beyond. */
static uint8_t *exact(const uint8_t *bytes, size_t len)
{
	uint8_t *frame = malloc(len ? len : 1);

	assert_non_null(frame);
	memcpy(frame, bytes, len);
	return frame;
}

static void every_opcode_survives_pack_and_parse(void **state)
{
	for (size_t i = 0; i < COUNT(opcodes); i++) {
		struct emu_pkt pkt = make_packet(emu_opcode(opcodes[i].code)), back;
		uint8_t bytes[EMU_HDR_MAX + PAYLOAD] = {0}, *frame;
		uint32_t len = emu_pkt_pack(&pkt, bytes);

		assert_int_equal(len, opcodes[i].hdr_len);
		for (uint32_t payload = 0; payload <= PAYLOAD; payload += PAYLOAD) {
			frame = exact(bytes, len + payload);
			assert_true(emu_pkt_parse(frame, len + payload, &back));
			assert_same(&pkt, &back);
			assert_ptr_equal(back.payload, frame + len);
			assert_int_equal(back.payload_len, payload);
			free(frame);
		}
	}
}

/* The bytes themselves, once: big endian, fields where IBTA has them. */
static void write_only_looks_as_in_the_specification(void **state)
{
	struct emu_pkt pkt = {.op = emu_opcode(0x0a),
	                      .solicited = true,
	                      .ack_req = true,
	                      .dqpn = 0x123456,
	                      .psn = 0x789abc,
	                      .va = 0x1112131415161718u,
	                      .rkey = 0x21222324,
	                      .len = 0x31323334};
	static const uint8_t expected[] = {
		0x0a, 0x80, 0xff, 0xff, 0x00, 0x12, 0x34, 0x56, 0x80, 0x78, 0x9a, 0xbc, 0x11, 0x12,
		0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34};
	uint8_t bytes[EMU_HDR_MAX];

	assert_int_equal(emu_pkt_pack(&pkt, bytes), sizeof(expected));
	assert_memory_equal(bytes, expected, sizeof(expected));
}

static void truncated_packets_are_refused(void **state)
{
	for (size_t i = 0; i < COUNT(opcodes); i++) {
		struct emu_pkt pkt = make_packet(emu_opcode(opcodes[i].code)), back;
		uint8_t bytes[EMU_HDR_MAX];
		uint32_t len = emu_pkt_pack(&pkt, bytes);

		for (uint32_t cut = 0; cut < len; cut++) {
			uint8_t *frame = exact(bytes, cut);

			assert_false(emu_pkt_parse(frame, cut, &back));
			free(frame);
		}
	}
}

static void opcodes_of_the_table_only_are_taken(void **state)
{
	uint8_t bytes[EMU_HDR_MAX] = {0, 0, 0xff, 0xff};
	struct emu_pkt pkt;

	for (unsigned code = 0; code < 256; code++) {
		bytes[0] = (uint8_t)code;
		assert_int_equal(emu_pkt_parse(bytes, sizeof(bytes), &pkt),
		                 emu_opcode((uint8_t)code) != NULL);
	}
	assert_null(emu_opcode(0x15));
	assert_null(emu_opcode(0x18));
	assert_null(emu_opcode(0xff));
}

static void foreign_partition_is_refused(void **state)
{
	uint8_t bytes[EMU_HDR_MAX] = {0x04, 0, 0x7f, 0xff};
	struct emu_pkt pkt;

	assert_false(emu_pkt_parse(bytes, 12, &pkt));
	bytes[2] = 0xff;
	assert_true(emu_pkt_parse(bytes, 12, &pkt));
}

static void garbage_is_parsed_within_its_bounds(void **state)
{
	uint8_t bytes[EMU_HDR_MAX + 16], *frame;
	uint32_t x = 1;
	struct emu_pkt pkt;

	for (unsigned n = 0; n < 20000; n++) {
		size_t len;

		for (size_t i = 0; i < sizeof(bytes); i++) {
			x = x * 1664525u + 1013904223u;
			bytes[i] = (uint8_t)(x >> 24);
		}
		len = bytes[0] % (sizeof(bytes) + 1);
		bytes[0] = bytes[1] % 0x70;
		bytes[2] = bytes[3] = 0xff;
		frame = exact(bytes, len);
		if (emu_pkt_parse(frame, len, &pkt))
			assert_ptr_equal(pkt.payload + pkt.payload_len, frame + len);
		free(frame);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(psn_add_wraps_at_24_bits),
		cmocka_unit_test(psn_diff_looks_half_a_circle_each_way),
		cmocka_unit_test(packets_of_a_message_are_counted),
		cmocka_unit_test(opcodes_have_class_position_and_length),
		cmocka_unit_test(opcode_is_found_by_what_it_is),
		cmocka_unit_test(every_opcode_survives_pack_and_parse),
		cmocka_unit_test(write_only_looks_as_in_the_specification),
		cmocka_unit_test(truncated_packets_are_refused),
		cmocka_unit_test(opcodes_of_the_table_only_are_taken),
		cmocka_unit_test(foreign_partition_is_refused),
		cmocka_unit_test(garbage_is_parsed_within_its_bounds),
	};

	return cmocka_run_group_tests_name("packets", tests, NULL, NULL);
}
