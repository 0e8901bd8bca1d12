/* SPDX-License-Identifier: BSD-2-Clause */
/* Unreliable connections: operations, and what is dropped without a word. */
#include "fixture.h"

#define FAR 16384u

static struct options uc_options(void)
{
	struct options o = defaults();

	o.type = IBV_QPT_UC;
	return o;
}

static struct pair *uc_pair(void)
{
	struct options o = uc_options();

	return connected_pair(&o);
}

/* The initiator hears of success whatever became of the message. */
static void send_and_succeed(struct pair *p, uint64_t id, enum ibv_wr_opcode op, uint32_t len)
{
	struct request r = request(&p->a, id, op, len);

	r.wr.imm_data = 0x11223344;
	r.wr.wr.rdma.remote_addr += FAR;
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, id, IBV_WC_SUCCESS);
}

static void expect_dropped(struct pair *p)
{
	expect_no_wc(p->b.rcq, 20);
	assert_int_equal(state_of(&p->a), IBV_QPS_RTS);
	assert_int_equal(state_of(&p->b), IBV_QPS_RTS);
}

static void every_operation_arrives(void **state)
{
	static const uint32_t lengths[] = {0, 1, 1024, 5000, 16000};
	struct pair *p = uc_pair();

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct ibv_wc wc;

		memset(p->a.buf, 'a' + (int)i, lengths[i]);
		assert_int_equal(post_recv(&p->b, 1, 16384), 0);
		send_and_succeed(p, 1, IBV_WR_SEND, lengths[i]);
		wc = expect_wc(p->b.rcq, 1, IBV_WC_SUCCESS);
		assert_int_equal(wc.byte_len, lengths[i]);
		assert_memory_equal(p->b.buf + RECV_OFFSET, p->a.buf, lengths[i]);

		assert_int_equal(post_recv(&p->b, 2, 16384), 0);
		send_and_succeed(p, 2, IBV_WR_SEND_WITH_IMM, lengths[i]);
		wc = expect_wc(p->b.rcq, 2, IBV_WC_SUCCESS);
		assert_int_equal(wc.imm_data, 0x11223344);

		assert_int_equal(post_recv(&p->b, 3, 0), 0);
		send_and_succeed(p, 3, IBV_WR_RDMA_WRITE, lengths[i]);
		send_and_succeed(p, 4, IBV_WR_RDMA_WRITE_WITH_IMM, lengths[i]);
		wc = expect_wc(p->b.rcq, 3, IBV_WC_SUCCESS);
		assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
		assert_int_equal(wc.byte_len, lengths[i]);
		assert_memory_equal(p->b.buf + FAR, p->a.buf, lengths[i]);
	}
}

static void reads_and_atomics_are_refused(void **state)
{
	static const enum ibv_wr_opcode refused[] = {
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD};
	struct pair *p = uc_pair();

	for (unsigned i = 0; i < 3; i++) {
		struct request r = request(&p->a, i, refused[i], 8);

		assert_int_equal(post(&p->a, &r), EINVAL);
	}
}

static void message_without_a_receive_is_dropped(void **state)
{
	struct pair *p = uc_pair();

	send_and_succeed(p, 1, IBV_WR_SEND, 100);
	expect_dropped(p);
	assert_int_equal(post_recv(&p->b, 5, 1024), 0);
	expect_no_wc(p->b.rcq, 10);
	send_and_succeed(p, 2, IBV_WR_SEND, 77);
	assert_int_equal(expect_wc(p->b.rcq, 5, IBV_WC_SUCCESS).byte_len, 77);
}

static void message_longer_than_the_receive_is_dropped(void **state)
{
	struct pair *p = uc_pair();

	assert_int_equal(post_recv(&p->b, 5, 100), 0);
	send_and_succeed(p, 1, IBV_WR_SEND, 101);
	expect_dropped(p);
	send_and_succeed(p, 2, IBV_WR_SEND, 77);
	assert_int_equal(expect_wc(p->b.rcq, 5, IBV_WC_SUCCESS).byte_len, 77);
}

static void write_with_a_bad_rkey_is_dropped(void **state)
{
	struct pair *p = uc_pair();
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 100);

	memset(p->a.buf, 1, 100);
	r.wr.wr.rdma.rkey ^= 0x5a5a5a;
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	expect_dropped(p);
	assert_int_equal(p->b.buf[0], 0);
	expect_no_async(0);
}

static void write_to_a_qp_without_the_right_is_dropped(void **state)
{
	struct options o = uc_options();
	struct pair *p;

	o.access = 0;
	p = connected_pair(&o);
	memset(p->a.buf, 1, 100);
	do_post(&p->a, 1, IBV_WR_RDMA_WRITE, 100);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	expect_dropped(p);
	assert_int_equal(p->b.buf[0], 0);
}

static void local_error_leads_to_sqe_and_back(void **state)
{
	struct pair *p = uc_pair();
	struct request r = request(&p->a, 1, IBV_WR_SEND, 100);

	r.sge.lkey ^= 0x5a5a5a;
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_LOC_PROT_ERR);
	expect_state(&p->a, IBV_QPS_SQE);
	do_post(&p->a, 2, IBV_WR_SEND, 100);
	expect_wc(p->a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(to_state(&p->a, IBV_QPS_RTS), 0);
	assert_int_equal(post_recv(&p->b, 5, 1024), 0);
	send_and_succeed(p, 3, IBV_WR_SEND, 77);
	expect_wc(p->b.rcq, 5, IBV_WC_SUCCESS);
}

static void attributes_of_rc_are_refused(void **state)
{
	struct options o = uc_options();
	struct pair *p = unconnected_pair(&o);
	struct ibv_qp_attr attr = rtr_attr(p->b.qp->qp_num, &o);

	assert_int_equal(to_init(&p->a, &o), 0);
	assert_int_equal(ibv_modify_qp(p->a.qp, &attr, RTR_MASK), EINVAL);
	assert_int_equal(ibv_modify_qp(p->a.qp, &attr, RTR_UC_MASK), 0);
	attr = rts_attr(&o);
	assert_int_equal(ibv_modify_qp(p->a.qp, &attr, RTS_MASK), EINVAL);
	assert_int_equal(ibv_modify_qp(p->a.qp, &attr, RTS_UC_MASK), 0);
}

static void peer_that_is_gone_is_not_noticed(void **state)
{
	struct pair *p = uc_pair();

	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	do_post(&p->a, 1, IBV_WR_SEND, 100);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(state_of(&p->a), IBV_QPS_RTS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_operation_arrives),
		TEST(reads_and_atomics_are_refused),
		TEST(message_without_a_receive_is_dropped),
		TEST(message_longer_than_the_receive_is_dropped),
		TEST(write_with_a_bad_rkey_is_dropped),
		TEST(write_to_a_qp_without_the_right_is_dropped),
		TEST(local_error_leads_to_sqe_and_back),
		TEST(attributes_of_rc_are_refused),
		TEST(peer_that_is_gone_is_not_noticed),
	};

	return RUN(tests);
}
