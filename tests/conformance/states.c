/* SPDX-License-Identifier: BSD-2-Clause */
/* What leaving RTS does to the work that is queued: ERR, RESET, SQD, destruction. */
#include "fixture.h"

/* Three sends that find no receive, three receives that nothing comes for. */
static struct pair *stuck_pair(void)
{
	struct options o = defaults();
	struct pair *p;

	o.min_rnr_timer = 20;
	p = connected_pair(&o);
	for (int i = 0; i < 3; i++) {
		struct request r = request(&p->a, i, IBV_WR_SEND, 8);

		if (i == 1)
			r.wr.send_flags = 0;
		assert_int_equal(post(&p->a, &r), 0);
		assert_int_equal(post_recv(&p->a, 10 + i, 64), 0);
	}
	return p;
}

static void err_flushes_both_queues_in_order_unsignaled_too(void **state)
{
	struct pair *p = stuck_pair();

	assert_int_equal(to_state(&p->a, IBV_QPS_ERR), 0);
	for (int i = 0; i < 3; i++) {
		expect_wc(p->a.scq, i, IBV_WC_WR_FLUSH_ERR);
		expect_wc(p->a.rcq, 10 + i, IBV_WC_WR_FLUSH_ERR);
	}
	expect_no_wc(p->a.scq, 10);
}

static void err_of_one_side_is_not_noticed_by_the_other(void **state)
{
	struct pair *p = connected_pair(NULL);

	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	assert_int_equal(to_state(&p->a, IBV_QPS_ERR), 0);
	expect_no_wc(p->b.rcq, 20);
	assert_int_equal(state_of(&p->b), IBV_QPS_RTS);
}

static void completed_but_unpolled_work_stays_success_in_err(void **state)
{
	struct pair *p = connected_pair(NULL);

	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	do_post(&p->a, 1, IBV_WR_SEND, 8);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(to_state(&p->b, IBV_QPS_ERR), 0);
	expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
}

static void reset_drops_the_work_without_completions(void **state)
{
	struct pair *p = stuck_pair();

	assert_int_equal(to_state(&p->a, IBV_QPS_RESET), 0);
	expect_no_wc(p->a.scq, 20);
	expect_no_wc(p->a.rcq, 5);
}

static void reset_leaves_completions_that_are_there(void **state)
{
	struct pair *p = connected_pair(NULL);

	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	do_post(&p->a, 1, IBV_WR_SEND, 8);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(to_state(&p->b, IBV_QPS_RESET), 0);
	expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
}

static void destroy_leaves_completions_that_are_there(void **state)
{
	struct pair *p = connected_pair(NULL);

	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	assert_int_equal(post_recv(&p->b, 12, 64), 0);
	do_post(&p->a, 1, IBV_WR_SEND, 8);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
	expect_no_wc(p->b.rcq, 10);
}

static void qp_works_again_after_reset(void **state)
{
	struct pair *p = stuck_pair();

	assert_int_equal(to_state(&p->a, IBV_QPS_RESET), 0);
	assert_int_equal(to_state(&p->b, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(&p->a, &p->opts), 0);
	assert_int_equal(to_init(&p->b, &p->opts), 0);
	assert_int_equal(to_rtr(&p->a, p->b.qp->qp_num, &p->opts), 0);
	assert_int_equal(to_rtr(&p->b, p->a.qp->qp_num, &p->opts), 0);
	assert_int_equal(to_rts(&p->a, &p->opts), 0);
	for (int i = 0; i < 16; i++)
		do_post(&p->a, i, IBV_WR_RDMA_WRITE, 8);
	for (int i = 0; i < 16; i++)
		expect_wc(p->a.scq, i, IBV_WC_SUCCESS);
}

static int drain(struct end *e)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};

	return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
}

static void sqd_holds_new_requests_and_rts_resumes_them(void **state)
{
	struct pair *p = connected_pair(NULL);

	assert_int_equal(drain(&p->a), 0);
	expect_async(IBV_EVENT_SQ_DRAINED, p->a.qp);
	do_post(&p->a, 1, IBV_WR_RDMA_WRITE, 8);
	expect_no_wc(p->a.scq, 20);
	assert_int_equal(to_state(&p->a, IBV_QPS_RTS), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
}

/* ibv_modify_qp(3): en_sqd_async_notify asks for the event. */
static void sq_drained_is_not_reported_unasked(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD};

	assert_int_equal(ibv_modify_qp(p->a.qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(to_state(&p->a, IBV_QPS_RTS), 0);
	assert_int_equal(drain(&p->a), 0);
	/* The only one. */
	expect_async(IBV_EVENT_SQ_DRAINED, p->a.qp);
	assert_int_equal(to_state(&p->a, IBV_QPS_RTS), 0);
	do_post(&p->a, 1, IBV_WR_RDMA_WRITE, 8);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	expect_no_async(20);
}

static void sq_drained_comes_after_the_last_completion(void **state)
{
	struct pair *p = connected_pair(NULL);

	for (int i = 0; i < 8; i++)
		do_post(&p->a, i, IBV_WR_RDMA_READ, 8000);
	assert_int_equal(drain(&p->a), 0);
	expect_async(IBV_EVENT_SQ_DRAINED, p->a.qp);
	/* Those that were begun have completed by now, the others wait. */
	assert_int_equal(to_state(&p->a, IBV_QPS_RTS), 0);
	for (int i = 0; i < 8; i++)
		expect_wc(p->a.scq, i, IBV_WC_SUCCESS);
}

static void qp_in_sqd_still_receives(void **state)
{
	struct pair *p = connected_pair(NULL);

	assert_int_equal(drain(&p->b), 0);
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	do_post(&p->a, 1, IBV_WR_SEND, 8);
	expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	expect_async(IBV_EVENT_SQ_DRAINED, p->b.qp);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(err_flushes_both_queues_in_order_unsignaled_too),
		TEST(err_of_one_side_is_not_noticed_by_the_other),
		TEST(completed_but_unpolled_work_stays_success_in_err),
		TEST(reset_drops_the_work_without_completions),
		TEST(reset_leaves_completions_that_are_there),
		TEST(destroy_leaves_completions_that_are_there),
		TEST(qp_works_again_after_reset),
		TEST(sqd_holds_new_requests_and_rts_resumes_them),
		TEST(sq_drained_is_not_reported_unasked),
		TEST(sq_drained_comes_after_the_last_completion),
		TEST(qp_in_sqd_still_receives),
	};

	return RUN(tests);
}
