/* SPDX-License-Identifier: BSD-2-Clause */
/* The ibv_wr_* posting interface: the same work, built call by call. */
#include "fixture.h"

#include <arpa/inet.h>

static struct pair *extended_pair(void)
{
	struct options o = defaults();

	o.extended = true;
	return connected_pair(&o);
}

static struct ibv_qp_ex *begin(struct end *e, uint64_t id)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(e->qp);

	assert_non_null(qp);
	ibv_wr_start(qp);
	qp->wr_id = id;
	qp->wr_flags = IBV_SEND_SIGNALED;
	return qp;
}

static void set_sge(struct ibv_qp_ex *qp, struct end *e, uint32_t len)
{
	ibv_wr_set_sge(qp, e->mr->lkey, (uintptr_t)e->buf, len);
}

static void send_and_write_arrive(void **state)
{
	struct pair *p = extended_pair();
	struct ibv_qp_ex *qp = begin(&p->a, 1);
	struct ibv_wc wc;

	memset(p->a.buf, 5, 200);
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	ibv_wr_send_imm(qp, htonl(9));
	set_sge(qp, &p->a, 20);
	qp->wr_id = 2;
	ibv_wr_rdma_write(qp, p->b.mr->rkey, (uintptr_t)p->b.buf);
	set_sge(qp, &p->a, 200);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(p->a.scq, 2, IBV_WC_SUCCESS);
	wc = expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
	assert_int_equal(ntohl(wc.imm_data), 9);
	assert_int_equal(wc.byte_len, 20);
	assert_memory_equal(p->b.buf, p->a.buf, 200);
}

static void reads_and_atomics_bring_their_data(void **state)
{
	struct pair *p = extended_pair();
	struct ibv_qp_ex *qp = begin(&p->a, 1);
	uint64_t *target = (uint64_t *)p->b.buf;

	*target = 40;
	ibv_wr_atomic_fetch_add(qp, p->b.mr->rkey, (uintptr_t)target, 2);
	ibv_wr_set_sge(qp, p->a.mr->lkey, (uintptr_t)p->a.buf, 8);
	qp->wr_id = 2;
	ibv_wr_atomic_cmp_swp(qp, p->b.mr->rkey, (uintptr_t)target, 42, 7);
	ibv_wr_set_sge(qp, p->a.mr->lkey, (uintptr_t)p->a.buf + 8, 8);
	qp->wr_id = 3;
	ibv_wr_rdma_read(qp, p->b.mr->rkey, (uintptr_t)target);
	ibv_wr_set_sge(qp, p->a.mr->lkey, (uintptr_t)p->a.buf + 16, 8);
	assert_int_equal(ibv_wr_complete(qp), 0);
	for (int i = 1; i <= 3; i++)
		expect_wc(p->a.scq, i, IBV_WC_SUCCESS);
	assert_int_equal(((uint64_t *)p->a.buf)[0], 40);
	assert_int_equal(((uint64_t *)p->a.buf)[1], 42);
	assert_int_equal(((uint64_t *)p->a.buf)[2], 7);
}

static void write_with_imm_takes_a_receive(void **state)
{
	struct pair *p = extended_pair();
	struct ibv_qp_ex *qp = begin(&p->a, 1);
	struct ibv_wc wc;

	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	ibv_wr_rdma_write_imm(qp, p->b.mr->rkey, (uintptr_t)p->b.buf, htonl(3));
	set_sge(qp, &p->a, 10);
	assert_int_equal(ibv_wr_complete(qp), 0);
	wc = expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(ntohl(wc.imm_data), 3);
}

static void inline_data_is_copied_when_it_is_set(void **state)
{
	struct pair *p = extended_pair();
	struct ibv_qp_ex *qp = begin(&p->a, 1);
	char word[] = "hello";

	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	ibv_wr_send(qp);
	ibv_wr_set_inline_data(qp, word, 6);
	memset(word, 0, sizeof(word));
	assert_int_equal(ibv_wr_complete(qp), 0);
	assert_int_equal(expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS).byte_len, 6);
	assert_string_equal(p->b.buf + RECV_OFFSET, "hello");
}

static void lists_of_sges_and_of_inline_data_are_gathered(void **state)
{
	struct pair *p = extended_pair();
	struct ibv_qp_ex *qp = begin(&p->a, 1);
	struct ibv_sge sge[2] = {{(uintptr_t)p->a.buf, 3, p->a.mr->lkey},
	                         {(uintptr_t)p->a.buf + 100, 2, p->a.mr->lkey}};
	struct ibv_data_buf data[3] = {{"ab", 2}, {NULL, 0}, {"c", 2}};

	memcpy(p->a.buf, "xyz", 3);
	memcpy(p->a.buf + 100, "!", 2);
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	assert_int_equal(post_recv(&p->b, 12, 64), 0);
	ibv_wr_send(qp);
	ibv_wr_set_sge_list(qp, 2, sge);
	qp->wr_id = 2;
	ibv_wr_rdma_write(qp, p->b.mr->rkey, (uintptr_t)p->b.buf);
	ibv_wr_set_inline_data_list(qp, 3, data);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(p->a.scq, 2, IBV_WC_SUCCESS);
	assert_string_equal(p->b.buf + RECV_OFFSET, "xyz!");
	assert_string_equal(p->b.buf, "abc");
}

static void an_aborted_batch_leaves_nothing(void **state)
{
	struct pair *p = extended_pair();
	struct ibv_qp_ex *qp = begin(&p->a, 1);

	ibv_wr_rdma_write(qp, p->b.mr->rkey, (uintptr_t)p->b.buf);
	set_sge(qp, &p->a, 8);
	ibv_wr_abort(qp);
	expect_no_wc(p->a.scq, 10);
	qp = begin(&p->a, 2);
	ibv_wr_rdma_write(qp, p->b.mr->rkey, (uintptr_t)p->b.buf);
	set_sge(qp, &p->a, 8);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_wc(p->a.scq, 2, IBV_WC_SUCCESS);
}

static void a_batch_with_a_bad_request_is_refused_whole(void **state)
{
	struct pair *p = extended_pair();
	struct ibv_qp_ex *qp = begin(&p->a, 1);
	char big[65] = {0};

	ibv_wr_rdma_write(qp, p->b.mr->rkey, (uintptr_t)p->b.buf);
	set_sge(qp, &p->a, 8);
	ibv_wr_rdma_write(qp, p->b.mr->rkey, (uintptr_t)p->b.buf);
	ibv_wr_set_inline_data(qp, big, sizeof(big));
	assert_int_equal(ibv_wr_complete(qp), EINVAL);
	expect_no_wc(p->a.scq, 10);
}

static void early_sge(struct ibv_qp_ex *qp, struct end *e)
{
	set_sge(qp, e, 8);
}

static void early_inline_data(struct ibv_qp_ex *qp, struct end *e)
{
	ibv_wr_set_inline_data(qp, e->buf, 8);
}

static void early_ud_addr(struct ibv_qp_ex *qp, struct end *e)
{
	ibv_wr_set_ud_addr(qp, NULL, 1, 2);
}

/* Nothing says what such a batch means; it must not be written before its first request. */
static void a_setter_before_any_request_fails_the_batch(void **state)
{
	static void (*const early[])(struct ibv_qp_ex *, struct end *) = {
		early_sge, early_inline_data, early_ud_addr};
	struct pair *p = extended_pair();
	struct ibv_qp_ex *qp;

	for (size_t i = 0; i < sizeof(early) / sizeof(early[0]); i++) {
		qp = begin(&p->a, 1);
		early[i](qp, &p->a);
		ibv_wr_rdma_write(qp, p->b.mr->rkey, (uintptr_t)p->b.buf);
		set_sge(qp, &p->a, 8);
		assert_int_equal(ibv_wr_complete(qp), EINVAL);
		expect_no_wc(p->a.scq, 10);
	}
	qp = begin(&p->a, 2);
	ibv_wr_rdma_write(qp, p->b.mr->rkey, (uintptr_t)p->b.buf);
	set_sge(qp, &p->a, 8);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_wc(p->a.scq, 2, IBV_WC_SUCCESS);
}

static void a_batch_that_does_not_fit_is_refused_whole(void **state)
{
	struct pair *p = extended_pair();
	struct ibv_qp_ex *qp;

	for (int i = 0; i < 10; i++)
		do_post(&p->a, i, IBV_WR_RDMA_WRITE, 8);
	expect_wc(p->a.scq, 0, IBV_WC_SUCCESS);
	qp = begin(&p->a, 99);
	for (int i = 0; i < 8; i++) {
		ibv_wr_rdma_write(qp, p->b.mr->rkey, (uintptr_t)p->b.buf);
		set_sge(qp, &p->a, 8);
	}
	assert_int_equal(ibv_wr_complete(qp), ENOMEM);
	for (int i = 1; i < 10; i++)
		expect_wc(p->a.scq, i, IBV_WC_SUCCESS);
	do_post(&p->a, 10, IBV_WR_RDMA_WRITE, 8);
	expect_wc(p->a.scq, 10, IBV_WC_SUCCESS);
}

static void a_plain_qp_has_no_extended_one(void **state)
{
	struct pair *p = connected_pair(NULL);

	assert_null(ibv_qp_to_qp_ex(p->a.qp));
}

static void operations_the_type_lacks_are_refused_at_creation(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = {4, 4, 1, 1, 0},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_TSO,
	};

	errno = 0;
	assert_null(ibv_create_qp_ex(ctx, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(send_and_write_arrive),
		TEST(reads_and_atomics_bring_their_data),
		TEST(write_with_imm_takes_a_receive),
		TEST(inline_data_is_copied_when_it_is_set),
		TEST(lists_of_sges_and_of_inline_data_are_gathered),
		TEST(an_aborted_batch_leaves_nothing),
		TEST(a_batch_with_a_bad_request_is_refused_whole),
		TEST(a_setter_before_any_request_fails_the_batch),
		TEST(a_batch_that_does_not_fit_is_refused_whole),
		TEST(a_plain_qp_has_no_extended_one),
		TEST(operations_the_type_lacks_are_refused_at_creation),
	};

	return RUN(tests);
}
