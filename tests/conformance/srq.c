/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_create_srq and its relatives, and queue pairs that receive from one. */
#include "fixture.h"

#define SRQ_WR 8

static struct pair *pair_with_srq(void)
{
	struct options o = defaults();

	o.srq_wr = SRQ_WR;
	return connected_pair(&o);
}

static void post_recvs(struct pair *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(post_recv(&p->b, i, 1024), 0);
}

static uint32_t limit_of(struct ibv_srq *srq)
{
	struct ibv_srq_attr attr;

	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	return attr.srq_limit;
}

static int arm(struct ibv_srq *srq, uint32_t limit)
{
	struct ibv_srq_attr attr = {.srq_limit = limit};

	return ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT);
}

static void message_arrives_through_the_srq(void **state)
{
	struct pair *p = pair_with_srq();
	struct ibv_wc wc;

	memset(p->a.buf, 0x5a, 100);
	post_recvs(p, 2);
	do_post(&p->a, 1, IBV_WR_SEND, 100);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	wc = expect_wc(p->b.rcq, 0, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, 100);
	assert_int_equal(wc.qp_num, p->b.qp->qp_num);
	assert_memory_equal(p->b.buf + RECV_OFFSET, p->a.buf, 100);
}

static void query_says_what_was_granted(void **state)
{
	struct ibv_srq_init_attr init = {.srq_context = &init, .attr = {.max_wr = 5, .max_sge = 2}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_srq_attr attr;

	assert_non_null(srq);
	assert_ptr_equal(srq->context, ctx);
	assert_ptr_equal(srq->pd, pd);
	assert_ptr_equal(srq->srq_context, &init);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_true(attr.max_wr >= 5);
	assert_int_equal(attr.max_wr, init.attr.max_wr);
	assert_true(attr.max_sge >= 2);
	assert_int_equal(attr.srq_limit, 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void sizes_of_the_device_are_granted_and_no_more(void **state)
{
	struct ibv_device_attr dev;
	struct ibv_srq_init_attr init;
	struct ibv_srq *srq;

	assert_int_equal(ibv_query_device(ctx, &dev), 0);
	assert_true(dev.max_srq > 0 && dev.max_srq_wr > 0 && dev.max_srq_sge > 0);
	init = (struct ibv_srq_init_attr){.attr = {dev.max_srq_wr, dev.max_srq_sge, 0}};
	srq = ibv_create_srq(pd, &init);
	assert_non_null(srq);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	init.attr.max_wr = dev.max_srq_wr + 1;
	errno = 0;
	assert_null(ibv_create_srq(pd, &init));
	assert_int_equal(errno, EINVAL);
	init.attr = (struct ibv_srq_attr){1, dev.max_srq_sge + 1, 0};
	errno = 0;
	assert_null(ibv_create_srq(pd, &init));
	assert_int_equal(errno, EINVAL);
}

static void extended_creation_makes_a_basic_one(void **state)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = {.max_wr = 4, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = pd,
	};
	struct ibv_srq *srq = ibv_create_srq_ex(ctx, &init);
	uint32_t number;

	assert_non_null(srq);
	assert_int_equal(ibv_get_srq_num(srq, &number), EOPNOTSUPP);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void receive_queue_of_its_qps_is_closed(void **state)
{
	struct pair *p = pair_with_srq();
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad = NULL;

	assert_int_equal(ibv_post_recv(p->b.qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
}

static void query_qp_names_the_srq(void **state)
{
	struct pair *p = pair_with_srq();
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_ptr_equal(p->b.qp->srq, p->b.srq);
	assert_int_equal(ibv_query_qp(p->b.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_ptr_equal(init.srq, p->b.srq);
}

static void list_is_posted_up_to_the_first_that_is_refused(void **state)
{
	struct pair *p = pair_with_srq();
	struct ibv_sge sge[2] = {{0}};
	struct ibv_recv_wr wr[3] = {
		{.wr_id = 1, .next = &wr[1]},
		{.wr_id = 2, .next = &wr[2], .sg_list = sge, .num_sge = 2},
		{.wr_id = 3},
	};
	struct ibv_recv_wr *bad = NULL;

	assert_int_equal(ibv_post_srq_recv(p->b.srq, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	do_post(&p->a, 9, IBV_WR_SEND, 0);
	expect_wc(p->b.rcq, 1, IBV_WC_SUCCESS);
}

static void full_srq_is_enomem_until_a_poll(void **state)
{
	struct pair *p = pair_with_srq();

	post_recvs(p, SRQ_WR);
	assert_int_equal(post_recv(&p->b, 99, 8), ENOMEM);
	do_post(&p->a, 1, IBV_WR_SEND, 8);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(post_recv(&p->b, 99, 8), ENOMEM);
	expect_wc(p->b.rcq, 0, IBV_WC_SUCCESS);
	assert_int_equal(post_recv(&p->b, 99, 8), 0);
	assert_int_equal(post_recv(&p->b, 100, 8), ENOMEM);
}

static void limit_is_told_once_when_fewer_are_left(void **state)
{
	struct pair *p = pair_with_srq();

	post_recvs(p, 5);
	assert_int_equal(arm(p->b.srq, 3), 0);
	for (unsigned i = 0; i < 2; i++) {
		do_post(&p->a, i, IBV_WR_SEND, 8);
		expect_wc(p->b.rcq, i, IBV_WC_SUCCESS);
	}
	expect_no_async(10);
	assert_int_equal(limit_of(p->b.srq), 3);
	for (unsigned i = 2; i < 4; i++) {
		do_post(&p->a, i, IBV_WR_SEND, 8);
		expect_wc(p->b.rcq, i, IBV_WC_SUCCESS);
	}
	expect_async(IBV_EVENT_SRQ_LIMIT_REACHED, p->b.srq);
	expect_no_async(10);
	assert_int_equal(limit_of(p->b.srq), 0);
}

static void limit_above_the_size_is_refused(void **state)
{
	struct pair *p = pair_with_srq();
	struct ibv_srq_attr attr;

	assert_int_equal(ibv_query_srq(p->b.srq, &attr), 0);
	assert_int_equal(arm(p->b.srq, attr.max_wr + 1), EINVAL);
	assert_int_equal(limit_of(p->b.srq), 0);
	assert_int_equal(ibv_modify_srq(p->b.srq, &attr, 1 << 20), EINVAL);
}

static void srq_with_a_qp_and_pd_with_an_srq_are_busy(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct pair *p = pair_with_srq();
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_srq *srq = ibv_create_srq(other, &init);

	assert_int_equal(ibv_destroy_srq(p->b.srq), EBUSY);
	assert_non_null(srq);
	assert_int_equal(ibv_dealloc_pd(other), EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
	/* It still works. */
	post_recvs(p, 1);
	do_post(&p->a, 1, IBV_WR_SEND, 8);
	expect_wc(p->b.rcq, 0, IBV_WC_SUCCESS);
}

static void stale_srq_is_refused(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_srq_attr attr;

	assert_non_null(srq);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_srq(srq), EINVAL);
	assert_int_equal(ibv_query_srq(srq, &attr), EINVAL);
	assert_int_equal(arm(srq, 1), EINVAL);
}

static void error_of_a_qp_leaves_the_receives_and_is_told(void **state)
{
	struct pair *p = pair_with_srq();

	post_recvs(p, 3);
	assert_int_equal(to_state(&p->b, IBV_QPS_ERR), 0);
	expect_async(IBV_EVENT_QP_LAST_WQE_REACHED, p->b.qp);
	expect_no_wc(p->b.rcq, 10);
}

static void empty_srq_is_not_ready(void **state)
{
	struct pair *p = pair_with_srq();

	do_post(&p->a, 1, IBV_WR_SEND, 8);
	expect_no_wc(p->a.scq, 10);
	post_recvs(p, 1);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(p->b.rcq, 0, IBV_WC_SUCCESS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(message_arrives_through_the_srq),
		TEST(query_says_what_was_granted),
		TEST(sizes_of_the_device_are_granted_and_no_more),
		TEST(extended_creation_makes_a_basic_one),
		TEST(receive_queue_of_its_qps_is_closed),
		TEST(query_qp_names_the_srq),
		TEST(list_is_posted_up_to_the_first_that_is_refused),
		TEST(full_srq_is_enomem_until_a_poll),
		TEST(limit_is_told_once_when_fewer_are_left),
		TEST(limit_above_the_size_is_refused),
		TEST(srq_with_a_qp_and_pd_with_an_srq_are_busy),
		TEST(stale_srq_is_refused),
		TEST(error_of_a_qp_leaves_the_receives_and_is_told),
		TEST(empty_srq_is_not_ready),
	};

	return RUN(tests);
}
