/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that fail at the initiator: the responder stays in RTS and sees nothing. */
#include "fixture.h"

#define VENDOR_LKEY 0x52
#define VENDOR_LENGTH 0x53
#define VENDOR_RIGHTS 0x33

static void expect_vendor(struct ibv_wc wc, uint32_t code)
{
	if (!lacks("vendor_err"))
		assert_int_equal(wc.vendor_err, code);
}

/* Posts r, with a receive waiting at both ends, and returns its completion. */
static struct ibv_wc expect_local(struct pair *p, struct request *r, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	assert_int_equal(post_recv(&p->a, 21, 64), 0);
	assert_int_equal(post_recv(&p->b, 11, 4096), 0);
	assert_int_equal(post(&p->a, r), 0);
	wc = expect_wc(p->a.scq, r->wr.wr_id, status);
	expect_wc(p->a.rcq, 21, IBV_WC_WR_FLUSH_ERR);
	expect_state(&p->a, IBV_QPS_ERR);
	expect_no_wc(p->b.rcq, 10);
	assert_int_equal(state_of(&p->b), IBV_QPS_RTS);
	return wc;
}

static void send_with_a_bad_lkey_is_a_protection_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_SEND, 64);

	r.sge.lkey ^= 0x5a5a5a;
	expect_vendor(expect_local(p, &r, IBV_WC_LOC_PROT_ERR), VENDOR_LKEY);
}

static void send_with_the_lkey_of_a_deregistered_mr_is_a_protection_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_mr *mr = ibv_reg_mr(pd, p->a.buf, 4096, 0);
	struct request r = request(&p->a, 1, IBV_WR_SEND, 64);

	assert_non_null(mr);
	r.sge.lkey = mr->lkey;
	assert_int_equal(ibv_dereg_mr(mr), 0);
	expect_vendor(expect_local(p, &r, IBV_WC_LOC_PROT_ERR), VENDOR_LKEY);
}

static void send_longer_than_its_mr_is_a_protection_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_SEND, 64);

	r.sge.addr += BUF_SIZE - 63;
	expect_vendor(expect_local(p, &r, IBV_WC_LOC_PROT_ERR), VENDOR_LENGTH);
}

static void read_into_a_read_only_mr_is_a_protection_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_mr *mr = ibv_reg_mr(pd, p->a.buf, 4096, 0);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_READ, 64);

	assert_non_null(mr);
	r.sge.lkey = mr->lkey;
	expect_vendor(expect_local(p, &r, IBV_WC_LOC_PROT_ERR), VENDOR_RIGHTS);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void send_from_an_mr_of_another_pd_is_a_protection_error(void **state)
{
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_SEND, 64);
	struct ibv_mr *mr;

	assert_non_null(other);
	mr = ibv_reg_mr(other, p->a.buf, 4096, 0);
	assert_non_null(mr);
	r.sge.lkey = mr->lkey;
	expect_local(p, &r, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
}

static void send_from_an_mr_with_no_rights_works(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_mr *mr = ibv_reg_mr(pd, p->a.buf, 4096, 0);
	struct request r = request(&p->a, 1, IBV_WR_SEND, 64);

	assert_non_null(mr);
	r.sge.lkey = mr->lkey;
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void atomic_result_that_is_not_eight_bytes_is_a_length_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_ATOMIC_FETCH_AND_ADD, 4);

	expect_local(p, &r, IBV_WC_LOC_LEN_ERR);
}

static void message_longer_than_max_msg_sz_is_a_length_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_SEND, 0x80000001);

	expect_local(p, &r, IBV_WC_LOC_LEN_ERR);
}

static void local_invalidate_of_a_plain_mr_is_a_qp_operation_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_LOCAL_INV, 0);

	r.wr.num_sge = 0;
	r.wr.invalidate_rkey = p->a.mr->rkey;
	expect_local(p, &r, IBV_WC_LOC_QP_OP_ERR);
}

static void earlier_requests_complete_before_a_local_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 2, IBV_WR_RDMA_WRITE, 64);

	r.sge.lkey ^= 0x5a5a5a;
	do_post(&p->a, 1, IBV_WR_RDMA_READ, 20000);
	assert_int_equal(post(&p->a, &r), 0);
	do_post(&p->a, 3, IBV_WR_RDMA_WRITE, 64);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(p->a.scq, 2, IBV_WC_LOC_PROT_ERR);
	expect_wc(p->a.scq, 3, IBV_WC_WR_FLUSH_ERR);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(send_with_a_bad_lkey_is_a_protection_error),
		TEST(send_with_the_lkey_of_a_deregistered_mr_is_a_protection_error),
		TEST(send_longer_than_its_mr_is_a_protection_error),
		TEST(read_into_a_read_only_mr_is_a_protection_error),
		TEST(send_from_an_mr_of_another_pd_is_a_protection_error),
		TEST(send_from_an_mr_with_no_rights_works),
		TEST(atomic_result_that_is_not_eight_bytes_is_a_length_error),
		TEST(message_longer_than_max_msg_sz_is_a_length_error),
		TEST(local_invalidate_of_a_plain_mr_is_a_qp_operation_error),
		TEST(earlier_requests_complete_before_a_local_error),
	};

	return RUN(tests);
}
