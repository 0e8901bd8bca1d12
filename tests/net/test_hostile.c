/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames that no honest peer sends, thrown at a connected QP: nothing outside
 * the regions it may use is touched, nothing crashes (run it with sanitizers),
 * and the engine still serves afterwards.
 */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 150
#define FRAMES 150
#define OPEN (RIG_BUF / 2) /* what the region covers */
#define FRAME_MAX (EMU_HDR_MAX + 8192)

struct recorder {
	uint8_t frame[32][EMU_HDR_MAX];
	uint32_t len[32];
	unsigned count;
};

static enum sim_verdict record(void *arg, const struct sim_frame *frame)
{
	struct recorder *recorder = arg;

	if (recorder->count < COUNT(recorder->len)) {
		memcpy(recorder->frame[recorder->count], frame->hdr, frame->hdr_len);
		recorder->len[recorder->count++] = frame->hdr_len;
	}
	return SIM_PASS;
}

/* Some honest traffic both ways, to have frames to spoil. */
static void converse(struct rig *rig)
{
	struct node *node[2] = {&rig->a, &rig->b};

	for (unsigned n = 0; n < 2; n++) {
		rig_recv(rig_other(node[n]), 1, 0, 4000);
		rig_send(node[n], EMU_WR_SEND, 1, 0, 3000, 0);
		rig_send(node[n], EMU_WR_RDMA_WRITE, 2, 0, 3000, 0);
		rig_send(node[n], EMU_WR_RDMA_READ, 3, 0, 3000, 0);
		rig_send(node[n], EMU_WR_ATOMIC_FETCH_AND_ADD, 4, 0, 8, 0);
		rig_send(node[n], EMU_WR_ATOMIC_CMP_AND_SWP, 5, 0, 8, 0);
	}
	for (unsigned n = 0; n < 2; n++) {
		for (unsigned id = 1; id <= 5; id++)
			rig_expect(node[n], node[n]->scq, id, EMU_WC_SUCCESS);
		rig_expect(node[n], node[n]->rcq, 1, EMU_WC_SUCCESS);
	}
}

static void put_be(uint8_t *p, uint32_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

/* A recorded header for that QP with a plausible PSN, then spoilt a little; or noise. */
static size_t make_frame(struct rig *rig, const struct recorder *recorder, struct node *to,
                         uint8_t *frame)
{
	struct sim *sim = rig->sim;
	unsigned which = sim_random(sim, recorder->count);
	size_t len = recorder->len[which];
	struct emu_qp_attr attr;

	for (size_t i = 0; i < FRAME_MAX; i++)
		frame[i] = (uint8_t)sim_random(sim, 256);
	if (sim_random(sim, 10) == 0)
		return sim_random(sim, 80);
	memcpy(frame, recorder->frame[which], len);
	emu_qp_query(to->qp, &attr);
	put_be(frame + 5, emu_qp_num(to->qp), 3);
	if (sim_random(sim, 4))
		put_be(frame + 9,
		       (sim_random(sim, 2) ? attr.rq_psn : attr.sq_psn) + sim_random(sim, 7) - 3,
		       3);
	for (unsigned n = sim_random(sim, 3); n; n--)
		frame[sim_random(sim, (uint32_t)len)] = (uint8_t)sim_random(sim, 256);
	if (sim_random(sim, 3) == 0)
		frame[0] = (uint8_t)sim_random(sim, 0x18);
	if (sim_random(sim, 5) == 0)
		return sim_random(sim, (uint32_t)len);
	return len + (sim_random(sim, 2) ? 1024 * sim_random(sim, 5) : sim_random(sim, 3000));
}

static void narrow_region(struct node *node)
{
	assert_int_equal(emu_mr_dereg(node->mr), 0);
	assert_int_equal(emu_mr_reg(node->pd, (uintptr_t)node->buf, (uintptr_t)node->buf, OPEN,
	                            RIG_ALL_ACCESS, &node->mr),
	                 0);
}

static void attack(struct rig *rig, const struct recorder *recorder)
{
	static uint8_t frame[FRAME_MAX];
	struct node *node[2] = {&rig->a, &rig->b};
	struct node *to;

	for (unsigned i = 0; i < FRAMES; i++) {
		to = node[sim_random(rig->sim, 2)];
		/* Something for the answers to hit. */
		if (emu_qp_state(to->qp) == EMU_QPS_RTS && sim_random(rig->sim, 4) == 0)
			rig_send(to, sim_random(rig->sim, 2) ? EMU_WR_RDMA_READ : EMU_WR_RDMA_WRITE,
			         1, 4096, 5000, 0);
		sim_inject(rig->sim, !to->engine, to->engine, frame,
		           make_frame(rig, recorder, to, frame));
		if (sim_random(rig->sim, 3) == 0)
			sim_run_until(rig->sim, sim_now(rig->sim) + 3 * US);
	}
	sim_run_until(rig->sim, sim_now(rig->sim) + MS);
}

static void discard_completions(struct node *node)
{
	struct sim_event event;
	struct emu_wc wc[16];

	while (emu_cq_poll(node->scq, 16, wc) > 0 || emu_cq_poll(node->rcq, 16, wc) > 0)
		;
	while (sim_take_async(node->rig->sim, node->engine, &event))
		assert_int_not_equal(event.type, EMU_EVENT_CQ_ERR);
}

static void start_again(struct rig *rig)
{
	assert_int_equal(rig_modify(&rig->a, EMU_QPS_RESET), 0);
	assert_int_equal(rig_modify(&rig->b, EMU_QPS_RESET), 0);
	sim_run_until(rig->sim, sim_now(rig->sim) + SECOND);
	discard_completions(&rig->a);
	discard_completions(&rig->b);
	rig_connect(&rig->a);
	rig_connect(&rig->b);
}

static void hostile_frames_touch_nothing_outside_the_regions(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);
	struct recorder recorder = {.count = 0};
	uint8_t *a, *b;

	rig->send_cqe = rig->recv_cqe = 4096;
	rig_up(rig);
	sim_set_filter(rig->sim, record, &recorder);
	narrow_region(&rig->a);
	narrow_region(&rig->b);
	a = rig_snapshot(&rig->a);
	b = rig_snapshot(&rig->b);
	converse(rig);
	sim_set_filter(rig->sim, NULL, NULL);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < 20; i++) {
			rig_recv(&rig->a, 9, 100 * i, 2000);
			rig_recv(&rig->b, 9, 100 * i, 2000);
		}
		attack(rig, &recorder);
		assert_memory_equal(rig->a.buf + OPEN, a + OPEN, RIG_BUF - OPEN);
		assert_memory_equal(rig->b.buf + OPEN, b + OPEN, RIG_BUF - OPEN);
		start_again(rig);
	}
	converse(rig);
	free(a);
	free(b);
	rig_down(rig);
}

enum { ACK = 0x1f, RNR_NAK = 0x20 };

/* An ACK packet for a, as if from b. */
static void inject_ack(struct rig *rig, uint32_t psn, uint8_t syndrome)
{
	uint8_t frame[16] = {PKT_ACK, 0, 0xff, 0xff, [12] = syndrome};

	put_be(frame + 5, emu_qp_num(rig->a.qp), 3);
	put_be(frame + 9, psn, 3);
	sim_inject(rig->sim, 1, 0, frame, sizeof(frame));
}

/* IBTA 9.7.6.1.4: such an ACK is a ghost. The request has its PSNs, but no packet is out. */
static void ack_of_what_was_not_sent_yet_is_ignored(void **state)
{
	struct rig *rig = rig_new(SIM_RELIABLE, 1);
	struct node *a = &rig->a;
	uint32_t psn;

	rig->params.connect_ns = MS;
	sim_set_params(rig->sim, &rig->params);
	rig_up(rig);
	rig_fill(a->buf, 200000, 3);
	psn = a->attr.sq_psn;
	rig_send(a, EMU_WR_RDMA_WRITE, 1, 0, 200000, 0);
	sim_settle(rig->sim);
	inject_ack(rig, psn, ACK);
	inject_ack(rig, psn + 30, ACK);
	sim_run_until(rig->sim, sim_now(rig->sim) + 100 * US);
	rig_expect_none(a);
	rig_expect(a, a->scq, 1, EMU_WC_SUCCESS);
	assert_memory_equal(a->buf, rig->b.buf, 200000);
	rig_down(rig);
}

static void copies_of_an_rnr_nak_use_up_no_tries(void **state)
{
	struct rig *rig = rig_new(SIM_RELIABLE, 1);
	struct node *a = &rig->a;
	uint32_t psn;

	a->attr.rnr_retry = 2;
	rig->b.attr.min_rnr_timer = 12;
	rig_up(rig);
	psn = a->attr.sq_psn;
	rig_send(a, EMU_WR_SEND, 1, 0, 100, 0);
	sim_run_until(rig->sim, sim_now(rig->sim) + 100 * US);
	for (int i = 0; i < 5; i++)
		inject_ack(rig, psn, RNR_NAK | 12);
	sim_run_until(rig->sim, sim_now(rig->sim) + 100 * US);
	rig_expect_none(a);
	rig_recv(&rig->b, 2, 0, 100);
	rig_expect(a, a->scq, 1, EMU_WC_SUCCESS);
	rig_down(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BOTH_WIRES(hostile_frames_touch_nothing_outside_the_regions),
		cmocka_unit_test(ack_of_what_was_not_sent_yet_is_ignored),
		cmocka_unit_test(copies_of_an_rnr_nak_use_up_no_tries),
	};

	return cmocka_run_group_tests_name("hostile frames", tests, NULL, NULL);
}
