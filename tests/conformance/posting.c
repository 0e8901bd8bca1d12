/* SPDX-License-Identifier: BSD-2-Clause */
/* What ibv_post_send and ibv_post_recv take and refuse, and when a slot is free again. */
#include "fixture.h"

static void post_send_before_rts_is_refused(void **state)
{
	struct pair *p = unconnected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_SEND, 8);

	assert_int_equal(post(&p->a, &r), EINVAL);
	assert_int_equal(to_init(&p->a, &p->opts), 0);
	assert_int_equal(post(&p->a, &r), EINVAL);
	assert_int_equal(to_rtr(&p->a, p->b.qp->qp_num, &p->opts), 0);
	assert_int_equal(post(&p->a, &r), EINVAL);
	assert_int_equal(to_rts(&p->a, &p->opts), 0);
	expect_no_wc(p->a.scq, 10);
}

static void receives_posted_before_rts_are_kept(void **state)
{
	struct pair *p = unconnected_pair(NULL);

	assert_int_equal(post_recv(&p->b, 10, 64), 0);
	assert_int_equal(to_init(&p->a, &p->opts), 0);
	assert_int_equal(to_init(&p->b, &p->opts), 0);
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	assert_int_equal(to_rtr(&p->a, p->b.qp->qp_num, &p->opts), 0);
	assert_int_equal(to_rtr(&p->b, p->a.qp->qp_num, &p->opts), 0);
	assert_int_equal(post_recv(&p->b, 12, 64), 0);
	assert_int_equal(to_rts(&p->a, &p->opts), 0);
	for (int i = 0; i < 3; i++)
		do_post(&p->a, i, IBV_WR_SEND, 8);
	for (int i = 0; i < 3; i++)
		expect_wc(p->b.rcq, 10 + i, IBV_WC_SUCCESS);
}

static void requests_posted_in_err_are_flushed_at_once(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 2, IBV_WR_RDMA_WRITE, 8);

	assert_int_equal(to_state(&p->a, IBV_QPS_ERR), 0);
	do_post(&p->a, 1, IBV_WR_SEND, 8);
	r.wr.send_flags = 0;
	assert_int_equal(post(&p->a, &r), 0);
	assert_int_equal(post_recv(&p->a, 11, 64), 0);
	expect_wc(p->a.scq, 1, IBV_WC_WR_FLUSH_ERR);
	expect_wc(p->a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_wc(p->a.rcq, 11, IBV_WC_WR_FLUSH_ERR);
}

static void more_sges_than_granted_are_refused(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_sge sge[3] = {{(uintptr_t)p->a.buf, 1, p->a.mr->lkey},
	                         {(uintptr_t)p->a.buf, 1, p->a.mr->lkey},
	                         {(uintptr_t)p->a.buf, 1, p->a.mr->lkey}};
	struct ibv_send_wr wr = {.sg_list = sge, .num_sge = 3, .opcode = IBV_WR_SEND}, *bad;
	struct ibv_recv_wr rwr = {.sg_list = sge, .num_sge = 3}, *rbad;

	assert_int_equal(ibv_post_send(p->a.qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	assert_int_equal(ibv_post_recv(p->a.qp, &rwr, &rbad), EINVAL);
	assert_ptr_equal(rbad, &rwr);
	wr.num_sge = -1;
	assert_int_equal(ibv_post_send(p->a.qp, &wr, &bad), EINVAL);
}

static void inline_data_up_to_what_was_granted_is_taken(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 64);

	r.wr.send_flags |= IBV_SEND_INLINE;
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	r.sge.length = 65;
	assert_int_equal(post(&p->a, &r), EINVAL);
}

static void inline_reads_and_atomics_are_refused(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_READ, 8);

	r.wr.send_flags |= IBV_SEND_INLINE;
	assert_int_equal(post(&p->a, &r), EINVAL);
	r = request(&p->a, 1, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
	r.wr.send_flags |= IBV_SEND_INLINE;
	assert_int_equal(post(&p->a, &r), EINVAL);
}

static void unknown_and_illegal_opcodes_are_refused(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, (enum ibv_wr_opcode)99, 8);

	assert_int_equal(post(&p->a, &r), EINVAL);
	r.wr.opcode = IBV_WR_TSO;
	assert_int_equal(post(&p->a, &r), EINVAL);
	r.wr.opcode = IBV_WR_BIND_MW;
	assert_int_equal(post(&p->a, &r), EINVAL);
	assert_int_equal(state_of(&p->a), IBV_QPS_RTS);
}

static void read_with_max_rd_atomic_0_is_refused(void **state)
{
	struct options o = defaults();
	struct pair *p;
	struct request r;

	o.max_rd_atomic = 0;
	p = connected_pair(&o);
	r = request(&p->a, 1, IBV_WR_RDMA_READ, 8);
	assert_int_equal(post(&p->a, &r), EINVAL);
	do_post(&p->a, 2, IBV_WR_RDMA_WRITE, 8);
	expect_wc(p->a.scq, 2, IBV_WC_SUCCESS);
}

static void a_list_is_queued_up_to_the_first_bad_request(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r[3] = {request(&p->a, 1, IBV_WR_RDMA_WRITE, 8),
	                       request(&p->a, 2, (enum ibv_wr_opcode)99, 8),
	                       request(&p->a, 3, IBV_WR_RDMA_WRITE, 8)};
	struct ibv_send_wr *bad = NULL;

	for (int i = 0; i < 3; i++) {
		r[i].wr.sg_list = &r[i].sge;
		r[i].wr.next = i < 2 ? &r[i + 1].wr : NULL;
	}
	assert_int_equal(ibv_post_send(p->a.qp, &r[0].wr, &bad), EINVAL);
	assert_ptr_equal(bad, &r[1].wr);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	expect_no_wc(p->a.scq, 10);
}

static void receive_list_is_queued_up_to_the_first_bad_one(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_sge sge = {(uintptr_t)p->b.buf, 64, p->b.mr->lkey};
	struct ibv_recv_wr wr[2] = {{.wr_id = 11, .next = &wr[1], .sg_list = &sge, .num_sge = 1},
	                            {.wr_id = 12, .sg_list = &sge, .num_sge = 9}};
	struct ibv_recv_wr *bad = NULL;

	assert_int_equal(ibv_post_recv(p->b.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	do_post(&p->a, 1, IBV_WR_SEND, 8);
	expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
}

static void full_queues_answer_enomem(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 16, IBV_WR_SEND, 8);

	for (int i = 0; i < 16; i++) {
		assert_int_equal(post_recv(&p->a, i, 64), 0);
		do_post(&p->a, i, IBV_WR_SEND, 8);
	}
	assert_int_equal(post_recv(&p->a, 16, 64), ENOMEM);
	assert_int_equal(post(&p->a, &r), ENOMEM);
}

static void a_program_that_never_signals_runs_out_of_slots(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 8);

	r.wr.send_flags = 0;
	for (int i = 0; i < 16; i++)
		assert_int_equal(post(&p->a, &r), 0);
	expect_no_wc(p->a.scq, 20);
	assert_int_equal(post(&p->a, &r), ENOMEM);
}

static void polling_frees_the_slots_of_it_and_of_all_before_it(void **state)
{
	struct pair *p = connected_pair(NULL);

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 15; i++) {
			struct request r = request(&p->a, i, IBV_WR_RDMA_WRITE, 8);

			r.wr.send_flags = 0;
			assert_int_equal(post(&p->a, &r), 0);
		}
		do_post(&p->a, 15, IBV_WR_RDMA_WRITE, 8);
		expect_wc(p->a.scq, 15, IBV_WC_SUCCESS);
	}
}

static void a_receive_slot_is_free_when_its_completion_is_polled(void **state)
{
	struct pair *p = connected_pair(NULL);

	for (int i = 0; i < 16; i++)
		assert_int_equal(post_recv(&p->b, i, 64), 0);
	do_post(&p->a, 1, IBV_WR_SEND, 8);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(post_recv(&p->b, 16, 64), ENOMEM);
	expect_wc(p->b.rcq, 0, IBV_WC_SUCCESS);
	assert_int_equal(post_recv(&p->b, 16, 64), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(post_send_before_rts_is_refused),
		TEST(receives_posted_before_rts_are_kept),
		TEST(requests_posted_in_err_are_flushed_at_once),
		TEST(more_sges_than_granted_are_refused),
		TEST(inline_data_up_to_what_was_granted_is_taken),
		TEST(inline_reads_and_atomics_are_refused),
		TEST(unknown_and_illegal_opcodes_are_refused),
		TEST(read_with_max_rd_atomic_0_is_refused),
		TEST(a_list_is_queued_up_to_the_first_bad_request),
		TEST(receive_list_is_queued_up_to_the_first_bad_one),
		TEST(full_queues_answer_enomem),
		TEST(a_program_that_never_signals_runs_out_of_slots),
		TEST(polling_frees_the_slots_of_it_and_of_all_before_it),
		TEST(a_receive_slot_is_free_when_its_completion_is_polled),
	};

	return RUN(tests);
}
