/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that the responder refuses: the status at the initiator, what the
 * responder sees, the states of both QPs, the asynchronous event.
 */
#include "fixture.h"

#define VENDOR_REM_ACCESS 0x88
#define VENDOR_REM_OP 0x89
#define VENDOR_REM_INV_REQ 0x8a
#define VENDOR_FLUSH 0xf5
#define VENDOR_FLUSH_RECV 0xf9

static void expect_vendor(struct ibv_wc wc, uint32_t code)
{
	if (!lacks("vendor_err"))
		assert_int_equal(wc.vendor_err, code);
}

/*
 * r is refused with REM_ACCESS_ERR: whatever is behind it is flushed, so are
 * the responder's receives, both QPs end in ERR, and the responder hears of it.
 */
static void expect_access_error(struct pair *p, struct request *r)
{
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	assert_int_equal(post(&p->a, r), 0);
	do_post(&p->a, 99, IBV_WR_RDMA_WRITE, 8);
	expect_vendor(expect_wc(p->a.scq, r->wr.wr_id, IBV_WC_REM_ACCESS_ERR), VENDOR_REM_ACCESS);
	expect_vendor(expect_wc(p->a.scq, 99, IBV_WC_WR_FLUSH_ERR), VENDOR_FLUSH);
	expect_vendor(expect_wc(p->b.rcq, 11, IBV_WC_WR_FLUSH_ERR), VENDOR_FLUSH_RECV);
	expect_state(&p->a, IBV_QPS_ERR);
	expect_state(&p->b, IBV_QPS_ERR);
	expect_async(IBV_EVENT_QP_ACCESS_ERR, p->b.qp);
	expect_no_async(10);
}

/* The same with REM_INV_REQ_ERR and QP_REQ_ERR. */
static void expect_invalid_request(struct pair *p, struct request *r)
{
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	assert_int_equal(post(&p->a, r), 0);
	expect_vendor(expect_wc(p->a.scq, r->wr.wr_id, IBV_WC_REM_INV_REQ_ERR), VENDOR_REM_INV_REQ);
	expect_wc(p->b.rcq, 11, IBV_WC_WR_FLUSH_ERR);
	expect_state(&p->a, IBV_QPS_ERR);
	expect_state(&p->b, IBV_QPS_ERR);
	expect_async(IBV_EVENT_QP_REQ_ERR, p->b.qp);
}

static void send_longer_than_the_receive_is_an_invalid_request(void **state)
{
	struct pair *p = connected_pair(NULL);

	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	assert_int_equal(post_recv(&p->b, 12, 4096), 0);
	do_post(&p->a, 1, IBV_WR_SEND, 65);
	do_post(&p->a, 2, IBV_WR_SEND, 16);
	expect_vendor(expect_wc(p->a.scq, 1, IBV_WC_REM_INV_REQ_ERR), VENDOR_REM_INV_REQ);
	expect_wc(p->a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_wc(p->b.rcq, 11, IBV_WC_LOC_LEN_ERR);
	expect_wc(p->b.rcq, 12, IBV_WC_WR_FLUSH_ERR);
	expect_state(&p->a, IBV_QPS_ERR);
	expect_state(&p->b, IBV_QPS_ERR);
	expect_no_async(10);
}

static void long_send_longer_than_the_receive_is_an_invalid_request(void **state)
{
	struct pair *p = connected_pair(NULL);

	assert_int_equal(post_recv(&p->b, 11, 3000), 0);
	do_post(&p->a, 1, IBV_WR_SEND, 20000);
	expect_wc(p->a.scq, 1, IBV_WC_REM_INV_REQ_ERR);
	expect_wc(p->b.rcq, 11, IBV_WC_LOC_LEN_ERR);
}

static void write_with_a_bad_rkey_is_an_access_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 64);

	r.wr.wr.rdma.rkey ^= 0x5a5a5a;
	expect_access_error(p, &r);
}

static void write_with_the_key_of_a_deregistered_mr_is_an_access_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_mr *mr = ibv_reg_mr(pd, p->b.buf, 4096, ALL_ACCESS);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 64);

	assert_non_null(mr);
	r.wr.wr.rdma.rkey = mr->rkey;
	assert_int_equal(ibv_dereg_mr(mr), 0);
	expect_access_error(p, &r);
}

static void write_out_of_bounds_writes_nothing_at_all(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 8192);
	uint8_t zero[4096] = {0};

	memset(p->a.buf, 9, 8192);
	r.wr.wr.rdma.remote_addr += BUF_SIZE - 4096;
	expect_access_error(p, &r);
	assert_memory_equal(p->b.buf + BUF_SIZE - 4096, zero, 4096);
}

static void write_that_wraps_the_address_space_is_an_access_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 8192);

	r.wr.wr.rdma.remote_addr = UINT64_MAX - 4095;
	expect_access_error(p, &r);
}

static struct ibv_mr *replace_mr(struct end *e, struct ibv_pd *of, unsigned access)
{
	assert_int_equal(ibv_dereg_mr(e->mr), 0);
	e->mr = ibv_reg_mr(of, e->buf, BUF_SIZE, access);
	assert_non_null(e->mr);
	return e->mr;
}

static void write_into_an_mr_without_the_right_is_an_access_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r;

	replace_mr(&p->b, pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 64);
	expect_access_error(p, &r);
}

static void read_from_an_mr_without_the_right_is_an_access_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r;

	replace_mr(&p->b, pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	r = request(&p->a, 1, IBV_WR_RDMA_READ, 64);
	expect_access_error(p, &r);
}

static void atomic_on_an_mr_without_the_right_is_an_access_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r;

	replace_mr(&p->b, pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	r = request(&p->a, 1, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
	expect_access_error(p, &r);
}

static void write_with_the_key_of_another_pd_is_an_access_error(void **state)
{
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct pair *p = connected_pair(NULL);
	struct ibv_mr *mr;
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 64);

	assert_non_null(other);
	mr = ibv_reg_mr(other, p->b.buf, 4096, ALL_ACCESS);
	assert_non_null(mr);
	r.wr.wr.rdma.rkey = mr->rkey;
	expect_access_error(p, &r);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
}

static void read_with_a_bad_rkey_is_an_access_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_READ, 64);

	r.wr.wr.rdma.rkey ^= 0x5a5a5a;
	expect_access_error(p, &r);
}

static void read_out_of_bounds_is_an_access_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_READ, 64);

	r.wr.wr.rdma.remote_addr += BUF_SIZE - 63;
	expect_access_error(p, &r);
}

static void atomic_out_of_bounds_is_an_access_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_ATOMIC_CMP_AND_SWP, 8);

	r.wr.wr.atomic.remote_addr += BUF_SIZE;
	expect_access_error(p, &r);
}

static void misaligned_atomic_is_an_invalid_request(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);

	r.wr.wr.atomic.remote_addr += 4;
	expect_invalid_request(p, &r);
}

static void operation_the_qp_does_not_allow(enum ibv_wr_opcode op, unsigned flag)
{
	struct options o = defaults();
	struct pair *p;
	struct request r;

	o.access &= ~flag;
	p = connected_pair(&o);
	r = request(&p->a, 1, op, 8);
	expect_invalid_request(p, &r);
}

static void write_to_a_qp_without_the_flag_is_an_invalid_request(void **state)
{
	operation_the_qp_does_not_allow(IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE);
}

static void read_from_a_qp_without_the_flag_is_an_invalid_request(void **state)
{
	operation_the_qp_does_not_allow(IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ);
}

static void atomic_on_a_qp_without_the_flag_is_an_invalid_request(void **state)
{
	operation_the_qp_does_not_allow(IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC);
}

static void more_reads_than_max_dest_rd_atomic_are_an_invalid_request(void **state)
{
	struct options o = defaults();
	struct pair *p;
	struct request r;

	o.max_dest_rd_atomic = 0;
	p = connected_pair(&o);
	r = request(&p->a, 1, IBV_WR_RDMA_READ, 8);
	expect_invalid_request(p, &r);
}

static void post_recv_with(struct end *e, uint64_t id, struct ibv_sge sge)
{
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;

	assert_int_equal(ibv_post_recv(e->qp, &wr, &bad), 0);
}

static void expect_bad_receive(struct pair *p)
{
	assert_int_equal(post_recv(&p->b, 12, 64), 0);
	do_post(&p->a, 1, IBV_WR_SEND, 64);
	expect_vendor(expect_wc(p->a.scq, 1, IBV_WC_REM_OP_ERR), VENDOR_REM_OP);
	expect_wc(p->b.rcq, 11, IBV_WC_LOC_PROT_ERR);
	expect_wc(p->b.rcq, 12, IBV_WC_WR_FLUSH_ERR);
	expect_state(&p->a, IBV_QPS_ERR);
	expect_state(&p->b, IBV_QPS_ERR);
}

static void receive_with_a_bad_lkey_is_a_remote_operation_error(void **state)
{
	struct pair *p = connected_pair(NULL);

	post_recv_with(&p->b, 11, (struct ibv_sge){(uintptr_t)p->b.buf, 64, 0xdeadbeef});
	expect_bad_receive(p);
}

static void receive_out_of_bounds_is_a_remote_operation_error(void **state)
{
	struct pair *p = connected_pair(NULL);

	post_recv_with(&p->b, 11,
	               (struct ibv_sge){(uintptr_t)p->b.buf + BUF_SIZE - 32, 64, p->b.mr->lkey});
	expect_bad_receive(p);
}

static void receive_into_a_read_only_mr_is_a_remote_operation_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_mr *mr = ibv_reg_mr(pd, p->b.buf, 4096, 0);

	assert_non_null(mr);
	post_recv_with(&p->b, 11, (struct ibv_sge){(uintptr_t)p->b.buf, 64, mr->lkey});
	expect_bad_receive(p);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void a_bad_receive_does_nothing_until_a_message_comes(void **state)
{
	struct pair *p = connected_pair(NULL);

	post_recv_with(&p->b, 11, (struct ibv_sge){(uintptr_t)p->b.buf, 64, 0xdeadbeef});
	expect_no_wc(p->b.rcq, 20);
	assert_int_equal(state_of(&p->b), IBV_QPS_RTS);
}

static void write_with_imm_and_a_bad_rkey_takes_no_receive_with_success(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE_WITH_IMM, 64);

	r.wr.wr.rdma.rkey ^= 0x5a5a5a;
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	expect_wc(p->b.rcq, 11, IBV_WC_WR_FLUSH_ERR);
	expect_state(&p->b, IBV_QPS_ERR);
}

static void an_unsignaled_failure_still_completes_and_so_does_what_follows(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 64);

	r.wr.send_flags = 0;
	r.wr.wr.rdma.rkey ^= 0x5a5a5a;
	assert_int_equal(post(&p->a, &r), 0);
	r = request(&p->a, 2, IBV_WR_RDMA_WRITE, 64);
	r.wr.send_flags = 0;
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	expect_wc(p->a.scq, 2, IBV_WC_WR_FLUSH_ERR);
}

static void what_was_done_before_the_failure_completes_with_success(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 3, IBV_WR_RDMA_READ, 64);

	r.wr.wr.rdma.rkey ^= 0x5a5a5a;
	do_post(&p->a, 1, IBV_WR_RDMA_WRITE, 64);
	do_post(&p->a, 2, IBV_WR_RDMA_READ, 64);
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(p->a.scq, 2, IBV_WC_SUCCESS);
	expect_wc(p->a.scq, 3, IBV_WC_REM_ACCESS_ERR);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(send_longer_than_the_receive_is_an_invalid_request),
		TEST(long_send_longer_than_the_receive_is_an_invalid_request),
		TEST(write_with_a_bad_rkey_is_an_access_error),
		TEST(write_with_the_key_of_a_deregistered_mr_is_an_access_error),
		TEST(write_out_of_bounds_writes_nothing_at_all),
		TEST(write_that_wraps_the_address_space_is_an_access_error),
		TEST(write_into_an_mr_without_the_right_is_an_access_error),
		TEST(read_from_an_mr_without_the_right_is_an_access_error),
		TEST(atomic_on_an_mr_without_the_right_is_an_access_error),
		TEST(write_with_the_key_of_another_pd_is_an_access_error),
		TEST(read_with_a_bad_rkey_is_an_access_error),
		TEST(read_out_of_bounds_is_an_access_error),
		TEST(atomic_out_of_bounds_is_an_access_error),
		TEST(misaligned_atomic_is_an_invalid_request),
		TEST(write_to_a_qp_without_the_flag_is_an_invalid_request),
		TEST(read_from_a_qp_without_the_flag_is_an_invalid_request),
		TEST(atomic_on_a_qp_without_the_flag_is_an_invalid_request),
		TEST(more_reads_than_max_dest_rd_atomic_are_an_invalid_request),
		TEST(receive_with_a_bad_lkey_is_a_remote_operation_error),
		TEST(receive_out_of_bounds_is_a_remote_operation_error),
		TEST(receive_into_a_read_only_mr_is_a_remote_operation_error),
		TEST(a_bad_receive_does_nothing_until_a_message_comes),
		TEST(write_with_imm_and_a_bad_rkey_takes_no_receive_with_success),
		TEST(an_unsignaled_failure_still_completes_and_so_does_what_follows),
		TEST(what_was_done_before_the_failure_completes_with_success),
	};

	return RUN(tests);
}
