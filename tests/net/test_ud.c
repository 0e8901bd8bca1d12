/* SPDX-License-Identifier: BSD-2-Clause */
/* Unreliable datagrams: what arrives, what is dropped and who is told (IBTA 9.8.3, 10.3.1.6). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire_sim.h"

#define QPS 4
#define QKEY 0x11223344u
#define GRH 40
#define MTU 4096u
#define BUF 16384u
#define RECV_AT 8192u /* receives land in the second half */
#define US 1000ull
#define SECOND 1000000000ull

/* A QP with a buffer, and a handle for each destination it has used. */
struct end {
	unsigned engine;
	struct emu_dev *dev;
	struct emu_pd *pd;
	struct emu_cq *scq, *rcq;
	struct emu_qp *qp;
	struct emu_mr *mr;
	uint8_t *buf;
};

struct world {
	struct sim *sim;
	struct end end[QPS]; /* 0 and 3 on engine 0, 1 on 1, 2 on 2 */
};

static const struct emu_gid group = {{[10] = 0xff, 0xff, 239, 1, 2, 3}};

/* ---- the world ----------------------------------------------------------------- */

static void up(struct end *e, enum emu_qp_state to)
{
	const struct emu_qp_attr attr = {.port_num = 1, .qkey = QKEY, .sq_psn = 7};
	static const uint32_t mask[] = {
		[EMU_QPS_INIT] = EMU_QP_PKEY_INDEX | EMU_QP_PORT | EMU_QP_QKEY,
		[EMU_QPS_RTR] = 0,
		[EMU_QPS_RTS] = EMU_QP_SQ_PSN,
	};

	for (uint32_t state = EMU_QPS_INIT; state <= to; state++) {
		struct emu_qp_attr a = attr;

		a.qp_state = state;
		assert_int_equal(emu_qp_modify(e->qp, &a, EMU_QP_STATE | mask[state]), 0);
	}
}

static void make_end(struct world *w, struct end *e, unsigned engine)
{
	struct emu_qp_init init = {.type = EMU_QPT_UD, .cap = {16, 16, 4, 4, 64}, .user = e};

	e->engine = engine;
	e->dev = sim_dev(w->sim, engine);
	e->buf = calloc(1, BUF);
	assert_non_null(e->buf);
	assert_int_equal(emu_pd_alloc(e->dev, &e->pd), 0);
	assert_int_equal(emu_mr_reg(e->pd, (uintptr_t)e->buf, (uintptr_t)e->buf, BUF,
	                            EMU_ACCESS_LOCAL_WRITE, &e->mr),
	                 0);
	assert_int_equal(emu_cq_create(e->dev, 64, e, &e->scq), 0);
	assert_int_equal(emu_cq_create(e->dev, 64, e, &e->rcq), 0);
	init.send_cq = e->scq;
	init.recv_cq = e->rcq;
	assert_int_equal(emu_qp_create(e->pd, &init, &e->qp), 0);
}

static struct world *world_of(enum sim_flavour flavour, enum emu_qp_state state)
{
	static const unsigned engine[QPS] = {0, 1, 2, 0};
	const struct sim_params params = {.flavour = flavour, .delay_ns = 5 * US};
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->sim = sim_create(1, &params);
	assert_non_null(w->sim);
	for (int i = 0; i < 3; i++)
		assert_int_equal(sim_add(w->sim, NULL), i);
	for (int i = 0; i < QPS; i++) {
		make_end(w, &w->end[i], engine[i]);
		up(&w->end[i], state);
	}
	return w;
}

static void end_world(struct world *w)
{
	for (int i = 0; i < QPS; i++) {
		struct end *e = &w->end[i];

		emu_qp_destroy(e->qp);
		assert_int_equal(emu_mr_dereg(e->mr), 0);
		assert_int_equal(emu_cq_destroy(e->scq), 0);
		assert_int_equal(emu_cq_destroy(e->rcq), 0);
		assert_int_equal(emu_pd_dealloc(e->pd), 0);
		free(e->buf);
	}
	sim_destroy(w->sim);
	free(w);
}

static void run(struct world *w)
{
	assert_true(sim_run_idle(w->sim, sim_now(w->sim) + SECOND));
}

/* ---- words ------------------------------------------------------------------------ */

static struct emu_ah *path_to(struct end *from, const struct emu_gid *dgid)
{
	const struct emu_ah_attr attr = {.dgid = *dgid,
	                                 .is_global = 1,
	                                 .port_num = 1,
	                                 .hop_limit = 5,
	                                 .traffic_class = 0x28};
	struct emu_ah *ah;

	assert_int_equal(emu_ah_create(from->pd, &attr, &ah), 0);
	return ah;
}

static struct emu_sge piece(struct end *e, uint32_t at, uint32_t len)
{
	return (struct emu_sge){(uintptr_t)e->buf + at, len, emu_mr_lkey(e->mr)};
}

static void post_recv(struct end *e, uint64_t wr_id, uint32_t len)
{
	const struct emu_sge sge = piece(e, RECV_AT, len);
	const struct emu_recv_wr wr = {wr_id, &sge, 1};

	assert_int_equal(emu_post_recv(e->qp, &wr), 0);
}

static struct emu_send_wr send_to(struct emu_ah *ah, uint32_t qpn, const struct emu_sge *sge)
{
	return (struct emu_send_wr){
		.wr_id = 1,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = EMU_WR_SEND,
		.flags = EMU_SEND_SIGNALED,
		.ah = ah,
		.remote_qpn = qpn,
		.remote_qkey = QKEY,
	};
}

static void post(struct end *e, const struct emu_send_wr *wr)
{
	assert_int_equal(emu_post_send(e->qp, wr), 0);
	emu_qp_ring(e->qp);
}

/* So many bytes of text to qpn at that GID; the handle is gone before it leaves. */
static void send_text(struct end *from, const struct emu_gid *dgid, uint32_t qpn, const char *text)
{
	struct emu_ah *ah = path_to(from, dgid);
	struct emu_sge sge = piece(from, 0, (uint32_t)strlen(text));
	struct emu_send_wr wr = send_to(ah, qpn, &sge);

	memcpy(from->buf, text, strlen(text));
	post(from, &wr);
	emu_ah_destroy(ah);
}

static void send_to_end(struct end *from, struct end *to, const char *text)
{
	struct emu_gid gid = sim_gid(to->engine);

	send_text(from, &gid, emu_qp_num(to->qp), text);
}

static struct emu_wc take(struct emu_cq *cq, enum emu_wc_status status)
{
	struct emu_wc wc;

	assert_int_equal(emu_cq_poll(cq, 1, &wc), 1);
	assert_int_equal(wc.status, status);
	return wc;
}

static void none(struct emu_cq *cq)
{
	assert_true(emu_cq_empty(cq));
}

/* ---- what arrives -------------------------------------------------------------------- */

static void a_datagram_lands_behind_40_bytes(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct end *a = &w->end[0], *b = &w->end[1];
	struct emu_wc wc;

	post_recv(b, 9, GRH + 100);
	send_to_end(a, b, "hello");
	run(w);
	wc = take(a->scq, EMU_WC_SUCCESS);
	assert_int_equal(wc.opcode, EMU_WC_SEND);
	wc = take(b->rcq, EMU_WC_SUCCESS);
	assert_int_equal(wc.wr_id, 9);
	assert_int_equal(wc.opcode, EMU_WC_RECV);
	assert_int_equal(wc.byte_len, GRH + 5);
	assert_int_equal(wc.src_qp, emu_qp_num(a->qp));
	assert_int_equal(wc.qp_num, emu_qp_num(b->qp));
	assert_int_equal(wc.wc_flags, EMU_WC_GRH);
	assert_memory_equal(b->buf + RECV_AT + GRH, "hello", 5);
	end_world(w);
}

static void the_40_bytes_end_with_a_valid_ipv4_header(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct end *a = &w->end[0], *b = &w->end[2];
	const uint8_t *grh = b->buf + RECV_AT, *ip = grh + 20;
	uint32_t sum = 0;

	memset(b->buf, 0xee, BUF);
	post_recv(b, 9, GRH + 100);
	send_to_end(a, b, "hello");
	run(w);
	take(b->rcq, EMU_WC_SUCCESS);
	for (int i = 0; i < 20; i++)
		assert_int_equal(grh[i], 0);
	assert_int_equal(ip[0], 0x45);
	assert_int_equal(ip[1], 0x28);
	assert_int_equal(ip[2] << 8 | ip[3], 20 + 8 + 12 + 8 + 5 + 4);
	assert_int_equal(ip[8], 5);
	assert_int_equal(ip[9], 17);
	assert_memory_equal(ip + 12, sim_gid(0).raw + 12, 4);
	assert_memory_equal(ip + 16, sim_gid(2).raw + 12, 4);
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
	end_world(w);
}

static void an_immediate_arrives_too(void **state)
{
	struct world *w = world_of(SIM_LOSSY, EMU_QPS_RTS);
	struct end *a = &w->end[0], *b = &w->end[1];
	struct emu_gid gid = sim_gid(1);
	struct emu_ah *ah = path_to(a, &gid);
	struct emu_sge sge = piece(a, 0, 4);
	struct emu_send_wr wr = send_to(ah, emu_qp_num(b->qp), &sge);
	struct emu_wc wc;

	wr.opcode = EMU_WR_SEND_WITH_IMM;
	wr.imm_data = 0xdeadbeef;
	post_recv(b, 9, GRH + 4);
	post(a, &wr);
	run(w);
	wc = take(b->rcq, EMU_WC_SUCCESS);
	assert_int_equal(wc.wc_flags, EMU_WC_GRH | EMU_WC_WITH_IMM);
	assert_int_equal(wc.imm_data, 0xdeadbeef);
	assert_int_equal(wc.byte_len, GRH + 4);
	emu_ah_destroy(ah);
	end_world(w);
}

static void inline_empty_and_full_datagrams_arrive(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct end *a = &w->end[0], *b = &w->end[1];
	struct emu_gid gid = sim_gid(1);
	struct emu_ah *ah = path_to(a, &gid);
	struct emu_sge sge = piece(a, 0, 60);
	struct emu_send_wr wr = send_to(ah, emu_qp_num(b->qp), &sge);

	for (int i = 0; i < 3; i++)
		post_recv(b, 9, GRH + MTU);
	wr.flags |= EMU_SEND_INLINE;
	memset(a->buf, 0x5a, 60);
	post(a, &wr);
	memset(a->buf, 0, 60);
	wr.flags = EMU_SEND_SIGNALED;
	wr.num_sge = 0;
	post(a, &wr);
	wr.num_sge = 1;
	sge.length = MTU;
	run(w);
	assert_int_equal(b->buf[RECV_AT + GRH + 59], 0x5a);
	post(a, &wr);
	run(w);
	assert_int_equal(take(b->rcq, EMU_WC_SUCCESS).byte_len, GRH + 60);
	assert_int_equal(take(b->rcq, EMU_WC_SUCCESS).byte_len, GRH);
	assert_int_equal(take(b->rcq, EMU_WC_SUCCESS).byte_len, GRH + MTU);
	emu_ah_destroy(ah);
	end_world(w);
}

static void datagrams_to_many_go_to_each(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct end *a = &w->end[0];

	for (int i = 0; i < QPS; i++)
		post_recv(&w->end[i], 9, GRH + 10);
	for (int i = 0; i < QPS; i++)
		send_to_end(a, &w->end[i], "to all"); /* itself too */
	run(w);
	for (int i = 0; i < QPS; i++) {
		take(a->scq, EMU_WC_SUCCESS);
		assert_int_equal(take(w->end[i].rcq, EMU_WC_SUCCESS).byte_len, GRH + 6);
	}
	end_world(w);
}

static void datagrams_wait_for_a_connection_that_is_being_made(void **state)
{
	const struct sim_params slow = {
		.flavour = SIM_RELIABLE, .delay_ns = 5 * US, .connect_ns = 1000 * US};
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct end *a = &w->end[0], *b = &w->end[1];

	sim_set_params(w->sim, &slow);
	for (int i = 0; i < 10; i++)
		post_recv(b, (uint64_t)i, GRH + 10);
	for (int i = 0; i < 10; i++)
		send_to_end(a, b, &"in order"[i % 3]);
	none(a->scq);
	run(w);
	for (int i = 0; i < 10; i++) {
		take(a->scq, EMU_WC_SUCCESS);
		assert_int_equal(take(b->rcq, EMU_WC_SUCCESS).byte_len, GRH + 8 - i % 3);
	}
	end_world(w);
}

static void a_solicited_datagram_wakes_who_waits_for_one(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct end *a = &w->end[0], *b = &w->end[1];
	struct emu_gid gid = sim_gid(1);
	struct emu_ah *ah = path_to(a, &gid);
	struct emu_sge sge = piece(a, 0, 1);
	struct emu_send_wr wr = send_to(ah, emu_qp_num(b->qp), &sge);
	struct sim_event event;

	post_recv(b, 1, GRH + 1);
	post_recv(b, 2, GRH + 1);
	emu_cq_arm(b->rcq, EMU_ARM_SOLICITED);
	post(a, &wr);
	run(w);
	assert_false(sim_take_cq_event(w->sim, 1, &event));
	wr.flags |= EMU_SEND_SOLICITED;
	post(a, &wr);
	run(w);
	assert_true(sim_take_cq_event(w->sim, 1, &event));
	emu_ah_destroy(ah);
	end_world(w);
}

/* ---- what is dropped, the sender sees SUCCESS ---------------------------------------------- */

/* b's receive is still there for the next good one, and b as it was. */
static void expect_dropped(struct world *w)
{
	struct end *a = &w->end[0], *b = &w->end[1];

	run(w);
	take(a->scq, EMU_WC_SUCCESS);
	none(b->rcq);
	assert_int_equal(emu_qp_state(b->qp), EMU_QPS_RTS);
	send_to_end(a, b, "good");
	run(w);
	take(a->scq, EMU_WC_SUCCESS);
	assert_int_equal(take(b->rcq, EMU_WC_SUCCESS).byte_len, GRH + 4);
	end_world(w);
}

static void a_wrong_qkey_is_dropped(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct end *a = &w->end[0], *b = &w->end[1];
	struct emu_gid gid = sim_gid(1);
	struct emu_ah *ah = path_to(a, &gid);
	struct emu_sge sge = piece(a, 0, 4);
	struct emu_send_wr wr = send_to(ah, emu_qp_num(b->qp), &sge);

	post_recv(b, 9, GRH + 10);
	wr.remote_qkey ^= 1;
	post(a, &wr);
	emu_ah_destroy(ah);
	expect_dropped(w);
}

static void a_controlled_qkey_stands_for_the_qps_own(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct end *a = &w->end[0], *b = &w->end[1];
	struct emu_gid gid = sim_gid(1);
	struct emu_ah *ah = path_to(a, &gid);
	struct emu_sge sge = piece(a, 0, 4);
	struct emu_send_wr wr = send_to(ah, emu_qp_num(b->qp), &sge);

	post_recv(b, 9, GRH + 10);
	wr.remote_qkey = 0x80000000;
	post(a, &wr);
	run(w);
	take(b->rcq, EMU_WC_SUCCESS);
	emu_ah_destroy(ah);
	end_world(w);
}

static void an_unknown_qp_gets_nothing(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct emu_gid gid = sim_gid(1);

	post_recv(&w->end[1], 9, GRH + 10);
	send_text(&w->end[0], &gid, emu_qp_num(w->end[1].qp) + 1, "lost");
	send_text(&w->end[0], &gid, 1 << 12 | 3, "lost");
	run(w);
	assert_int_equal(emu_dev_counters(w->end[1].dev)->rx_unknown_qp, 2);
	take(w->end[0].scq, EMU_WC_SUCCESS);
	expect_dropped(w);
}

static void a_host_that_is_not_there_gets_nothing(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct emu_gid gid = sim_gid(9);

	post_recv(&w->end[1], 9, GRH + 10);
	send_text(&w->end[0], &gid, 9 << 12 | 20, "lost");
	expect_dropped(w);
}

static void a_receive_that_is_too_small_is_left_alone(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);

	post_recv(&w->end[1], 9, GRH + 4);
	send_to_end(&w->end[0], &w->end[1], "too much");
	expect_dropped(w);
}

static void without_a_receive_it_is_dropped(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);

	send_to_end(&w->end[0], &w->end[1], "early");
	run(w);
	post_recv(&w->end[1], 9, GRH + 4);
	expect_dropped(w);
}

static void a_qp_receives_from_rtr_on(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_INIT);
	struct end *a = &w->end[0], *b = &w->end[1];
	struct emu_qp_attr attr = {.qp_state = EMU_QPS_RTR};
	struct emu_sge sge = piece(a, 0, 4);
	struct emu_gid gid = sim_gid(1);
	struct emu_ah *ah = path_to(a, &gid);
	struct emu_send_wr wr = send_to(ah, emu_qp_num(b->qp), &sge);

	post_recv(b, 9, GRH + 4);
	assert_int_equal(emu_post_send(a->qp, &wr), -EINVAL);
	assert_int_equal(emu_qp_modify(a->qp, &attr, EMU_QP_STATE), 0);
	assert_int_equal(emu_post_send(a->qp, &wr), -EINVAL);
	attr.qp_state = EMU_QPS_RTS;
	assert_int_equal(emu_qp_modify(a->qp, &attr, EMU_QP_STATE | EMU_QP_SQ_PSN), 0);
	post(a, &wr);
	run(w);
	none(b->rcq);
	attr.qp_state = EMU_QPS_RTR;
	assert_int_equal(emu_qp_modify(b->qp, &attr, EMU_QP_STATE), 0);
	post(a, &wr);
	run(w);
	take(b->rcq, EMU_WC_SUCCESS);
	emu_ah_destroy(ah);
	end_world(w);
}

/* ---- what goes wrong at the sender --------------------------------------------------------------
 */

/* The WR fails so, the one behind it is flushed, receiving goes on, RTS is a step away. */
static void fails_with(const struct emu_send_wr *bad, struct world *w, enum emu_wc_status status)
{
	struct end *a = &w->end[0], *b = &w->end[1];
	struct emu_qp_attr attr = {.qp_state = EMU_QPS_RTS};
	struct emu_send_wr wr = *bad;

	post_recv(a, 3, GRH + 10);
	post_recv(b, 4, GRH + 10);
	wr.wr_id = 1;
	post(a, &wr);
	wr.wr_id = 2;
	post(a, &wr);
	run(w);
	assert_int_equal(take(a->scq, status).wr_id, 1);
	assert_int_equal(take(a->scq, EMU_WC_WR_FLUSH_ERR).wr_id, 2);
	assert_int_equal(emu_qp_state(a->qp), EMU_QPS_SQE);
	post(a, &wr);
	run(w);
	take(a->scq, EMU_WC_WR_FLUSH_ERR);
	send_to_end(b, a, "still on");
	run(w);
	take(a->rcq, EMU_WC_SUCCESS);
	none(b->rcq);
	assert_int_equal(emu_qp_modify(a->qp, &attr, EMU_QP_STATE), 0);
	send_to_end(a, b, "again");
	run(w);
	take(a->scq, EMU_WC_SUCCESS);
	take(b->rcq, EMU_WC_SUCCESS);
}

static void more_than_the_mtu_is_a_length_error_and_sqe(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct emu_gid gid = sim_gid(1);
	struct emu_ah *ah = path_to(&w->end[0], &gid);
	struct emu_sge sge = piece(&w->end[0], 0, MTU + 1);
	struct emu_send_wr wr = send_to(ah, emu_qp_num(w->end[1].qp), &sge);

	fails_with(&wr, w, EMU_WC_LOC_LEN_ERR);
	emu_ah_destroy(ah);
	end_world(w);
}

static void a_bad_lkey_is_a_protection_error_and_sqe(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct emu_gid gid = sim_gid(1);
	struct emu_ah *ah = path_to(&w->end[0], &gid);
	struct emu_sge sge = piece(&w->end[0], 0, 4);
	struct emu_send_wr wr = send_to(ah, emu_qp_num(w->end[1].qp), &sge);

	sge.lkey ^= 0x55;
	fails_with(&wr, w, EMU_WC_LOC_PROT_ERR);
	emu_ah_destroy(ah);
	end_world(w);
}

static void a_handle_of_another_pd_is_an_operation_error_and_sqe(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct emu_gid gid = sim_gid(1);
	struct emu_ah *ah = path_to(&w->end[3], &gid);
	struct emu_sge sge = piece(&w->end[0], 0, 4);
	struct emu_send_wr wr = send_to(ah, emu_qp_num(w->end[1].qp), &sge);

	fails_with(&wr, w, EMU_WC_LOC_QP_OP_ERR);
	emu_ah_destroy(ah);
	end_world(w);
}

static void memory_that_was_unmapped_is_a_protection_error(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct emu_gid gid = sim_gid(1);
	struct emu_ah *ah = path_to(&w->end[0], &gid);
	struct emu_sge sge = piece(&w->end[0], 0, 4);
	struct emu_send_wr wr = send_to(ah, emu_qp_num(w->end[1].qp), &sge);

	sim_unmap(w->end[0].buf, 100);
	post(&w->end[0], &wr);
	run(w);
	take(w->end[0].scq, EMU_WC_LOC_PROT_ERR);
	emu_ah_destroy(ah);
	sim_map_all();
	end_world(w);
}

static void what_ud_cannot_do_is_refused_at_once(void **state)
{
	static const uint32_t opcodes[] = {
		EMU_WR_RDMA_WRITE,         EMU_WR_RDMA_WRITE_WITH_IMM, EMU_WR_RDMA_READ,
		EMU_WR_ATOMIC_CMP_AND_SWP, EMU_WR_SEND_WITH_INV,       EMU_WR_LOCAL_INV,
	};
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct emu_gid gid = sim_gid(1);
	struct emu_ah *ah = path_to(&w->end[0], &gid);
	struct emu_sge sge = piece(&w->end[0], 0, 4);
	struct emu_send_wr wr = send_to(ah, 20, &sge);

	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		wr.opcode = opcodes[i];
		assert_int_equal(emu_post_send(w->end[0].qp, &wr), -EINVAL);
	}
	wr.opcode = EMU_WR_SEND;
	wr.ah = NULL;
	assert_int_equal(emu_post_send(w->end[0].qp, &wr), -EINVAL);
	emu_ah_destroy(ah);
	end_world(w);
}

/* ---- what goes wrong at the receiver
 * ------------------------------------------------------------- */

static void a_receive_of_bad_memory_ends_the_receiver_only(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct end *a = &w->end[0], *b = &w->end[1];
	struct emu_sge sge = piece(b, RECV_AT, 100);
	const struct emu_recv_wr wr = {5, &sge, 1};

	sge.lkey ^= 0x55;
	assert_int_equal(emu_post_recv(b->qp, &wr), 0);
	post_recv(b, 6, 100);
	send_to_end(a, b, "x");
	run(w);
	take(a->scq, EMU_WC_SUCCESS);
	assert_int_equal(take(b->rcq, EMU_WC_LOC_PROT_ERR).wr_id, 5);
	assert_int_equal(take(b->rcq, EMU_WC_WR_FLUSH_ERR).wr_id, 6);
	assert_int_equal(emu_qp_state(b->qp), EMU_QPS_ERR);
	assert_int_equal(emu_qp_state(a->qp), EMU_QPS_RTS);
	end_world(w);
}

static void sqd_holds_reports_and_resumes(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct end *a = &w->end[0], *b = &w->end[1];
	struct emu_qp_attr attr = {.qp_state = EMU_QPS_SQD, .en_sqd_async_notify = 1};
	struct sim_event event;

	for (int i = 0; i < 2; i++)
		post_recv(b, 9, GRH + 10);
	send_to_end(a, b, "one");
	run(w);
	assert_int_equal(emu_qp_modify(a->qp, &attr, EMU_QP_STATE | EMU_QP_EN_SQD_ASYNC_NOTIFY), 0);
	run(w);
	assert_true(sim_take_async(w->sim, 0, &event));
	assert_int_equal(event.type, EMU_EVENT_SQ_DRAINED);
	send_to_end(a, b, "two");
	run(w);
	take(b->rcq, EMU_WC_SUCCESS);
	none(b->rcq);
	attr.qp_state = EMU_QPS_RTS;
	assert_int_equal(emu_qp_modify(a->qp, &attr, EMU_QP_STATE), 0);
	run(w);
	take(b->rcq, EMU_WC_SUCCESS);
	end_world(w);
}

/* ---- multicast
 * ------------------------------------------------------------------------------------ */

static void a_group_gets_it_and_the_sender_does_not(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct emu_wc wc;

	for (int i = 0; i < QPS; i++)
		post_recv(&w->end[i], 9, GRH + 10);
	for (int i = 0; i < QPS; i++)
		if (i != 2)
			assert_int_equal(emu_mcast_attach(w->end[i].qp, &group), 0);
	send_text(&w->end[0], &group, 0xffffff, "all");
	run(w);
	take(w->end[0].scq, EMU_WC_SUCCESS);
	none(w->end[0].rcq);
	none(w->end[2].rcq);
	wc = take(w->end[1].rcq, EMU_WC_SUCCESS);
	assert_int_equal(wc.byte_len, GRH + 3);
	assert_int_equal(wc.src_qp, emu_qp_num(w->end[0].qp));
	assert_memory_equal(w->end[1].buf + RECV_AT + 36, group.raw + 12, 4);
	take(w->end[3].rcq, EMU_WC_SUCCESS); /* the same process, another QP */
	end_world(w);
}

static void who_is_in_no_group_can_send_to_it(void **state)
{
	struct world *w = world_of(SIM_LOSSY, EMU_QPS_RTS);

	post_recv(&w->end[1], 9, GRH + 10);
	assert_int_equal(emu_mcast_attach(w->end[1].qp, &group), 0);
	send_text(&w->end[2], &group, 0xffffff, "in");
	run(w);
	take(w->end[1].rcq, EMU_WC_SUCCESS);
	end_world(w);
}

static void detached_qps_get_no_more(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct emu_gid other = group;

	other.raw[15]++;
	post_recv(&w->end[1], 9, GRH + 10);
	post_recv(&w->end[2], 9, GRH + 10);
	assert_int_equal(emu_mcast_attach(w->end[1].qp, &group), 0);
	assert_int_equal(emu_mcast_attach(w->end[2].qp, &group), 0);
	assert_int_equal(emu_mcast_attach(w->end[2].qp, &other), 0);
	assert_int_equal(emu_mcast_detach(w->end[1].qp, &group), 0);
	assert_int_equal(emu_mcast_detach(w->end[1].qp, &group), -EINVAL);
	send_text(&w->end[0], &group, 0xffffff, "x");
	run(w);
	none(w->end[1].rcq);
	take(w->end[2].rcq, EMU_WC_SUCCESS);
	post_recv(&w->end[2], 9, GRH + 10);
	send_text(&w->end[0], &other, 0xffffff, "x");
	run(w);
	take(w->end[2].rcq, EMU_WC_SUCCESS);
	end_world(w);
}

static void attaching_is_refused_where_verbs_refuses_it(void **state)
{
	struct world *w = world_of(SIM_RELIABLE, EMU_QPS_RTS);
	struct emu_gid unicast = sim_gid(1), ff = {{0xff, 0x0e, [15] = 1}};
	struct emu_gid many = group;

	assert_int_equal(emu_mcast_attach(w->end[0].qp, &unicast), -EINVAL);
	assert_int_equal(emu_mcast_attach(w->end[0].qp, &ff), 0);
	assert_int_equal(emu_mcast_attach(w->end[0].qp, &ff), -EINVAL);
	assert_int_equal(emu_mcast_detach(w->end[0].qp, &many), -EINVAL);
	for (int i = 0; i < 5; i++, many.raw[15]++)
		assert_int_equal(emu_mcast_attach(w->end[0].qp, &many), 0);
	end_world(w); /* destroying the QP leaves them all */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_datagram_lands_behind_40_bytes),
		cmocka_unit_test(the_40_bytes_end_with_a_valid_ipv4_header),
		cmocka_unit_test(an_immediate_arrives_too),
		cmocka_unit_test(inline_empty_and_full_datagrams_arrive),
		cmocka_unit_test(datagrams_to_many_go_to_each),
		cmocka_unit_test(datagrams_wait_for_a_connection_that_is_being_made),
		cmocka_unit_test(a_solicited_datagram_wakes_who_waits_for_one),
		cmocka_unit_test(a_wrong_qkey_is_dropped),
		cmocka_unit_test(a_controlled_qkey_stands_for_the_qps_own),
		cmocka_unit_test(an_unknown_qp_gets_nothing),
		cmocka_unit_test(a_host_that_is_not_there_gets_nothing),
		cmocka_unit_test(a_receive_that_is_too_small_is_left_alone),
		cmocka_unit_test(without_a_receive_it_is_dropped),
		cmocka_unit_test(a_qp_receives_from_rtr_on),
		cmocka_unit_test(more_than_the_mtu_is_a_length_error_and_sqe),
		cmocka_unit_test(a_bad_lkey_is_a_protection_error_and_sqe),
		cmocka_unit_test(a_handle_of_another_pd_is_an_operation_error_and_sqe),
		cmocka_unit_test(memory_that_was_unmapped_is_a_protection_error),
		cmocka_unit_test(what_ud_cannot_do_is_refused_at_once),
		cmocka_unit_test(a_receive_of_bad_memory_ends_the_receiver_only),
		cmocka_unit_test(sqd_holds_reports_and_resumes),
		cmocka_unit_test(a_group_gets_it_and_the_sender_does_not),
		cmocka_unit_test(who_is_in_no_group_can_send_to_it),
		cmocka_unit_test(detached_qps_get_no_more),
		cmocka_unit_test(attaching_is_refused_where_verbs_refuses_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
