/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets lost, doubled and out of order: each request still happens exactly once. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#define LAST_PSN 0xffffffu
#define ACK_TIMEOUT_14 (4096ull << 14)

/* A rig whose filter treats one kind of packet. */
static struct rig *up_with(enum sim_flavour flavour, struct rig_filter *filter)
{
	struct rig *rig = rig_new(flavour, 1);

	rig_up(rig);
	sim_set_filter(rig->sim, rig_filter, filter);
	return rig;
}

static void fetch_add(struct rig *rig, uint64_t wr_id, size_t result)
{
	struct emu_sge sge = rig_sge(&rig->a, result, 8);
	struct emu_send_wr wr = rig_wr(&rig->a, EMU_WR_ATOMIC_FETCH_AND_ADD, wr_id, &sge, 0);

	wr.compare_add = 1;
	rig_post(&rig->a, &wr);
}

static uint64_t word_at(const struct node *node, size_t offset)
{
	uint64_t word;

	memcpy(&word, node->buf + offset, sizeof(word));
	return word;
}

static void lost_atomic_response_is_replayed_not_executed_again(void **state)
{
	struct rig_filter filter = {.src = 1,
	                            .opcode = PKT_ATOMIC_ACK,
	                            .opcode_mask = 0xff,
	                            .verdict = SIM_DROP,
	                            .times = 3};
	struct rig *rig = up_with(SIM_LOSSY, &filter);
	uint64_t before = word_at(&rig->b, 0);

	fetch_add(rig, 1, 64);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	assert_true(filter.seen >= 4);
	assert_true(word_at(&rig->b, 0) == before + 1);
	assert_true(word_at(&rig->a, 64) == before);
	rig_down(rig);
}

/* The replay must answer each with its own old value, not the newest. */
static void each_of_several_lost_atomic_responses_is_replayed(void **state)
{
	struct rig_filter filter = {.src = 1,
	                            .opcode = PKT_ATOMIC_ACK,
	                            .opcode_mask = 0xff,
	                            .verdict = SIM_DROP,
	                            .times = 4};
	struct rig *rig = up_with(SIM_LOSSY, &filter);
	uint64_t before = word_at(&rig->b, 0);

	for (unsigned i = 0; i < 4; i++)
		fetch_add(rig, i, 64 + 8 * i);
	for (unsigned i = 0; i < 4; i++) {
		rig_expect(&rig->a, rig->a.scq, i, EMU_WC_SUCCESS);
		assert_true(word_at(&rig->a, 64 + 8 * i) == before + i);
	}
	assert_true(word_at(&rig->b, 0) == before + 4);
	rig_down(rig);
}

static void doubled_atomic_request_is_executed_once(void **state)
{
	struct rig_filter filter = {.src = 0,
	                            .opcode = PKT_FETCH_ADD,
	                            .opcode_mask = 0xff,
	                            .verdict = SIM_TWICE,
	                            .times = 100};
	struct rig *rig = up_with(SIM_LOSSY, &filter);
	uint64_t before = word_at(&rig->b, 0);

	for (unsigned i = 0; i < 20; i++)
		fetch_add(rig, i, 64);
	for (unsigned i = 0; i < 20; i++)
		rig_expect(&rig->a, rig->a.scq, i, EMU_WC_SUCCESS);
	assert_true(word_at(&rig->b, 0) == before + 20);
	rig_down(rig);
}

struct capture {
	uint8_t opcode;
	uint8_t hdr[EMU_HDR_MAX];
	uint32_t len;
};

static enum sim_verdict capture(void *arg, const struct sim_frame *frame)
{
	struct capture *captured = arg;

	if (frame->src == 0 && frame->hdr[0] == captured->opcode && !captured->len) {
		captured->len = frame->hdr_len;
		memcpy(captured->hdr, frame->hdr, frame->hdr_len);
	}
	return SIM_PASS;
}

/* The program has its data and may give the region up, whatever else the network brings. */
static void late_duplicate_of_a_read_meets_no_region(void **state)
{
	struct capture captured = {.opcode = PKT_READ_REQUEST};
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);
	struct emu_sge sge;
	struct emu_send_wr wr;
	struct emu_mr *mr;

	rig_up(rig);
	sim_set_filter(rig->sim, capture, &captured);
	sge = rig_sge(&rig->a, 0, 5000);
	wr = rig_wr(&rig->a, EMU_WR_RDMA_READ, 1, &sge, 0);
	assert_int_equal(
		emu_mr_reg(rig->b.pd, wr.remote_addr, wr.remote_addr, 5000, RIG_ALL_ACCESS, &mr),
		0);
	wr.rkey = emu_mr_rkey(mr);
	rig_post(&rig->a, &wr);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	assert_int_equal(emu_mr_dereg(mr), 0);
	sim_inject(rig->sim, 0, 1, captured.hdr, captured.len);
	rig_rest(rig, SECOND);
	rig_expect_state(&rig->b, EMU_QPS_RTS);
	rig_send(&rig->a, EMU_WR_RDMA_READ, 2, 0, 5000, 0);
	rig_expect(&rig->a, rig->a.scq, 2, EMU_WC_SUCCESS);
	rig_down(rig);
}

static void lost_ack_makes_no_second_message(void **state)
{
	struct rig_filter filter = {
		.src = 1, .opcode = PKT_ACK, .opcode_mask = 0xff, .verdict = SIM_DROP, .times = 2};
	struct rig *rig = up_with(SIM_LOSSY, &filter);

	rig_recv(&rig->b, 1, 0, 3000);
	rig_recv(&rig->b, 2, 0, 3000);
	rig_send(&rig->a, EMU_WR_SEND, 7, 0, 3000, 0);
	rig_expect(&rig->b, rig->b.rcq, 1, EMU_WC_SUCCESS);
	rig_expect(&rig->a, rig->a.scq, 7, EMU_WC_SUCCESS);
	rig_rest(rig, LONG);
	rig_expect_none(&rig->b);
	rig_down(rig);
}

/* An RNR NAK is an answer: losses between two of them are no row of silence. */
static void long_rnr_wait_survives_losses(void **state)
{
	struct rig *rig = rig_new(SIM_LOSSY, 1);

	rig->params.loss_ppm = 50000;
	sim_set_params(rig->sim, &rig->params);
	rig->a.attr.timeout = 10;
	rig_up(rig);
	rig_send(&rig->a, EMU_WR_SEND, 1, 0, 3000, 0);
	sim_run_until(rig->sim, SECOND);
	rig_expect_none(&rig->a);
	rig->params.loss_ppm = 0;
	sim_set_params(rig->sim, &rig->params);
	rig_recv(&rig->b, 2, 0, 3000);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	rig_down(rig);
}

static void lost_read_response_is_read_again(void **state)
{
	struct rig_filter filter = {.src = 1,
	                            .opcode = 0,
	                            .opcode_mask = 0,
	                            .verdict = SIM_DROP,
	                            .skip = 5,
	                            .times = 3};
	struct rig *rig = up_with(SIM_LOSSY, &filter);

	rig_send(&rig->a, EMU_WR_RDMA_READ, 1, 0, 20000, 100000);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	assert_memory_equal(rig->a.buf, rig->b.buf + 100000, 20000);
	rig_down(rig);
}

/* IBTA: a gap is answered with a PSN sequence NAK, no timer needs to expire. */
static void lost_packet_in_the_middle_is_sent_again_at_once(void **state)
{
	struct rig_filter filter = {
		.src = 0, .opcode_mask = 0, .verdict = SIM_DROP, .skip = 3, .times = 1};
	struct rig *rig = up_with(SIM_LOSSY, &filter);

	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 20000, 100000);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	assert_true(sim_now(rig->sim) < MS);
	assert_memory_equal(rig->b.buf + 100000, rig->a.buf, 20000);
	rig_down(rig);
}

static void lost_last_packet_waits_for_the_timer(void **state)
{
	struct rig_filter filter = {.src = 0,
	                            .opcode = PKT_WRITE_ONLY,
	                            .opcode_mask = 0xff,
	                            .verdict = SIM_DROP,
	                            .times = 2};
	struct rig *rig = up_with(SIM_LOSSY, &filter);

	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 100, 0);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	assert_true(sim_now(rig->sim) >= 2 * ACK_TIMEOUT_14);
	assert_true(sim_now(rig->sim) <= 3 * ACK_TIMEOUT_14);
	rig_down(rig);
}

/* Every kind of request, n times, with receives for the SENDs; all memory must be right. */
static void run_mix(struct rig *rig, unsigned n)
{
	uint64_t before;

	memset(rig->b.buf, 0, 8);
	before = word_at(&rig->b, 0);
	for (unsigned i = 0; i < n; i++) {
		rig_recv(&rig->b, i, 500000 + 5000 * i, 5000);
		rig_send(&rig->a, EMU_WR_SEND, 4 * i, 5000 * i, 4900, 0);
		rig_send(&rig->a, EMU_WR_RDMA_WRITE, 4 * i + 1, 5000 * i, 4900, 200000 + 5000 * i);
		rig_send(&rig->a, EMU_WR_RDMA_READ, 4 * i + 2, 500000 + 5000 * i, 4900,
		         800000 + 5000 * i);
		fetch_add(rig, 4 * i + 3, 900000 + 8 * i);
	}
	for (unsigned i = 0; i < 4 * n; i++)
		rig_expect(&rig->a, rig->a.scq, i, EMU_WC_SUCCESS);
	for (unsigned i = 0; i < n; i++) {
		rig_expect(&rig->b, rig->b.rcq, i, EMU_WC_SUCCESS);
		assert_memory_equal(rig->b.buf + 500000 + 5000 * i, rig->a.buf + 5000 * i, 4900);
		assert_memory_equal(rig->b.buf + 200000 + 5000 * i, rig->a.buf + 5000 * i, 4900);
		assert_memory_equal(rig->a.buf + 500000 + 5000 * i, rig->b.buf + 800000 + 5000 * i,
		                    4900);
		assert_true(word_at(&rig->a, 900000 + 8 * i) == before + i);
	}
	assert_true(word_at(&rig->b, 0) == before + n);
	rig_expect_none(&rig->a);
	rig_expect_none(&rig->b);
}

static void psn_wraps_at_24_bits(void **state)
{
	static const uint32_t before_wrap[] = {0, 1, 2, 5, 11, 40};

	for (size_t i = 0; i < COUNT(before_wrap); i++) {
		struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);

		rig->a.attr.sq_psn = rig->b.attr.rq_psn = LAST_PSN - before_wrap[i];
		rig->b.attr.sq_psn = rig->a.attr.rq_psn = LAST_PSN;
		rig_up(rig);
		run_mix(rig, 8);
		rig_down(rig);
	}
}

static void psn_wraps_on_a_bad_wire(void **state)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct rig *rig = rig_new(SIM_LOSSY, seed);

		rig->params.loss_ppm = rig->params.reorder_ppm = rig->params.dup_ppm = 50000;
		sim_set_params(rig->sim, &rig->params);
		rig->a.attr.sq_psn = rig->b.attr.rq_psn = LAST_PSN - 20;
		rig_up(rig);
		run_mix(rig, 8);
		rig_down(rig);
	}
}

static void every_packet_twice_is_harmless(void **state)
{
	struct rig_filter filter = {.opcode_mask = 0, .verdict = SIM_TWICE, .times = 1000000};
	struct rig *rig = rig_new(SIM_LOSSY, 1);

	rig->params.dup_ppm = SIM_PPM;
	sim_set_params(rig->sim, &rig->params);
	rig_up(rig);
	sim_set_filter(rig->sim, rig_filter, &filter);
	run_mix(rig, 8);
	rig_down(rig);
}

static void wild_order_is_put_right(void **state)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct rig *rig = rig_new(SIM_LOSSY, seed);

		rig->params.jitter_ns = 50 * US;
		sim_set_params(rig->sim, &rig->params);
		rig_up(rig);
		run_mix(rig, 8);
		rig_down(rig);
	}
}

static void full_and_holding_wire_carries_everything(void **state)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct rig *rig = rig_new(SIM_RELIABLE, seed);

		rig->params.busy_ppm = 300000;
		rig->params.held_ppm = 700000;
		rig->params.connect_ns = MS;
		sim_set_params(rig->sim, &rig->params);
		rig_up(rig);
		run_mix(rig, 8);
		rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 400000, 500000);
		rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
		assert_memory_equal(rig->b.buf + 500000, rig->a.buf, 400000);
		rig_down(rig);
	}
}

/* Requests that arrive together share an ACK, one packet for all of them. */
static void acks_are_coalesced(void **state)
{
	struct rig_filter filter = {
		.src = 1, .opcode = PKT_ACK, .opcode_mask = 0xff, .verdict = SIM_PASS};
	struct rig *rig = up_with(*(enum sim_flavour *)*state, &filter);

	for (unsigned i = 0; i < 60; i++)
		rig_send(&rig->a, EMU_WR_RDMA_WRITE, i, 0, 100, 0);
	for (unsigned i = 0; i < 60; i++)
		rig_expect(&rig->a, rig->a.scq, i, EMU_WC_SUCCESS);
	assert_in_range(filter.seen, 1, 20);
	rig_down(rig);
}

static void message_is_acknowledged_once(void **state)
{
	struct rig_filter filter = {
		.src = 1, .opcode = PKT_ACK, .opcode_mask = 0xff, .verdict = SIM_PASS};
	struct rig *rig = up_with(*(enum sim_flavour *)*state, &filter);

	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 100, 0);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	for (unsigned i = 0; i < 10; i++) {
		rig_send(&rig->b, EMU_WR_RDMA_WRITE, i, 0, 100, 0);
		rig_expect(&rig->b, rig->b.scq, i, EMU_WC_SUCCESS);
	}
	assert_int_equal(filter.seen, 1);
	rig_down(rig);
}

static void same_seed_same_run(void **state)
{
	uint64_t digest[3];

	for (unsigned i = 0; i < 3; i++) {
		struct rig *rig = rig_new(SIM_LOSSY, i < 2 ? 42 : 43);

		rig->params.loss_ppm = rig->params.reorder_ppm = rig->params.dup_ppm = 100000;
		rig->params.jitter_ns = US;
		sim_set_params(rig->sim, &rig->params);
		rig_up(rig);
		for (unsigned n = 0; n < 40; n++)
			rig_send(&rig->a, EMU_WR_SEND, n, 100 * n, 100 * n, 0);
		for (unsigned n = 0; n < 40; n++) {
			rig_recv(&rig->b, n, 0, 4096);
			rig_expect(&rig->a, rig->a.scq, n, EMU_WC_SUCCESS);
		}
		digest[i] = sim_digest(rig->sim);
		rig_down(rig);
	}
	assert_true(digest[0] == digest[1]);
	assert_true(digest[0] != digest[2]);
}

/* A region that the wire still reads from is not given back, but can be cut loose. */
static void region_on_a_holding_wire_is_busy_until_cut(void **state)
{
	struct rig *rig = rig_new(SIM_RELIABLE, 1);
	struct node *a = &rig->a;

	rig->params.held_ppm = SIM_PPM;
	sim_set_params(rig->sim, &rig->params);
	rig_up(rig);
	rig_send(a, EMU_WR_RDMA_WRITE, 1, 0, 100000, 0);
	sim_settle(rig->sim);
	assert_int_equal(emu_mr_dereg(a->mr), -11 /* EAGAIN */);
	emu_mr_abort_io(a->mr);
	sim_settle(rig->sim);
	assert_int_equal(emu_mr_dereg(a->mr), 0);
	a->mr = NULL;
	rig_down(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_atomic_response_is_replayed_not_executed_again),
		cmocka_unit_test(each_of_several_lost_atomic_responses_is_replayed),
		cmocka_unit_test(doubled_atomic_request_is_executed_once),
		ON_BOTH_WIRES(late_duplicate_of_a_read_meets_no_region),
		cmocka_unit_test(lost_ack_makes_no_second_message),
		cmocka_unit_test(long_rnr_wait_survives_losses),
		cmocka_unit_test(lost_read_response_is_read_again),
		cmocka_unit_test(lost_packet_in_the_middle_is_sent_again_at_once),
		cmocka_unit_test(lost_last_packet_waits_for_the_timer),
		ON_BOTH_WIRES(psn_wraps_at_24_bits),
		cmocka_unit_test(psn_wraps_on_a_bad_wire),
		cmocka_unit_test(every_packet_twice_is_harmless),
		cmocka_unit_test(wild_order_is_put_right),
		cmocka_unit_test(full_and_holding_wire_carries_everything),
		ON_BOTH_WIRES(acks_are_coalesced),
		ON_BOTH_WIRES(message_is_acknowledged_once),
		cmocka_unit_test(same_seed_same_run),
		cmocka_unit_test(region_on_a_holding_wire_is_busy_until_cut),
	};

	return cmocka_run_group_tests_name("RC on bad wires", tests, NULL, NULL);
}
