/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events and their descriptor; completion queues that overflow. */
#include "fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

/* Makes p->b raise QP_ACCESS_ERR. */
static void provoke(struct pair *p)
{
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 8);

	r.wr.wr.rdma.rkey ^= 0x5a5a5a;
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_REM_ACCESS_ERR);
}

static void nonblocking_async_fd_answers_eagain(void **state)
{
	struct ibv_async_event event;
	int flags = fcntl(ctx->async_fd, F_GETFL);

	assert_int_equal(fcntl(ctx->async_fd, F_SETFL, flags | O_NONBLOCK), 0);
	errno = 0;
	assert_int_equal(ibv_get_async_event(ctx, &event), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(fcntl(ctx->async_fd, F_SETFL, flags), 0);
}

struct destroyer {
	struct ibv_qp *qp;
	volatile bool done;
};

static void *destroy_qp(void *arg)
{
	struct destroyer *d = arg;

	ibv_destroy_qp(d->qp);
	d->done = true;
	return NULL;
}

static void destroy_qp_waits_for_unacknowledged_events(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct destroyer d = {.qp = p->b.qp};
	struct ibv_async_event event;
	pthread_t thread;

	provoke(p);
	assert_int_equal(ibv_get_async_event(ctx, &event), 0);
	assert_ptr_equal(event.element.qp, p->b.qp);
	p->b.qp = NULL;
	assert_int_equal(pthread_create(&thread, NULL, destroy_qp, &d), 0);
	usleep(30000);
	assert_false(d.done);
	ibv_ack_async_event(&event);
	pthread_join(thread, NULL);
	assert_true(d.done);
}

static void destroy_qp_takes_its_unfetched_events_along(void **state)
{
	struct pair *p = connected_pair(NULL);

	provoke(p);
	assert_true(readable(ctx->async_fd, 5000));
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	expect_no_async(10);
}

static void cq_overflow_is_reported_once_and_stops_its_qps(void **state)
{
	struct options o = defaults();
	struct ibv_async_event event;
	unsigned cq_errors = 0, fatals = 0;
	struct pair *p;

	o.cqe = 4;
	o.cap.max_send_wr = 64;
	p = connected_pair(&o);
	for (int i = 0; i < p->a.scq->cqe + 4; i++) {
		struct request r = request(&p->a, i, IBV_WR_RDMA_WRITE, 8);

		if (post(&p->a, &r))
			break;
	}
	expect_state(&p->a, IBV_QPS_ERR);
	while (readable(ctx->async_fd, 20)) {
		assert_int_equal(ibv_get_async_event(ctx, &event), 0);
		ibv_ack_async_event(&event);
		cq_errors += event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == p->a.scq;
		fatals += event.event_type == IBV_EVENT_QP_FATAL && event.element.qp == p->a.qp;
	}
	assert_int_equal(cq_errors, 1);
	assert_int_equal(fatals, 1);
	for (int i = 0; i < o.cqe; i++)
		expect_wc(p->a.scq, i, IBV_WC_SUCCESS);
	expect_no_wc(p->a.scq, 10);
}

static void a_cq_takes_as_many_as_it_was_made_for(void **state)
{
	struct options o = defaults();
	struct pair *p;

	o.cqe = 8;
	p = connected_pair(&o);
	for (int i = 0; i < 8; i++)
		do_post(&p->a, i, IBV_WR_RDMA_WRITE, 8);
	expect_no_async(30);
	for (int i = 0; i < 8; i++)
		expect_wc(p->a.scq, i, IBV_WC_SUCCESS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(nonblocking_async_fd_answers_eagain),
		TEST(destroy_qp_waits_for_unacknowledged_events),
		TEST(destroy_qp_takes_its_unfetched_events_along),
		TEST(cq_overflow_is_reported_once_and_stops_its_qps),
		TEST(a_cq_takes_as_many_as_it_was_made_for),
	};

	return RUN(tests);
}
