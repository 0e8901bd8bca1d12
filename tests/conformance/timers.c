/* SPDX-License-Identifier: BSD-2-Clause */
/* What happens when the peer has no receive, or is not there: RNR and retries. */
#include "fixture.h"

#define VENDOR_RETRY 0x81
#define VENDOR_RNR 0x87
/* Local ACK timeout 10: 4.096 us * 2^10 = 4.2 ms. */
#define SHORT_TIMEOUT 10
/* RNR timer 16: 2.56 ms; 20: 10.24 ms (IBTA table 45). */
#define RNR_2_56_MS 16
#define RNR_10_24_MS 20

static struct options impatient(void)
{
	struct options o = defaults();

	o.timeout = SHORT_TIMEOUT;
	o.retry_cnt = 2;
	return o;
}

static void no_receive_with_rnr_retry_0_fails_at_once_and_spares_the_responder(void **state)
{
	struct options o = defaults();
	struct pair *p;
	struct ibv_wc wc;

	o.rnr_retry = 0;
	p = connected_pair(&o);
	do_post(&p->a, 1, IBV_WR_SEND, 64);
	do_post(&p->a, 2, IBV_WR_SEND, 64);
	wc = expect_wc(p->a.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	if (!lacks("vendor_err"))
		assert_int_equal(wc.vendor_err, VENDOR_RNR);
	expect_wc(p->a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_state(&p->a, IBV_QPS_ERR);
	assert_int_equal(state_of(&p->b), IBV_QPS_RTS);
}

static void rnr_retries_wait_for_the_responders_timer(void **state)
{
	struct options o = defaults();
	struct pair *p;
	uint64_t begin;

	o.rnr_retry = 3;
	o.min_rnr_timer = RNR_10_24_MS;
	p = connected_pair(&o);
	begin = now_ms();
	do_post(&p->a, 1, IBV_WR_SEND, 64);
	expect_wc(p->a.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_true(now_ms() - begin >= 30);
}

static void rnr_retry_7_waits_for_ever_and_goes_on_when_a_receive_comes(void **state)
{
	struct options o = defaults();
	struct pair *p;

	o.rnr_retry = 7;
	o.min_rnr_timer = RNR_2_56_MS;
	p = connected_pair(&o);
	do_post(&p->a, 1, IBV_WR_SEND, 64);
	expect_no_wc(p->a.scq, 60);
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(p->b.rcq, 11, IBV_WC_SUCCESS);
}

static void rnr_timer_0_is_655_ms(void **state)
{
	struct options o = defaults();
	struct pair *p;
	uint64_t begin;

	o.min_rnr_timer = 0;
	p = connected_pair(&o);
	begin = now_ms();
	do_post(&p->a, 1, IBV_WR_SEND, 64);
	expect_no_wc(p->a.scq, 20);
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_true(now_ms() - begin >= 640);
}

static void write_with_imm_needs_a_receive_too(void **state)
{
	struct options o = defaults();
	struct pair *p;

	o.rnr_retry = 0;
	p = connected_pair(&o);
	p->a.buf[0] = 3;
	do_post(&p->a, 1, IBV_WR_RDMA_WRITE_WITH_IMM, 64);
	expect_wc(p->a.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(p->b.buf[0], 0);
	assert_int_equal(state_of(&p->b), IBV_QPS_RTS);
}

/* Posts to a peer that does not answer and waits for the verdict. */
static void expect_retries_used_up(struct end *e)
{
	uint64_t begin = now_ms();
	struct ibv_wc wc;

	do_post(e, 1, IBV_WR_RDMA_WRITE, 64);
	do_post(e, 2, IBV_WR_RDMA_WRITE, 64);
	wc = expect_wc(e->scq, 1, IBV_WC_RETRY_EXC_ERR);
	if (!lacks("vendor_err"))
		assert_int_equal(wc.vendor_err, VENDOR_RETRY);
	expect_wc(e->scq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_state(e, IBV_QPS_ERR);
	/* (retry_cnt + 1) times 4.2 ms; hardware may take up to four times that. */
	assert_true(now_ms() - begin >= 10);
}

static void unknown_qp_number_uses_up_the_retries(void **state)
{
	struct options o = impatient();
	struct pair *p = unconnected_pair(&o);

	assert_int_equal(to_init(&p->a, &o), 0);
	assert_int_equal(to_rtr(&p->a, p->b.qp->qp_num ^ 0x800, &o), 0);
	assert_int_equal(to_rts(&p->a, &o), 0);
	expect_retries_used_up(&p->a);
}

static void peer_in_init_uses_up_the_retries(void **state)
{
	struct options o = impatient();
	struct pair *p = unconnected_pair(&o);

	assert_int_equal(to_init(&p->a, &o), 0);
	assert_int_equal(to_init(&p->b, &o), 0);
	assert_int_equal(to_rtr(&p->a, p->b.qp->qp_num, &o), 0);
	assert_int_equal(to_rts(&p->a, &o), 0);
	expect_retries_used_up(&p->a);
}

static void peer_in_reset_uses_up_the_retries(void **state)
{
	struct options o = impatient();
	struct pair *p = connected_pair(&o);

	assert_int_equal(to_state(&p->b, IBV_QPS_RESET), 0);
	expect_retries_used_up(&p->a);
}

static void peer_in_err_uses_up_the_retries(void **state)
{
	struct options o = impatient();
	struct pair *p = connected_pair(&o);

	assert_int_equal(to_state(&p->b, IBV_QPS_ERR), 0);
	expect_retries_used_up(&p->a);
}

static void destroyed_peer_uses_up_the_retries(void **state)
{
	struct options o = impatient();
	struct pair *p = connected_pair(&o);

	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	expect_retries_used_up(&p->a);
}

static void peer_connected_to_somebody_else_uses_up_the_retries(void **state)
{
	struct options o = impatient();
	struct pair *p = connected_pair(&o), *q = unconnected_pair(&o);

	assert_int_equal(to_init(&q->a, &o), 0);
	assert_int_equal(to_rtr(&q->a, p->b.qp->qp_num ^ 0x800, &o), 0);
	assert_int_equal(to_rts(&q->a, &o), 0);
	expect_retries_used_up(&q->a);
	do_post(&p->a, 5, IBV_WR_RDMA_WRITE, 64);
	expect_wc(p->a.scq, 5, IBV_WC_SUCCESS);
}

static void late_peer_is_found_by_a_retry(void **state)
{
	struct options o = defaults();
	struct pair *p;

	o.timeout = 14; /* 67 ms, of which there are eight */
	p = unconnected_pair(&o);
	assert_int_equal(to_init(&p->a, &o), 0);
	assert_int_equal(to_init(&p->b, &o), 0);
	assert_int_equal(to_rtr(&p->a, p->b.qp->qp_num, &o), 0);
	assert_int_equal(to_rts(&p->a, &o), 0);
	do_post(&p->a, 1, IBV_WR_RDMA_WRITE, 64);
	expect_no_wc(p->a.scq, 5);
	assert_int_equal(to_rtr(&p->b, p->a.qp->qp_num, &o), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
}

static void timeout_0_never_gives_up(void **state)
{
	struct options o = impatient();
	struct pair *p;

	o.timeout = 0;
	p = connected_pair(&o);
	assert_int_equal(to_state(&p->b, IBV_QPS_ERR), 0);
	do_post(&p->a, 1, IBV_WR_RDMA_WRITE, 64);
	expect_no_wc(p->a.scq, 100);
	assert_int_equal(state_of(&p->a), IBV_QPS_RTS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(no_receive_with_rnr_retry_0_fails_at_once_and_spares_the_responder),
		TEST(rnr_retries_wait_for_the_responders_timer),
		TEST(rnr_retry_7_waits_for_ever_and_goes_on_when_a_receive_comes),
		TEST(rnr_timer_0_is_655_ms),
		TEST(write_with_imm_needs_a_receive_too),
		TEST(unknown_qp_number_uses_up_the_retries),
		TEST(peer_in_init_uses_up_the_retries),
		TEST(peer_in_reset_uses_up_the_retries),
		TEST(peer_in_err_uses_up_the_retries),
		TEST(destroyed_peer_uses_up_the_retries),
		TEST(peer_connected_to_somebody_else_uses_up_the_retries),
		TEST(late_peer_is_found_by_a_retry),
		TEST(timeout_0_never_gives_up),
	};

	return RUN(tests);
}
