/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion channels: when an event comes, and how the descriptor behaves. */
#include "fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

static struct pair *pair_with_channel(void)
{
	struct options o = defaults();
	struct pair *p;

	o.events = true;
	p = connected_pair(&o);
	for (int i = 0; i < 8; i++)
		assert_int_equal(post_recv(&p->b, i, 64), 0);
	return p;
}

static void arm(struct end *e, bool solicited)
{
	assert_int_equal(ibv_req_notify_cq(e->rcq, solicited), 0);
}

static void send(struct pair *p, unsigned flags)
{
	struct request r = request(&p->a, 1, IBV_WR_SEND, 8);

	r.wr.send_flags |= flags;
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
}

/* Fetches and acknowledges one event. */
static void expect_event(struct end *e)
{
	struct ibv_cq *cq;
	void *context;

	assert_true(readable(e->channel->fd, 5000));
	assert_int_equal(ibv_get_cq_event(e->channel, &cq, &context), 0);
	assert_ptr_equal(cq, e->rcq);
	assert_ptr_equal(context, e);
	ibv_ack_cq_events(cq, 1);
}

static void expect_no_event(struct end *e)
{
	assert_false(readable(e->channel->fd, 20));
}

static void no_event_without_arming(void **state)
{
	struct pair *p = pair_with_channel();

	send(p, 0);
	expect_no_event(&p->b);
}

static void one_event_for_one_arming(void **state)
{
	struct pair *p = pair_with_channel();

	arm(&p->b, false);
	send(p, 0);
	send(p, 0);
	expect_event(&p->b);
	expect_no_event(&p->b);
	expect_wc(p->b.rcq, 0, IBV_WC_SUCCESS);
	expect_wc(p->b.rcq, 1, IBV_WC_SUCCESS);
}

static void no_event_for_what_is_already_there(void **state)
{
	struct pair *p = pair_with_channel();

	send(p, 0);
	arm(&p->b, false);
	expect_no_event(&p->b);
}

static void solicited_arming_ignores_plain_sends(void **state)
{
	struct pair *p = pair_with_channel();

	arm(&p->b, true);
	send(p, 0);
	expect_no_event(&p->b);
	send(p, IBV_SEND_SOLICITED);
	expect_event(&p->b);
}

static void solicited_write_with_imm_fires_a_solicited_arming(void **state)
{
	struct pair *p = pair_with_channel();
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE_WITH_IMM, 8);

	arm(&p->b, true);
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	expect_no_event(&p->b);
	r.wr.send_flags |= IBV_SEND_SOLICITED;
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	expect_event(&p->b);
}

static void an_error_fires_a_solicited_arming(void **state)
{
	struct pair *p = pair_with_channel();

	arm(&p->b, true);
	assert_int_equal(to_state(&p->b, IBV_QPS_ERR), 0);
	expect_event(&p->b);
}

static void any_arming_beats_solicited_whichever_came_first(void **state)
{
	struct pair *p = pair_with_channel();

	arm(&p->b, true);
	arm(&p->b, false);
	send(p, 0);
	expect_event(&p->b);
	arm(&p->b, false);
	arm(&p->b, true);
	send(p, 0);
	expect_event(&p->b);
}

static void arming_again_gives_another_event_before_the_first_is_fetched(void **state)
{
	struct pair *p = pair_with_channel();

	arm(&p->b, false);
	send(p, 0);
	arm(&p->b, false);
	send(p, 0);
	expect_event(&p->b);
	expect_event(&p->b);
	expect_no_event(&p->b);
}

static void events_may_be_acknowledged_together(void **state)
{
	struct pair *p = pair_with_channel();
	struct ibv_cq *cq;
	void *context;

	for (int i = 0; i < 3; i++) {
		arm(&p->b, false);
		send(p, 0);
		assert_int_equal(ibv_get_cq_event(p->b.channel, &cq, &context), 0);
	}
	ibv_ack_cq_events(cq, 3);
}

static void nonblocking_channel_answers_eagain(void **state)
{
	struct pair *p = pair_with_channel();
	struct ibv_cq *cq;
	void *context;
	int flags = fcntl(p->b.channel->fd, F_GETFL);

	assert_int_equal(fcntl(p->b.channel->fd, F_SETFL, flags | O_NONBLOCK), 0);
	errno = 0;
	assert_int_equal(ibv_get_cq_event(p->b.channel, &cq, &context), -1);
	assert_int_equal(errno, EAGAIN);
	arm(&p->b, false);
	send(p, 0);
	expect_event(&p->b);
}

static void edge_triggered_epoll_sees_every_event(void **state)
{
	struct pair *p = pair_with_channel();
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET}, out;
	int ep = epoll_create1(EPOLL_CLOEXEC);

	assert_true(ep >= 0);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, p->b.channel->fd, &ev), 0);
	for (int i = 0; i < 2; i++) {
		arm(&p->b, false);
		send(p, 0);
		assert_int_equal(epoll_wait(ep, &out, 1, 2000), 1);
		assert_int_equal(epoll_wait(ep, &out, 1, 5), 0);
	}
	expect_event(&p->b);
	expect_event(&p->b);
	close(ep);
}

static void *send_later(void *arg)
{
	struct pair *p = arg;
	struct request r = request(&p->a, 1, IBV_WR_SEND, 8);

	usleep(30000);
	post(&p->a, &r);
	return NULL;
}

static void get_cq_event_blocks_until_there_is_one(void **state)
{
	struct pair *p = pair_with_channel();
	pthread_t thread;
	struct ibv_cq *cq;
	void *context;

	arm(&p->b, false);
	assert_int_equal(pthread_create(&thread, NULL, send_later, p), 0);
	assert_int_equal(ibv_get_cq_event(p->b.channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	pthread_join(thread, NULL);
	expect_wc(p->b.rcq, 0, IBV_WC_SUCCESS);
}

static void nothing(int sig)
{
}

static void a_signal_ends_get_cq_event(void **state)
{
	struct pair *p = pair_with_channel();
	struct sigaction on = {.sa_handler = nothing}, old;
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(sigaction(SIGALRM, &on, &old), 0);
	ualarm(30000, 30000);
	errno = 0;
	assert_int_equal(ibv_get_cq_event(p->b.channel, &cq, &context), -1);
	assert_int_equal(errno, EINTR);
	ualarm(0, 0);
	sigaction(SIGALRM, &old, NULL);
}

struct destroyer {
	struct ibv_cq *cq;
	volatile bool done;
};

static void *destroy_cq(void *arg)
{
	struct destroyer *d = arg;

	ibv_destroy_cq(d->cq);
	d->done = true;
	return NULL;
}

static void destroy_cq_waits_for_unacknowledged_events(void **state)
{
	struct pair *p = pair_with_channel();
	struct destroyer d = {.cq = p->b.rcq};
	pthread_t thread;
	struct ibv_cq *cq;
	void *context;

	arm(&p->b, false);
	send(p, 0);
	assert_int_equal(ibv_get_cq_event(p->b.channel, &cq, &context), 0);
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	p->b.rcq = NULL;
	assert_int_equal(pthread_create(&thread, NULL, destroy_cq, &d), 0);
	usleep(30000);
	assert_false(d.done);
	ibv_ack_cq_events(cq, 1);
	pthread_join(thread, NULL);
	assert_true(d.done);
}

static void destroy_cq_takes_its_unfetched_events_along(void **state)
{
	struct pair *p = pair_with_channel();

	arm(&p->b, false);
	send(p, 0);
	assert_true(readable(p->b.channel->fd, 5000));
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	assert_int_equal(ibv_destroy_cq(p->b.rcq), 0);
	p->b.rcq = NULL;
	expect_no_event(&p->b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(no_event_without_arming),
		TEST(one_event_for_one_arming),
		TEST(no_event_for_what_is_already_there),
		TEST(solicited_arming_ignores_plain_sends),
		TEST(solicited_write_with_imm_fires_a_solicited_arming),
		TEST(an_error_fires_a_solicited_arming),
		TEST(any_arming_beats_solicited_whichever_came_first),
		TEST(arming_again_gives_another_event_before_the_first_is_fetched),
		TEST(events_may_be_acknowledged_together),
		TEST(nonblocking_channel_answers_eagain),
		TEST(edge_triggered_epoll_sees_every_event),
		TEST(get_cq_event_blocks_until_there_is_one),
		TEST(a_signal_ends_get_cq_event),
		TEST(destroy_cq_waits_for_unacknowledged_events),
		TEST(destroy_cq_takes_its_unfetched_events_along),
	};

	return RUN(tests);
}
