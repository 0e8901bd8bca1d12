/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_modify_qp: the transitions, their attributes, and what ibv_query_qp says. */
#include "fixture.h"

/* The change is refused and the state stays. */
static void refuse(struct end *e, struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state before = state_of(e);

	errno = 0;
	assert_int_equal(ibv_modify_qp(e->qp, attr, mask), EINVAL);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(state_of(e), before);
}

static void refuse_state(struct end *e, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = {.qp_state = to};

	refuse(e, &attr, IBV_QP_STATE);
}

static struct pair *pair_in(enum ibv_qp_state state)
{
	struct pair *p = unconnected_pair(NULL);

	if (state >= IBV_QPS_INIT)
		assert_int_equal(to_init(&p->a, &p->opts), 0);
	if (state >= IBV_QPS_RTR)
		assert_int_equal(to_rtr(&p->a, p->b.qp->qp_num, &p->opts), 0);
	if (state >= IBV_QPS_RTS)
		assert_int_equal(to_rts(&p->a, &p->opts), 0);
	return p;
}

static void steps_may_not_be_left_out(void **state)
{
	struct pair *p = pair_in(IBV_QPS_RESET);
	struct ibv_qp_attr rtr = rtr_attr(p->b.qp->qp_num, &p->opts);
	struct ibv_qp_attr rts = rts_attr(&p->opts);

	refuse(&p->a, &rtr, RTR_MASK);
	refuse(&p->a, &rts, RTS_MASK);
	assert_int_equal(to_init(&p->a, &p->opts), 0);
	refuse(&p->a, &rts, RTS_MASK);
}

static void rts_does_not_go_back(void **state)
{
	struct pair *p = pair_in(IBV_QPS_RTS);
	struct ibv_qp_attr init = init_attr(&p->opts);
	struct ibv_qp_attr rtr = rtr_attr(p->b.qp->qp_num, &p->opts);

	refuse(&p->a, &init, INIT_MASK);
	refuse(&p->a, &rtr, RTR_MASK);
}

static void any_state_goes_to_err_and_to_reset(void **state)
{
	for (int s = IBV_QPS_RESET; s <= IBV_QPS_RTS; s++) {
		struct pair *p = pair_in(s);

		assert_int_equal(to_state(&p->a, IBV_QPS_ERR), 0);
		assert_int_equal(state_of(&p->a), IBV_QPS_ERR);
		assert_int_equal(to_state(&p->a, IBV_QPS_RESET), 0);
		assert_int_equal(state_of(&p->a), IBV_QPS_RESET);
	}
}

static void err_goes_to_reset_only(void **state)
{
	struct pair *p = pair_in(IBV_QPS_RTS);
	struct ibv_qp_attr init = init_attr(&p->opts);
	struct ibv_qp_attr rts = rts_attr(&p->opts);

	assert_int_equal(to_state(&p->a, IBV_QPS_ERR), 0);
	refuse(&p->a, &init, INIT_MASK);
	refuse(&p->a, &rts, RTS_MASK);
	refuse_state(&p->a, IBV_QPS_SQD);
}

static void init_needs_each_of_its_attributes(void **state)
{
	struct pair *p = pair_in(IBV_QPS_RESET);
	struct ibv_qp_attr attr = init_attr(&p->opts);

	refuse(&p->a, &attr, INIT_MASK & ~IBV_QP_PKEY_INDEX);
	refuse(&p->a, &attr, INIT_MASK & ~IBV_QP_PORT);
	refuse(&p->a, &attr, INIT_MASK & ~IBV_QP_ACCESS_FLAGS);
	refuse(&p->a, &attr, INIT_MASK | IBV_QP_QKEY);
	refuse(&p->a, &attr, INIT_MASK | IBV_QP_DEST_QPN);
}

static void rtr_needs_each_of_its_attributes(void **state)
{
	static const int required[] = {
		IBV_QP_AV,     IBV_QP_PATH_MTU,           IBV_QP_DEST_QPN,
		IBV_QP_RQ_PSN, IBV_QP_MAX_DEST_RD_ATOMIC, IBV_QP_MIN_RNR_TIMER};
	struct pair *p = pair_in(IBV_QPS_INIT);
	struct ibv_qp_attr attr = rtr_attr(p->b.qp->qp_num, &p->opts);

	for (unsigned i = 0; i < sizeof(required) / sizeof(required[0]); i++)
		refuse(&p->a, &attr, RTR_MASK & ~required[i]);
	refuse(&p->a, &attr, RTR_MASK | IBV_QP_TIMEOUT);
}

static void rts_needs_each_of_its_attributes(void **state)
{
	static const int required[] = {IBV_QP_TIMEOUT, IBV_QP_RETRY_CNT, IBV_QP_RNR_RETRY,
	                               IBV_QP_SQ_PSN, IBV_QP_MAX_QP_RD_ATOMIC};
	struct pair *p = pair_in(IBV_QPS_RTR);
	struct ibv_qp_attr attr = rts_attr(&p->opts);

	for (unsigned i = 0; i < sizeof(required) / sizeof(required[0]); i++)
		refuse(&p->a, &attr, RTS_MASK & ~required[i]);
	refuse(&p->a, &attr, RTS_MASK | IBV_QP_DEST_QPN);
}

static void init_values_out_of_range_are_refused(void **state)
{
	struct pair *p = pair_in(IBV_QPS_RESET);
	struct ibv_qp_attr attr = init_attr(&p->opts);

	attr.port_num = 2;
	refuse(&p->a, &attr, INIT_MASK);
	attr.port_num = 0;
	refuse(&p->a, &attr, INIT_MASK);
	attr = init_attr(&p->opts);
	attr.pkey_index = 99;
	refuse(&p->a, &attr, INIT_MASK);
}

static void rtr_values_out_of_range_are_refused(void **state)
{
	struct pair *p = pair_in(IBV_QPS_INIT);
	struct ibv_qp_attr attr = rtr_attr(p->b.qp->qp_num, &p->opts);

	attr.path_mtu = 6;
	refuse(&p->a, &attr, RTR_MASK);
	attr = rtr_attr(p->b.qp->qp_num, &p->opts);
	attr.path_mtu = 0;
	refuse(&p->a, &attr, RTR_MASK);
	attr = rtr_attr(p->b.qp->qp_num, &p->opts);
	attr.max_dest_rd_atomic = 255;
	refuse(&p->a, &attr, RTR_MASK);
	attr = rtr_attr(p->b.qp->qp_num, &p->opts);
	attr.min_rnr_timer = 32;
	refuse(&p->a, &attr, RTR_MASK);
}

static void rtr_on_ethernet_needs_a_grh_and_a_valid_gid(void **state)
{
	struct pair *p = pair_in(IBV_QPS_INIT);
	struct ibv_qp_attr attr = rtr_attr(p->b.qp->qp_num, &p->opts);

	attr.ah_attr.is_global = 0;
	refuse(&p->a, &attr, RTR_MASK);
	attr = rtr_attr(p->b.qp->qp_num, &p->opts);
	attr.ah_attr.grh.sgid_index = 255;
	refuse(&p->a, &attr, RTR_MASK);
	attr.ah_attr.grh.sgid_index = 63; /* within the table and empty */
	refuse(&p->a, &attr, RTR_MASK);
}

static void rts_values_out_of_range_are_refused(void **state)
{
	struct pair *p = pair_in(IBV_QPS_RTR);
	struct ibv_qp_attr attr = rts_attr(&p->opts);

	attr.retry_cnt = 8;
	refuse(&p->a, &attr, RTS_MASK);
	attr = rts_attr(&p->opts);
	attr.rnr_retry = 8;
	refuse(&p->a, &attr, RTS_MASK);
	attr = rts_attr(&p->opts);
	attr.timeout = 32;
	refuse(&p->a, &attr, RTS_MASK);
	attr = rts_attr(&p->opts);
	attr.max_rd_atomic = 255;
	refuse(&p->a, &attr, RTS_MASK);
}

static void wrong_current_state_is_refused(void **state)
{
	struct pair *p = pair_in(IBV_QPS_RTR);
	struct ibv_qp_attr attr = rts_attr(&p->opts);

	attr.cur_qp_state = IBV_QPS_RTS;
	attr.qp_state = IBV_QPS_RTS;
	refuse(&p->a, &attr, RTS_MASK | IBV_QP_CUR_STATE);
	attr.cur_qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(p->a.qp, &attr, RTS_MASK | IBV_QP_CUR_STATE), 0);
}

static void unknown_state_and_mask_bits_are_refused(void **state)
{
	struct pair *p = pair_in(IBV_QPS_INIT);
	struct ibv_qp_attr attr = {.qp_state = 99};

	refuse(&p->a, &attr, IBV_QP_STATE);
	attr = init_attr(&p->opts);
	refuse(&p->a, &attr, INIT_MASK | 1 << 30);
}

static void attributes_may_change_in_rts(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .min_rnr_timer = 5, .qp_access_flags = 0};
	struct ibv_qp_init_attr init;

	assert_int_equal(ibv_modify_qp(p->b.qp, &attr,
	                               IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER | IBV_QP_ACCESS_FLAGS),
	                 0);
	assert_int_equal(ibv_query_qp(p->b.qp, &attr, IBV_QP_MIN_RNR_TIMER, &init), 0);
	assert_int_equal(attr.min_rnr_timer, 5);
	do_post(&p->a, 1, IBV_WR_RDMA_WRITE, 8);
	expect_wc(p->a.scq, 1, IBV_WC_REM_INV_REQ_ERR);
}

static void query_returns_what_was_set(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_qp_attr rtr = rtr_attr(p->b.qp->qp_num, &p->opts);
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	memset(&attr, 0xee, sizeof(attr));
	memset(&init, 0xee, sizeof(init));
	assert_int_equal(ibv_query_qp(p->a.qp, &attr, (1 << 21) - 1, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.path_mtu, p->opts.path_mtu);
	assert_int_equal(attr.dest_qp_num, p->b.qp->qp_num);
	assert_int_equal(attr.sq_psn, 0x1234);
	assert_int_equal(attr.rq_psn, 0x1234);
	assert_int_equal(attr.qp_access_flags, p->opts.access);
	assert_int_equal(attr.max_rd_atomic, 4);
	assert_int_equal(attr.max_dest_rd_atomic, 4);
	assert_int_equal(attr.min_rnr_timer, p->opts.min_rnr_timer);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.timeout, p->opts.timeout);
	assert_int_equal(attr.retry_cnt, 7);
	assert_int_equal(attr.rnr_retry, 7);
	assert_memory_equal(&attr.ah_attr.grh.dgid, &rtr.ah_attr.grh.dgid, 16);
	assert_int_equal(attr.ah_attr.is_global, 1);
	assert_int_equal(attr.cap.max_send_wr, p->opts.cap.max_send_wr);
	assert_ptr_equal(init.send_cq, p->a.scq);
	assert_ptr_equal(init.recv_cq, p->a.rcq);
	assert_ptr_equal(init.qp_context, p->a.qp->qp_context);
	assert_int_equal(init.qp_type, IBV_QPT_RC);
	assert_int_equal(init.cap.max_recv_sge, p->opts.cap.max_recv_sge);
	assert_int_equal(init.sq_sig_all, 0);
}

static void query_shows_psns_advancing(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	do_post(&p->a, 1, IBV_WR_RDMA_WRITE, 1024 * 3);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_query_qp(p->a.qp, &attr, IBV_QP_SQ_PSN, &init), 0);
	assert_int_equal(attr.sq_psn, 0x1237);
	assert_int_equal(ibv_query_qp(p->b.qp, &attr, IBV_QP_RQ_PSN, &init), 0);
	assert_int_equal(attr.rq_psn, 0x1237);
}

static void query_refuses_undefined_mask_bits(void **state)
{
	struct pair *p = pair_in(IBV_QPS_RESET);
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	assert_int_equal(ibv_query_qp(p->a.qp, &attr, -1, &init), EOPNOTSUPP);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(steps_may_not_be_left_out),
		TEST(rts_does_not_go_back),
		TEST(any_state_goes_to_err_and_to_reset),
		TEST(err_goes_to_reset_only),
		TEST(init_needs_each_of_its_attributes),
		TEST(rtr_needs_each_of_its_attributes),
		TEST(rts_needs_each_of_its_attributes),
		TEST(init_values_out_of_range_are_refused),
		TEST(rtr_values_out_of_range_are_refused),
		TEST(rtr_on_ethernet_needs_a_grh_and_a_valid_gid),
		TEST(rts_values_out_of_range_are_refused),
		TEST(wrong_current_state_is_refused),
		TEST(unknown_state_and_mask_bits_are_refused),
		TEST(attributes_may_change_in_rts),
		TEST(query_returns_what_was_set),
		TEST(query_shows_psns_advancing),
		TEST(query_refuses_undefined_mask_bits),
	};

	return RUN(tests);
}
