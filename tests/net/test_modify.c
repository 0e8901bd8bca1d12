/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_create_qp and ibv_modify_qp: what is refused, and that a refusal changes nothing. */
#include "rig.h"

#include <errno.h>
#include <string.h>

#define INIT_MASK (EMU_QP_STATE | EMU_QP_PKEY_INDEX | EMU_QP_PORT | EMU_QP_ACCESS_FLAGS)
#define RTR_MASK                                                                                   \
	(EMU_QP_STATE | EMU_QP_AV | EMU_QP_PATH_MTU | EMU_QP_DEST_QPN | EMU_QP_RQ_PSN |            \
	 EMU_QP_MAX_DEST_RD_ATOMIC | EMU_QP_MIN_RNR_TIMER)
#define RTS_MASK                                                                                   \
	(EMU_QP_STATE | EMU_QP_TIMEOUT | EMU_QP_RETRY_CNT | EMU_QP_RNR_RETRY | EMU_QP_SQ_PSN |     \
	 EMU_QP_MAX_QP_RD_ATOMIC)

static void bad_pkey(struct emu_qp_attr *attr)
{
	attr->pkey_index = 1;
}

static void bad_port(struct emu_qp_attr *attr)
{
	attr->port_num = 2;
}

static void no_port(struct emu_qp_attr *attr)
{
	attr->port_num = 0;
}

static void bad_access(struct emu_qp_attr *attr)
{
	attr->access_flags = 1u << 15;
}

static void mtu_0(struct emu_qp_attr *attr)
{
	attr->path_mtu = 0;
}

static void mtu_6(struct emu_qp_attr *attr)
{
	attr->path_mtu = 6;
}

static void no_grh(struct emu_qp_attr *attr)
{
	attr->ah.is_global = 0;
}

static void bad_sgid(struct emu_qp_attr *attr)
{
	attr->ah.sgid_index = 1;
}

static void bad_rnr_timer(struct emu_qp_attr *attr)
{
	attr->min_rnr_timer = 32;
}

static void deep_responder(struct emu_qp_attr *attr)
{
	attr->max_dest_rd_atomic = 17;
}

static void bad_qpn(struct emu_qp_attr *attr)
{
	attr->dest_qp_num = 1u << 24;
}

static void bad_timeout(struct emu_qp_attr *attr)
{
	attr->timeout = 32;
}

static void retry_8(struct emu_qp_attr *attr)
{
	attr->retry_cnt = 8;
}

static void rnr_retry_8(struct emu_qp_attr *attr)
{
	attr->rnr_retry = 8;
}

static void deep_initiator(struct emu_qp_attr *attr)
{
	attr->max_rd_atomic = 17;
}

static const struct {
	enum emu_qp_state to;
	uint32_t mask;
	void (*spoil)(struct emu_qp_attr *attr);
} rows[] = {
	{EMU_QPS_INIT, INIT_MASK, bad_pkey},     {EMU_QPS_INIT, INIT_MASK, bad_port},
	{EMU_QPS_INIT, INIT_MASK, no_port},      {EMU_QPS_INIT, INIT_MASK, bad_access},
	{EMU_QPS_RTR, RTR_MASK, mtu_0},          {EMU_QPS_RTR, RTR_MASK, mtu_6},
	{EMU_QPS_RTR, RTR_MASK, no_grh},         {EMU_QPS_RTR, RTR_MASK, bad_sgid},
	{EMU_QPS_RTR, RTR_MASK, bad_rnr_timer},  {EMU_QPS_RTR, RTR_MASK, deep_responder},
	{EMU_QPS_RTR, RTR_MASK, bad_qpn},        {EMU_QPS_RTS, RTS_MASK, bad_timeout},
	{EMU_QPS_RTS, RTS_MASK, retry_8},        {EMU_QPS_RTS, RTS_MASK, rnr_retry_8},
	{EMU_QPS_RTS, RTS_MASK, deep_initiator},
};

static struct rig *create(void)
{
	struct rig *rig = rig_new(SIM_RELIABLE, 1);

	rig->limits.max_qp_rd_atom = 16;
	rig_create(rig);
	rig->a.attr.dest_qp_num = emu_qp_num(rig->b.qp);
	rig->a.attr.ah.dgid = sim_gid(1);
	return rig;
}

/* Each bad value at its step; after the refusal the good one is taken. */
static void values_out_of_range_are_einval_and_change_nothing(void **state)
{
	struct rig *rig = create();
	struct node *a = &rig->a;

	for (unsigned to = EMU_QPS_INIT; to <= EMU_QPS_RTS; to++) {
		struct emu_qp_attr before, after, attr;

		emu_qp_query(a->qp, &before);
		for (size_t i = 0; i < COUNT(rows); i++) {
			if (rows[i].to != to)
				continue;
			attr = a->attr;
			attr.qp_state = to;
			rows[i].spoil(&attr);
			assert_int_equal(emu_qp_modify(a->qp, &attr, rows[i].mask), -EINVAL);
			emu_qp_query(a->qp, &after);
			assert_memory_equal(&before, &after, sizeof(before));
		}
		assert_int_equal(rig_modify(a, to), 0);
		rig_expect_state(a, to);
	}
	rig_down(rig);
}

static void wrong_current_state_is_einval(void **state)
{
	struct rig *rig = create();
	struct node *a = &rig->a;
	struct emu_qp_attr attr = a->attr;

	assert_int_equal(rig_modify(a, EMU_QPS_INIT), 0);
	assert_int_equal(rig_modify(a, EMU_QPS_RTR), 0);
	attr.qp_state = EMU_QPS_RTS;
	attr.cur_qp_state = EMU_QPS_RTS;
	assert_int_equal(emu_qp_modify(a->qp, &attr, RTS_MASK | EMU_QP_CUR_STATE), -EINVAL);
	attr.cur_qp_state = EMU_QPS_RTR;
	assert_int_equal(emu_qp_modify(a->qp, &attr, RTS_MASK | EMU_QP_CUR_STATE), 0);
	attr.qp_state = 77;
	assert_int_equal(emu_qp_modify(a->qp, &attr, EMU_QP_STATE), -EINVAL);
	rig_down(rig);
}

static void access_flags_can_change_while_in_rts(void **state)
{
	struct rig *rig = create();
	struct emu_qp_attr attr = {.access_flags = 0};

	rig_connect(&rig->a);
	rig_connect(&rig->b);
	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 10, 0);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	assert_int_equal(emu_qp_modify(rig->b.qp, &attr, EMU_QP_ACCESS_FLAGS), 0);
	rig_expect_state(&rig->b, EMU_QPS_RTS);
	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 2, 0, 10, 0);
	rig_expect_error(&rig->a, rig->a.scq, 2, EMU_WC_REM_INV_REQ_ERR, 0x8a);
	rig_down(rig);
}

/* IBTA C11-37: a QP in RTR says when the first message came. */
static void first_message_in_rtr_is_comm_est(void **state)
{
	struct rig *rig = create();
	struct node *b = &rig->b;

	rig_connect(&rig->a);
	b->attr.dest_qp_num = emu_qp_num(rig->a.qp);
	b->attr.ah.dgid = sim_gid(0);
	assert_int_equal(rig_modify(b, EMU_QPS_INIT), 0);
	assert_int_equal(rig_modify(b, EMU_QPS_RTR), 0);
	rig_recv(b, 1, 0, 100);
	rig_recv(b, 2, 0, 100);
	rig_send(&rig->a, EMU_WR_SEND, 1, 0, 100, 0);
	rig_send(&rig->a, EMU_WR_SEND, 2, 0, 100, 0);
	rig_expect(b, b->rcq, 1, EMU_WC_SUCCESS);
	rig_expect(b, b->rcq, 2, EMU_WC_SUCCESS);
	rig_expect_async(b, EMU_EVENT_COMM_EST);
	rig_expect_async(b, EMU_EVENT_NONE);
	assert_int_equal(rig_modify(b, EMU_QPS_RTS), 0);
	rig_down(rig);
}

static void capabilities_above_the_limits_are_einval(void **state)
{
	struct rig *rig = create();
	const struct emu_limits *limits = &rig->limits;
	const struct emu_qp_cap bad[] = {
		{.max_send_wr = limits->max_qp_wr + 1},
		{.max_recv_wr = limits->max_qp_wr + 1},
		{.max_send_wr = 1, .max_send_sge = limits->max_sge + 1},
		{.max_recv_wr = 1, .max_recv_sge = limits->max_sge + 1},
		{.max_send_wr = 1, .max_inline_data = limits->max_inline + 1},
	};
	struct emu_qp_init init = {
		.type = EMU_QPT_RC, .send_cq = rig->a.scq, .recv_cq = rig->a.rcq};
	struct emu_qp *qp = NULL;

	for (size_t i = 0; i < COUNT(bad); i++) {
		init.cap = bad[i];
		assert_int_equal(emu_qp_create(rig->a.pd, &init, &qp), -EINVAL);
	}
	init.cap = rig->cap;
	init.send_cq = NULL;
	assert_int_equal(emu_qp_create(rig->a.pd, &init, &qp), -EINVAL);
	assert_null(qp);
	rig_down(rig);
}

/* The most that a device grants works in full. */
static void largest_queues_hold_what_they_promise(void **state)
{
	struct rig *rig = rig_new(SIM_RELIABLE, 1);
	unsigned n;

	rig->cap.max_send_wr = rig->cap.max_recv_wr = n = rig->limits.max_qp_wr;
	rig->cap.max_send_sge = rig->cap.max_recv_sge = rig->limits.max_sge;
	rig->cap.max_inline_data = rig->limits.max_inline;
	rig->send_cqe = rig->recv_cqe = n;
	rig_up(rig);
	for (unsigned i = 0; i < n; i++) {
		rig_recv(&rig->b, i, 0, 10);
		rig_send(&rig->a, EMU_WR_SEND, i, 0, 10, 0);
	}
	for (unsigned i = 0; i < n; i++) {
		rig_expect(&rig->a, rig->a.scq, i, EMU_WC_SUCCESS);
		rig_expect(&rig->b, rig->b.rcq, i, EMU_WC_SUCCESS);
	}
	rig_down(rig);
}

static void qp_numbers_are_those_of_the_slot_and_come_back(void **state)
{
	struct rig *rig = create();

	/* More than a slot has. */
	for (unsigned i = 0; i < 10000; i++) {
		struct emu_qp *qp = rig_make_qp(&rig->b);

		assert_int_equal(emu_qp_num(qp) >> 12, 1);
		emu_qp_destroy(qp);
	}
	assert_int_equal(emu_dev_add_slot(rig->b.dev, 1), -EEXIST);
	rig_down(rig);
}

#define DEPTH 4

static void read_all(struct rig *rig)
{
	for (unsigned i = 0; i < DEPTH; i++)
		rig_send(&rig->b, EMU_WR_RDMA_READ, i, i * 100000, 100000, i * 100000);
}

static void expect_all_read(struct rig *rig)
{
	for (unsigned i = 0; i < DEPTH; i++)
		rig_expect(&rig->b, rig->b.scq, i, EMU_WC_SUCCESS);
	assert_memory_equal(rig->a.buf, rig->b.buf, DEPTH * 100000);
}

static struct rig *up_to_read(void)
{
	struct rig *rig = create();

	rig->a.attr.max_dest_rd_atomic = rig->b.attr.max_rd_atomic = DEPTH;
	rig_connect(&rig->a);
	rig_connect(&rig->b);
	assert_int_equal(rig_modify(&rig->a, EMU_QPS_SQD), 0);
	return rig;
}

/* The responder's depth must not shrink when the path that came with it cannot be had. */
static void change_that_finds_no_memory_changes_nothing(void **state)
{
	struct rig *rig = up_to_read();
	struct emu_qp_attr attr = rig->a.attr, before, after;

	attr.qp_state = EMU_QPS_SQD;
	attr.max_dest_rd_atomic = 1;
	emu_qp_query(rig->a.qp, &before);
	sim_refuse_peers(rig->sim, 1);
	assert_int_equal(emu_qp_modify(rig->a.qp, &attr,
	                               EMU_QP_STATE | EMU_QP_AV | EMU_QP_MAX_DEST_RD_ATOMIC),
	                 -ENOMEM);
	emu_qp_query(rig->a.qp, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	read_all(rig);
	expect_all_read(rig);
	rig_down(rig);
}

static unsigned pending_reads(struct rig *rig)
{
	struct emu_wc wc;
	unsigned done = 0;

	while (emu_cq_poll(rig->b.scq, 1, &wc) == 1)
		done++;
	return DEPTH - done;
}

static void reads_in_work_survive_another_depth(void **state)
{
	static const uint8_t depths[] = {1, 2, 3, 5, 16};

	for (size_t i = 0; i < COUNT(depths); i++) {
		struct rig *rig = up_to_read();
		struct emu_qp_attr attr = {.qp_state = EMU_QPS_SQD};

		rig_fill(rig->a.buf, RIG_BUF, 7);
		rig->params.connect_ns = MS;
		sim_set_params(rig->sim, &rig->params);
		read_all(rig);
		/* The requests are there, the way back is not yet open. */
		sim_run_until(rig->sim, sim_now(rig->sim) + MS + 100 * US);
		assert_int_equal(pending_reads(rig), DEPTH);
		attr.max_dest_rd_atomic = depths[i];
		assert_int_equal(emu_qp_modify(rig->a.qp, &attr,
		                               EMU_QP_STATE | EMU_QP_MAX_DEST_RD_ATOMIC),
		                 0);
		expect_all_read(rig);
		assert_int_equal(emu_dev_counters(rig->b.dev)->retransmits, 0);
		/* And afterwards, one at a time. */
		for (unsigned n = 0; n < 3 * DEPTH; n++) {
			rig_send(&rig->b, EMU_WR_RDMA_READ, n, 0, 5000, 0);
			rig_expect(&rig->b, rig->b.scq, n, EMU_WC_SUCCESS);
		}
		rig_down(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_out_of_range_are_einval_and_change_nothing),
		cmocka_unit_test(wrong_current_state_is_einval),
		cmocka_unit_test(access_flags_can_change_while_in_rts),
		cmocka_unit_test(change_that_finds_no_memory_changes_nothing),
		cmocka_unit_test(reads_in_work_survive_another_depth),
		cmocka_unit_test(first_message_in_rtr_is_comm_est),
		cmocka_unit_test(capabilities_above_the_limits_are_einval),
		cmocka_unit_test(largest_queues_hold_what_they_promise),
		cmocka_unit_test(qp_numbers_are_those_of_the_slot_and_come_back),
	};

	return cmocka_run_group_tests_name("QP creation and change", tests, NULL, NULL);
}
