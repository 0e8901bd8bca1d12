/* SPDX-License-Identifier: BSD-2-Clause */
/* Extended completion queues: the iterator and its readers. */
#include "fixture.h"

#include <arpa/inet.h>

/* NULL with errno, as ibv_create_cq_ex. */
static struct ibv_cq_ex *extended_cq(uint64_t wc_flags)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 64, .wc_flags = wc_flags};

	return ibv_create_cq_ex(ctx, &attr);
}

/* A QP connected to itself whose completions all go to cq. */
static struct end self_connected(struct ibv_cq_ex *cq)
{
	struct options o = defaults();
	struct end e = {.scq = ibv_cq_ex_to_cq(cq), .rcq = ibv_cq_ex_to_cq(cq)};
	struct ibv_qp_init_attr attr = {
		.send_cq = e.scq, .recv_cq = e.rcq, .qp_type = IBV_QPT_RC, .cap = o.cap};

	e.qp = ibv_create_qp(pd, &attr);
	assert_non_null(e.qp);
	e.buf = calloc(1, BUF_SIZE);
	assert_non_null(e.buf);
	e.mr = ibv_reg_mr(pd, e.buf, BUF_SIZE, ALL_ACCESS);
	assert_non_null(e.mr);
	assert_int_equal(to_init(&e, &o), 0);
	assert_int_equal(to_rtr(&e, e.qp->qp_num, &o), 0);
	assert_int_equal(to_rts(&e, &o), 0);
	return e;
}

static void clean_up(struct end *e)
{
	assert_int_equal(ibv_destroy_qp(e->qp), 0);
	assert_int_equal(ibv_destroy_cq(e->scq), 0);
	assert_int_equal(ibv_dereg_mr(e->mr), 0);
	free(e->buf);
}

static int start(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = {0};
	uint64_t end = now_ms() + 5000;
	int err;

	do {
		err = ibv_start_poll(cq, &attr);
	} while (err == ENOENT && now_ms() < end);
	return err;
}

static void an_empty_cq_answers_enoent(void **state)
{
	struct ibv_cq_ex *cq = extended_cq(IBV_WC_STANDARD_FLAGS);
	struct ibv_poll_cq_attr attr = {0};

	assert_non_null(cq);
	assert_int_equal(ibv_start_poll(cq, &attr), ENOENT);
	assert_int_equal(ibv_start_poll(cq, &attr), ENOENT);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

static void the_iterator_walks_the_completions(void **state)
{
	struct ibv_cq_ex *cq = extended_cq(IBV_WC_STANDARD_FLAGS);
	struct end e = self_connected(cq);
	unsigned seen = 0;
	int err;

	e.peer = &e;
	for (int i = 0; i < 5; i++)
		do_post(&e, i, IBV_WR_RDMA_WRITE, 8);
	while (seen < 5) {
		assert_int_equal(start(cq), 0);
		do {
			assert_int_equal(cq->wr_id, seen++);
			assert_int_equal(cq->status, IBV_WC_SUCCESS);
			assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RDMA_WRITE);
			assert_int_equal(ibv_wc_read_qp_num(cq), e.qp->qp_num);
			err = ibv_next_poll(cq);
		} while (!err);
		assert_int_equal(err, ENOENT);
		ibv_end_poll(cq);
	}
	clean_up(&e);
}

static void readers_return_the_fields_of_a_receive(void **state)
{
	struct ibv_cq_ex *cq = extended_cq(IBV_WC_STANDARD_FLAGS);
	struct end e = self_connected(cq);
	struct request r;

	e.peer = &e;
	r = request(&e, 1, IBV_WR_SEND_WITH_IMM, 30);
	r.wr.imm_data = htonl(55);
	r.wr.send_flags = 0;
	assert_int_equal(post_recv(&e, 11, 64), 0);
	assert_int_equal(post(&e, &r), 0);
	assert_int_equal(start(cq), 0);
	assert_int_equal(cq->wr_id, 11);
	assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_byte_len(cq), 30);
	assert_int_equal(ntohl(ibv_wc_read_imm_data(cq)), 55);
	assert_true(ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM);
	ibv_end_poll(cq);
	clean_up(&e);
}

static void errors_show_in_status_and_vendor_err(void **state)
{
	struct ibv_cq_ex *cq = extended_cq(IBV_WC_STANDARD_FLAGS);
	struct end e = self_connected(cq);
	struct request r;

	e.peer = &e;
	r = request(&e, 1, IBV_WR_RDMA_WRITE, 8);
	r.sge.lkey ^= 0x5a5a5a;
	assert_int_equal(post(&e, &r), 0);
	assert_int_equal(start(cq), 0);
	assert_int_equal(cq->status, IBV_WC_LOC_PROT_ERR);
	if (!lacks("vendor_err"))
		assert_int_not_equal(ibv_wc_read_vendor_err(cq), 0);
	ibv_end_poll(cq);
	clean_up(&e);
}

static void plain_polling_of_an_extended_cq_works(void **state)
{
	struct ibv_cq_ex *cq = extended_cq(0);
	struct end e = self_connected(cq);

	e.peer = &e;
	do_post(&e, 1, IBV_WR_RDMA_WRITE, 8);
	expect_wc(e.scq, 1, IBV_WC_SUCCESS);
	clean_up(&e);
}

static void fields_the_device_lacks_are_refused_at_creation(void **state)
{
	errno = 0;
	assert_null(extended_cq(IBV_WC_EX_WITH_FLOW_TAG));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(extended_cq(IBV_WC_EX_WITH_CVLAN));
	assert_null(extended_cq(1ull << 40));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(an_empty_cq_answers_enoent),
		TEST(the_iterator_walks_the_completions),
		TEST(readers_return_the_fields_of_a_receive),
		TEST(errors_show_in_status_and_vendor_err),
		TEST(plain_polling_of_an_extended_cq_works),
		TEST(fields_the_device_lacks_are_refused_at_creation),
	};

	return RUN(tests);
}
