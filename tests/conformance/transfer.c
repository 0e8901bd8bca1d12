/* SPDX-License-Identifier: BSD-2-Clause */
/* What arrives where, and what the completions of success say. */
#include "fixture.h"

#include <arpa/inet.h>

static void fill(struct end *e, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		e->buf[i] = i * 7 + 1;
}

static void send_arrives_in_the_posted_receive(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_wc wc;

	fill(&p->a, 100);
	assert_int_equal(post_recv(&p->b, 11, 200), 0);
	do_post(&p->a, 1, IBV_WR_SEND, 100);
	wc = expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	assert_int_equal(wc.qp_num, p->a.qp->qp_num);
	wc = expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 100);
	assert_int_equal(wc.qp_num, p->b.qp->qp_num);
	assert_memory_equal(p->b.buf + RECV_OFFSET, p->a.buf, 100);
	assert_int_equal(p->b.buf[RECV_OFFSET + 100], 0);
}

static void rc_receive_has_no_grh(void **state)
{
	struct pair *p = connected_pair(NULL);

	assert_int_equal(post_recv(&p->b, 11, 200), 0);
	do_post(&p->a, 1, IBV_WR_SEND, 10);
	assert_int_equal(expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS).wc_flags, 0);
}

static void receive_of_exactly_the_length_is_enough(void **state)
{
	struct pair *p = connected_pair(NULL);

	assert_int_equal(post_recv(&p->b, 11, 5000), 0);
	do_post(&p->a, 1, IBV_WR_SEND, 5000);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS).byte_len, 5000);
}

static void send_with_imm_carries_the_value(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_SEND_WITH_IMM, 20);
	struct ibv_wc wc;

	r.wr.imm_data = htonl(0x01020304);
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	assert_int_equal(post(&p->a, &r), 0);
	wc = expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
	assert_true(wc.wc_flags & IBV_WC_WITH_IMM);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(ntohl(wc.imm_data), 0x01020304);
}

static void zero_length_send_consumes_a_receive(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_SEND, 0);

	r.wr.num_sge = 0;
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS).byte_len, 0);
}

static void zero_length_send_does_not_check_keys(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_SEND, 0);

	r.sge = (struct ibv_sge){.addr = 0x1000, .lkey = 0xdeadbeef};
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
}

static void write_places_data_and_tells_the_target_nothing(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_wc wc;

	fill(&p->a, 9000);
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	do_post(&p->a, 1, IBV_WR_RDMA_WRITE, 9000);
	wc = expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_WRITE);
	assert_memory_equal(p->b.buf, p->a.buf, 9000);
	expect_no_wc(p->b.rcq, 10);
}

static void write_with_imm_takes_a_receive_and_leaves_its_buffer(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE_WITH_IMM, 300);
	struct ibv_wc wc;

	fill(&p->a, 300);
	r.wr.imm_data = htonl(77);
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	assert_int_equal(post(&p->a, &r), 0);
	wc = expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.byte_len, 300);
	assert_int_equal(ntohl(wc.imm_data), 77);
	assert_memory_equal(p->b.buf, p->a.buf, 300);
	assert_int_equal(p->b.buf[RECV_OFFSET], 0);
}

static void zero_length_write_does_not_check_the_key(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 0);

	r.wr.num_sge = 0;
	r.wr.wr.rdma.remote_addr = 0x1000;
	r.wr.wr.rdma.rkey = 0xdeadbeef;
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(state_of(&p->b), IBV_QPS_RTS);
}

static void read_fetches_data(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_wc wc;

	fill(&p->b, 9000);
	do_post(&p->a, 1, IBV_WR_RDMA_READ, 9000);
	wc = expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_READ);
	assert_int_equal(wc.byte_len, 9000);
	assert_memory_equal(p->a.buf, p->b.buf, 9000);
}

static void zero_length_read_does_not_check_the_key(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_READ, 0);

	r.wr.num_sge = 0;
	r.wr.wr.rdma.rkey = 0xdeadbeef;
	assert_int_equal(post(&p->a, &r), 0);
	assert_int_equal(expect_wc(p->a.scq, 1, IBV_WC_SUCCESS).byte_len, 0);
}

static void compare_and_swap_swaps_on_a_match_only(void **state)
{
	struct pair *p = connected_pair(NULL);
	volatile uint64_t *target = (uint64_t *)p->b.buf, *result = (uint64_t *)p->a.buf;
	struct request r = request(&p->a, 1, IBV_WR_ATOMIC_CMP_AND_SWP, 8);
	struct ibv_wc wc;

	*target = 5;
	r.wr.wr.atomic.compare_add = 5;
	r.wr.wr.atomic.swap = 0x1122334455667788;
	assert_int_equal(post(&p->a, &r), 0);
	wc = expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_COMP_SWAP);
	assert_int_equal(wc.byte_len, 8);
	assert_int_equal(*result, 5);
	assert_true(*target == 0x1122334455667788);
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_true(*result == 0x1122334455667788);
	assert_true(*target == 0x1122334455667788);
}

static void fetch_and_add_returns_the_old_value(void **state)
{
	struct pair *p = connected_pair(NULL);
	volatile uint64_t *target = (uint64_t *)p->b.buf, *result = (uint64_t *)p->a.buf;
	struct request r = request(&p->a, 1, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
	struct ibv_wc wc;

	*target = UINT64_MAX;
	r.wr.wr.atomic.compare_add = 3;
	assert_int_equal(post(&p->a, &r), 0);
	wc = expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_FETCH_ADD);
	assert_true(*result == UINT64_MAX);
	assert_int_equal(*target, 2);
}

static void receive_is_scattered_over_its_sges(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_sge sge[2] = {
		{(uintptr_t)p->b.buf + RECV_OFFSET, 10, p->b.mr->lkey},
		{(uintptr_t)p->b.buf + RECV_OFFSET + 100, 10, p->b.mr->lkey},
	};
	struct ibv_recv_wr wr = {.wr_id = 11, .sg_list = sge, .num_sge = 2}, *bad;

	fill(&p->a, 15);
	assert_int_equal(ibv_post_recv(p->b.qp, &wr, &bad), 0);
	do_post(&p->a, 1, IBV_WR_SEND, 15);
	expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
	assert_memory_equal(p->b.buf + RECV_OFFSET, p->a.buf, 10);
	assert_memory_equal(p->b.buf + RECV_OFFSET + 100, p->a.buf + 10, 5);
	assert_int_equal(p->b.buf[RECV_OFFSET + 105], 0);
}

static void send_gathers_its_sges(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_sge sge[2] = {
		{(uintptr_t)p->a.buf, 10, p->a.mr->lkey},
		{(uintptr_t)p->a.buf + 4096, 2000, p->a.mr->lkey},
	};
	struct ibv_send_wr wr = {.wr_id = 1,
	                         .sg_list = sge,
	                         .num_sge = 2,
	                         .opcode = IBV_WR_SEND,
	                         .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	fill(&p->a, 6096);
	assert_int_equal(post_recv(&p->b, 11, 4096), 0);
	assert_int_equal(ibv_post_send(p->a.qp, &wr, &bad), 0);
	expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
	assert_memory_equal(p->b.buf + RECV_OFFSET, p->a.buf, 10);
	assert_memory_equal(p->b.buf + RECV_OFFSET + 10, p->a.buf + 4096, 2000);
}

static void inline_data_needs_no_key_and_may_change_at_once(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_SEND, 6);
	char word[] = "hello";

	r.sge.addr = (uintptr_t)word;
	r.sge.lkey = 0;
	r.wr.send_flags |= IBV_SEND_INLINE;
	assert_int_equal(post(&p->a, &r), 0);
	memset(word, 0, sizeof(word));
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
	assert_string_equal(p->b.buf + RECV_OFFSET, "hello");
}

static void unsignaled_success_makes_no_completion(void **state)
{
	struct pair *p = connected_pair(NULL);

	for (int i = 1; i <= 3; i++) {
		struct request r = request(&p->a, i, IBV_WR_RDMA_WRITE, 8);

		r.wr.send_flags = 0;
		assert_int_equal(post(&p->a, &r), 0);
	}
	do_post(&p->a, 4, IBV_WR_RDMA_WRITE, 8);
	expect_wc(p->a.scq, 4, IBV_WC_SUCCESS);
	expect_no_wc(p->a.scq, 10);
}

static void sq_sig_all_signals_every_request(void **state)
{
	struct options o = defaults();
	struct pair *p;
	struct request r;

	o.sq_sig_all = true;
	p = connected_pair(&o);
	r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 8);
	r.wr.send_flags = 0;
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
}

static void completions_come_in_posting_order(void **state)
{
	struct pair *p = connected_pair(NULL);
	enum ibv_wr_opcode ops[] = {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_SEND,
	                            IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_RDMA_WRITE};

	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	for (int i = 0; i < 5; i++)
		do_post(&p->a, i, ops[i], i == 0 ? 30000 : 8);
	for (int i = 0; i < 5; i++)
		expect_wc(p->a.scq, i, IBV_WC_SUCCESS);
}

static void more_reads_than_max_rd_atomic_all_complete(void **state)
{
	struct options o = defaults();
	struct pair *p;

	o.max_rd_atomic = 1;
	p = connected_pair(&o);
	for (int i = 0; i < 10; i++)
		do_post(&p->a, i, IBV_WR_RDMA_READ, 3000);
	for (int i = 0; i < 10; i++)
		expect_wc(p->a.scq, i, IBV_WC_SUCCESS);
}

static void fenced_send_follows_the_read(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r;

	fill(&p->b, 30000);
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	do_post(&p->a, 1, IBV_WR_RDMA_READ, 30000);
	r = request(&p->a, 2, IBV_WR_SEND, 16);
	r.wr.send_flags |= IBV_SEND_FENCE;
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
	/* Sent from where the READ had already put the data. */
	assert_memory_equal(p->b.buf + RECV_OFFSET, p->b.buf, 16);
}

static void qp_connected_to_itself_talks_to_itself(void **state)
{
	struct pair *p = unconnected_pair(NULL);

	assert_int_equal(to_init(&p->a, &p->opts), 0);
	assert_int_equal(to_rtr(&p->a, p->a.qp->qp_num, &p->opts), 0);
	assert_int_equal(to_rts(&p->a, &p->opts), 0);
	p->a.buf[0] = 42;
	assert_int_equal(post_recv(&p->a, 11, 64), 0);
	do_post(&p->a, 1, IBV_WR_SEND, 1);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(p->a.rcq, 11, IBV_WC_SUCCESS);
	assert_int_equal(p->a.buf[RECV_OFFSET], 42);
}

static void receiver_in_rtr_receives_and_replies_after_rts(void **state)
{
	struct pair *p = unconnected_pair(NULL);

	assert_int_equal(to_init(&p->a, &p->opts), 0);
	assert_int_equal(to_init(&p->b, &p->opts), 0);
	assert_int_equal(to_rtr(&p->b, p->a.qp->qp_num, &p->opts), 0);
	assert_int_equal(to_rtr(&p->a, p->b.qp->qp_num, &p->opts), 0);
	assert_int_equal(to_rts(&p->a, &p->opts), 0);
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	do_post(&p->a, 1, IBV_WR_SEND, 8);
	expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
	assert_int_equal(to_rts(&p->b, &p->opts), 0);
	assert_int_equal(post_recv(&p->a, 12, 64), 0);
	do_post(&p->b, 2, IBV_WR_SEND, 8);
	expect_wc(p->a.rcq, 12, IBV_WC_SUCCESS);
}

static void poll_takes_no_more_than_asked(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_wc wc[4];
	int got = 0;

	for (int i = 0; i < 3; i++)
		do_post(&p->a, i, IBV_WR_RDMA_WRITE, 8);
	expect_wc(p->a.scq, 0, IBV_WC_SUCCESS);
	for (uint64_t end = now_ms() + 1000; got < 1 && now_ms() < end;)
		got = ibv_poll_cq(p->a.scq, 1, wc);
	assert_int_equal(got, 1);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(ibv_poll_cq(p->a.scq, 0, wc), 0);
	expect_wc(p->a.scq, 2, IBV_WC_SUCCESS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(send_arrives_in_the_posted_receive),
		TEST(rc_receive_has_no_grh),
		TEST(receive_of_exactly_the_length_is_enough),
		TEST(send_with_imm_carries_the_value),
		TEST(zero_length_send_consumes_a_receive),
		TEST(zero_length_send_does_not_check_keys),
		TEST(write_places_data_and_tells_the_target_nothing),
		TEST(write_with_imm_takes_a_receive_and_leaves_its_buffer),
		TEST(zero_length_write_does_not_check_the_key),
		TEST(read_fetches_data),
		TEST(zero_length_read_does_not_check_the_key),
		TEST(compare_and_swap_swaps_on_a_match_only),
		TEST(fetch_and_add_returns_the_old_value),
		TEST(receive_is_scattered_over_its_sges),
		TEST(send_gathers_its_sges),
		TEST(inline_data_needs_no_key_and_may_change_at_once),
		TEST(unsignaled_success_makes_no_completion),
		TEST(sq_sig_all_signals_every_request),
		TEST(completions_come_in_posting_order),
		TEST(more_reads_than_max_rd_atomic_all_complete),
		TEST(fenced_send_follows_the_read),
		TEST(qp_connected_to_itself_talks_to_itself),
		TEST(receiver_in_rtr_receives_and_replies_after_rts),
		TEST(poll_takes_no_more_than_asked),
	};

	return RUN(tests);
}
