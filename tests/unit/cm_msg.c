/* SPDX-License-Identifier: BSD-2-Clause */
/* The form of CM messages: where IBTA 12.6 has their fields, and what the parser refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cm/msg.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BODY 24

static const struct emu_gid v4_a = {{[10] = 0xff, 0xff, 10, 77, 0, 1}};
static const struct emu_gid v4_b = {{[10] = 0xff, 0xff, 10, 77, 0, 2}};
static const struct emu_gid v6_a = {{0xfd, 1, [15] = 1}};
static const struct emu_gid v6_b = {{0xfd, 1, [15] = 2}};

static struct emu_cm_msg request(void)
{
	struct emu_cm_msg msg = {
		.kind = EMU_CM_MSG_REQ,
		.tid = 0x1122334455667788,
		.local_id = 0xa1a2a3a4,
		.service_id = 0x01061d2f,
		.ca_guid = 0x0102030405060708,
		.qkey = 0x51525354,
		.qpn = 0xb1b2b3,
		.responder_resources = 3,
		.initiator_depth = 2,
		.remote_response_timeout = 20,
		.transport = 0,
		.flow_control = 1,
		.psn = 0xc1c2c3,
		.local_response_timeout = 21,
		.retry_count = 5,
		.pkey = 0xffff,
		.mtu = 5,
		.rnr_retry = 6,
		.max_retries = 15,
		.srq = 1,
		.hop_limit = 64,
		.traffic_class = 0x28,
		.ack_timeout = 19,
		.ece_vendor = 0xe1e2e3,
		.ece_options = 0xf1f2f3f4,
		.src = {v4_a, 0x9c41},
		.dst = {v4_b, 0x1d2f},
		.data_len = 3,
	};

	memcpy(msg.data, "abc", 3);
	return msg;
}

struct bytes {
	size_t at;
	size_t len;
	const char *value;
};

static void expect_bytes(const uint8_t *mad, const struct bytes *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_memory_equal(mad + b[i].at, b[i].value, b[i].len);
}

static void a_request_has_its_fields_where_ibta_says(void **state)
{
	static const struct bytes want[] = {
		{0, 4, "\x01\x07\x02\x03"},
		{8, 8, "\x11\x22\x33\x44\x55\x66\x77\x88"},
		{16, 2, "\x00\x10"},
		{20, 4, "\xf1\xf2\xf3\xf4"},
		{BODY + 0, 4, "\xa1\xa2\xa3\xa4"},
		{BODY + 5, 3, "\xe1\xe2\xe3"},
		{BODY + 8, 8, "\x00\x00\x00\x00\x01\x06\x1d\x2f"},
		{BODY + 16, 8, "\x01\x02\x03\x04\x05\x06\x07\x08"},
		{BODY + 28, 4, "\x51\x52\x53\x54"},
		{BODY + 32, 4, "\xb1\xb2\xb3\x03"},
		{BODY + 39, 1, "\x02"},
		{BODY + 43, 1, "\xa1"},             /* 20 << 3 | RC << 1 | flow control */
		{BODY + 44, 4, "\xc1\xc2\xc3\xad"}, /* 21 << 3 | 5 retries */
		{BODY + 48, 4, "\xff\xff\x56\xf8"}, /* MTU 5, RNR 6; 15 retries, SRQ */
		{BODY + 56, 16, (const char *)v4_a.raw},
		{BODY + 72, 16, (const char *)v4_b.raw},
		{BODY + 92, 2, "\x28\x40"},
		{BODY + 95, 1, "\x98"},              /* 19 << 3 */
		{BODY + 140, 4, "\x00\x40\x9c\x41"}, /* IP CM header, version 4, port */
		{BODY + 144, 16, "\0\0\0\0\0\0\0\0\0\0\0\0\x0a\x4d\x00\x01"},
		{BODY + 160, 16, "\0\0\0\0\0\0\0\0\0\0\0\0\x0a\x4d\x00\x02"},
		{BODY + 176, 4, "abc\0"},
	};
	struct emu_cm_msg msg = request(), back;
	uint8_t mad[EMU_MAD_BYTES];

	emu_cm_pack(&msg, mad);
	expect_bytes(mad, want, COUNT(want));
	assert_true(emu_cm_parse(mad, sizeof(mad), &back));
	msg.data_len = EMU_CM_REQ_DATA;
	msg.ps = EMU_CM_PS_TCP;
	assert_memory_equal(&back, &msg, sizeof(msg));
}

static void a_reply_has_its_fields_where_ibta_says(void **state)
{
	static const struct bytes want[] = {
		{16, 2, "\x00\x13"},
		{BODY + 0, 8, "\xa1\xa2\xa3\xa4\xd1\xd2\xd3\xd4"},
		{BODY + 8, 4, "\x51\x52\x53\x54"},
		{BODY + 12, 4, "\xb1\xb2\xb3\xe1"},
		{BODY + 19, 1, "\xe2"},
		{BODY + 20, 4, "\xc1\xc2\xc3\xe3"},
		{BODY + 24, 4, "\x03\x02\x01\xd0"}, /* flow control; RNR 6, SRQ */
		{BODY + 28, 8, "\x01\x02\x03\x04\x05\x06\x07\x08"},
		{BODY + 36, 3, "abc"},
	};
	struct emu_cm_msg msg = request();
	uint8_t mad[EMU_MAD_BYTES];

	msg.kind = EMU_CM_MSG_REP;
	msg.remote_id = 0xd1d2d3d4;
	emu_cm_pack(&msg, mad);
	expect_bytes(mad, want, COUNT(want));
}

static void the_short_messages_have_their_fields_where_ibta_says(void **state)
{
	static const struct {
		enum emu_cm_kind kind;
		struct bytes want[5];
	} rows[] = {
		{EMU_CM_MSG_MRA,
	         {{16, 2, "\x00\x11"},
	          {BODY + 4, 4, "\xd1\xd2\xd3\xd4"},
	          {BODY + 8, 2, "\x40\xc0"},
	          {BODY + 10, 3, "abc"},
	          {0, 0, ""}}},
		{EMU_CM_MSG_REJ,
	         {{16, 2, "\x00\x12"},
	          {BODY + 4, 4, "\xd1\xd2\xd3\xd4"},
	          {BODY + 8, 4, "\x40\x00\x00\x1c"},
	          {BODY + 84, 3, "abc"},
	          {0, 0, ""}}},
		{EMU_CM_MSG_RTU,
	         {{16, 2, "\x00\x14"},
	          {BODY + 4, 4, "\xd1\xd2\xd3\xd4"},
	          {BODY + 8, 3, "abc"},
	          {0, 0, ""},
	          {0, 0, ""}}},
		{EMU_CM_MSG_DREQ,
	         {{16, 2, "\x00\x15"},
	          {BODY + 4, 4, "\xd1\xd2\xd3\xd4"},
	          {BODY + 8, 3, "\xb1\xb2\xb3"},
	          {BODY + 12, 3, "abc"},
	          {0, 0, ""}}},
		{EMU_CM_MSG_DREP,
	         {{16, 2, "\x00\x16"},
	          {BODY + 4, 4, "\xd1\xd2\xd3\xd4"},
	          {BODY + 8, 3, "abc"},
	          {0, 0, ""},
	          {0, 0, ""}}},
		{EMU_CM_MSG_SIDR_REQ,
	         {{16, 2, "\x00\x17"},
	          {BODY, 6, "\xa1\xa2\xa3\xa4\xff\xff"},
	          {BODY + 12, 4, "\x01\x06\x1d\x2f"},
	          {BODY + 16, 4, "\x00\x40\x9c\x41"},
	          {BODY + 52, 3, "abc"}}},
		{EMU_CM_MSG_SIDR_REP,
	         {{16, 2, "\x00\x18"},
	          {BODY, 5, "\xd1\xd2\xd3\xd4\x1c"},
	          {BODY + 8, 3, "\xb1\xb2\xb3"},
	          {BODY + 20, 4, "\x51\x52\x53\x54"},
	          {BODY + 96, 3, "abc"}}},
	};
	uint8_t mad[EMU_MAD_BYTES];

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct emu_cm_msg msg = request(), back;

		msg.kind = rows[i].kind;
		msg.remote_id = 0xd1d2d3d4;
		msg.about = EMU_CM_ABOUT_REP;
		msg.reason = 28;
		msg.service_timeout = 24;
		emu_cm_pack(&msg, mad);
		expect_bytes(mad, rows[i].want, COUNT(rows[i].want));
		assert_true(emu_cm_parse(mad, sizeof(mad), &back));
		assert_int_equal(back.kind, rows[i].kind);
		assert_int_equal(back.data_len, emu_cm_data_size(rows[i].kind));
		assert_memory_equal(back.data, "abc", 4);
	}
}

static void private_data_sizes_are_those_of_rdma_cm(void **state)
{
	static const uint32_t size[EMU_CM_KINDS] = {
		[EMU_CM_MSG_REQ] = 56,   [EMU_CM_MSG_MRA] = 222,      [EMU_CM_MSG_REJ] = 148,
		[EMU_CM_MSG_REP] = 196,  [EMU_CM_MSG_RTU] = 224,      [EMU_CM_MSG_DREQ] = 220,
		[EMU_CM_MSG_DREP] = 224, [EMU_CM_MSG_SIDR_REQ] = 180, [EMU_CM_MSG_SIDR_REP] = 136,
	};

	for (int kind = 0; kind < EMU_CM_KINDS; kind++)
		assert_int_equal(emu_cm_data_size((enum emu_cm_kind)kind), size[kind]);
}

static void ipv6_addresses_stand_in_full(void **state)
{
	struct emu_cm_msg msg = request(), back;
	uint8_t mad[EMU_MAD_BYTES];

	msg.src.ip = v6_a;
	msg.dst.ip = v6_b;
	emu_cm_pack(&msg, mad);
	assert_int_equal(mad[BODY + 141], 0x60);
	assert_memory_equal(mad + BODY + 144, &v6_a, 16);
	assert_true(emu_cm_parse(mad, sizeof(mad), &back));
	assert_memory_equal(&back.dst.ip, &v6_b, 16);
}

static void all_transports_have_a_form(void **state)
{
	static const uint8_t types[] = {EMU_QPT_RC, EMU_QPT_UC, EMU_QPT_XRC_SEND};
	uint8_t mad[EMU_MAD_BYTES];

	for (size_t i = 0; i < COUNT(types); i++) {
		struct emu_cm_msg msg = request(), back;

		assert_true(emu_cm_transport_of(types[i], &msg));
		emu_cm_pack(&msg, mad);
		assert_true(emu_cm_parse(mad, sizeof(mad), &back));
		assert_int_equal(emu_cm_qp_type_of(&back), types[i]);
	}
	assert_false(emu_cm_transport_of(EMU_QPT_UD, &(struct emu_cm_msg){0}));
}

static void what_is_no_message_of_ours_is_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} wrong[] = {
		{0, 2},                   /* base version */
		{1, 3},                   /* management class */
		{2, 1},                   /* class version */
		{3, 0x81},                /* method */
		{17, 0x19},               /* LAP */
		{17, 0},                  /* no attribute */
		{16, 1},                  /* attribute of 16 bits */
		{BODY + 8, 1},            /* service id of somebody else */
		{BODY + 13, 0x99},        /* port space */
		{BODY + 43, 0x04 | 0x01}, /* reliable datagram */
		{BODY + 50, 0x06},        /* MTU 0 */
		{BODY + 50, 0x66},        /* MTU 6 */
		{BODY + 71, 9},           /* path from somewhere else */
		{BODY + 87, 9},           /* to somewhere else */
		{BODY + 140, 1},          /* IP CM header: version */
		{BODY + 141, 0x50},       /* IP version */
		{BODY + 141, 0x41},
	};
	struct emu_cm_msg msg = request(), back;
	uint8_t good[EMU_MAD_BYTES], bad[EMU_MAD_BYTES + 1] = {0};

	emu_cm_pack(&msg, good);
	for (size_t i = 0; i < COUNT(wrong); i++) {
		memcpy(bad, good, sizeof(good));
		bad[wrong[i].at] = wrong[i].value;
		assert_false(emu_cm_parse(bad, sizeof(good), &back));
	}
	memcpy(bad, good, sizeof(good));
	for (size_t len = 0; len < EMU_MAD_BYTES; len++)
		assert_false(emu_cm_parse(good, len, &back));
	assert_false(emu_cm_parse(bad, EMU_MAD_BYTES + 1, &back));
	assert_true(emu_cm_parse(good, EMU_MAD_BYTES, &back));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_has_its_fields_where_ibta_says),
		cmocka_unit_test(a_reply_has_its_fields_where_ibta_says),
		cmocka_unit_test(the_short_messages_have_their_fields_where_ibta_says),
		cmocka_unit_test(private_data_sizes_are_those_of_rdma_cm),
		cmocka_unit_test(ipv6_addresses_stand_in_full),
		cmocka_unit_test(all_transports_have_a_form),
		cmocka_unit_test(what_is_no_message_of_ours_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
