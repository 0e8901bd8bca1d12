/* SPDX-License-Identifier: BSD-2-Clause */
/* Several contexts, several threads, fork. */
#include "fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_context_can_be_opened_twice_and_closed(void **state)
{
	struct ibv_context *other = ibv_open_device(ctx->device);

	assert_non_null(other);
	assert_ptr_not_equal(other, ctx);
	assert_ptr_equal(other->device, ctx->device);
	assert_int_not_equal(other->async_fd, ctx->async_fd);
	assert_int_equal(ibv_close_device(other), 0);
}

static void two_contexts_of_one_device_talk_to_each_other(void **state)
{
	struct ibv_context *first = ctx;
	struct ibv_pd *first_pd = pd;
	struct pair *p = unconnected_pair(NULL), *q;

	ctx = ibv_open_device(first->device);
	assert_non_null(ctx);
	pd = ibv_alloc_pd(ctx);
	assert_non_null(pd);
	q = unconnected_pair(NULL);
	assert_int_equal(to_init(&p->a, &p->opts), 0);
	assert_int_equal(to_init(&q->a, &q->opts), 0);
	assert_int_equal(to_rtr(&p->a, q->a.qp->qp_num, &p->opts), 0);
	assert_int_equal(to_rtr(&q->a, p->a.qp->qp_num, &q->opts), 0);
	assert_int_equal(to_rts(&p->a, &p->opts), 0);
	p->a.peer = &q->a;
	p->a.buf[0] = 99;
	do_post(&p->a, 1, IBV_WR_RDMA_WRITE, 8);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(q->a.buf[0], 99);
	/* The fixture frees the pairs; this context is left open for them. */
	ctx = first;
	pd = first_pd;
}

static void objects_of_two_contexts_do_not_mix(void **state)
{
	struct ibv_context *other = ibv_open_device(ctx->device);
	struct ibv_cq *cq;
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC, .cap = {4, 4, 1, 1, 0}};

	assert_non_null(other);
	cq = ibv_create_cq(other, 16, NULL, NULL, 0);
	assert_non_null(cq);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	assert_null(ibv_create_qp(pd, &attr));
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_close_device(other), 0);
}

static void closing_a_context_takes_its_objects_along(void **state)
{
	struct ibv_context *other = ibv_open_device(ctx->device);
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC, .cap = {4, 4, 1, 1, 0}};
	struct options o = defaults();
	struct end left = {0};
	struct ibv_pd *other_pd;
	struct pair *p;

	o.timeout = 10;
	o.retry_cnt = 2;
	p = unconnected_pair(&o);
	assert_non_null(other);
	other_pd = ibv_alloc_pd(other);
	attr.send_cq = ibv_create_cq(other, 16, NULL, ibv_create_comp_channel(other), 0);
	attr.recv_cq = attr.send_cq;
	left.qp = ibv_create_qp(other_pd, &attr);
	assert_non_null(left.qp);
	assert_non_null(ibv_reg_mr(other_pd, p->b.buf, 64, 0));
	assert_int_equal(to_init(&left, &o), 0);
	assert_int_equal(to_init(&p->a, &o), 0);
	assert_int_equal(to_rtr(&p->a, left.qp->qp_num, &o), 0);
	assert_int_equal(to_rtr(&left, p->a.qp->qp_num, &o), 0);
	assert_int_equal(to_rts(&p->a, &o), 0);
	assert_int_equal(ibv_close_device(other), 0);
	assert_int_not_equal(ibv_close_device(other), 0);
	/* The QP that was left behind does not answer any more. */
	do_post(&p->a, 1, IBV_WR_RDMA_WRITE, 8);
	expect_wc(p->a.scq, 1, IBV_WC_RETRY_EXC_ERR);
}

#define ROUNDS 200

static void *write_many(void *arg)
{
	struct end *e = arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct request r = request(e, i, IBV_WR_RDMA_WRITE, 3000);
		struct ibv_send_wr *bad;
		struct ibv_wc wc;
		int n;

		r.wr.sg_list = &r.sge;
		if (ibv_post_send(e->qp, &r.wr, &bad))
			return e;
		while (!(n = ibv_poll_cq(e->scq, 1, &wc)))
			;
		if (n != 1 || wc.status || wc.wr_id != (uint64_t)i)
			return e;
	}
	return NULL;
}

static void threads_use_their_own_qps_side_by_side(void **state)
{
	struct pair *p[2] = {connected_pair(NULL), connected_pair(NULL)};
	pthread_t threads[4];
	void *result;

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_many,
		                                i % 2 ? &p[i / 2]->a : &p[i / 2]->b),
		                 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_null(result);
	}
}

/* In the child every verb on what it inherited fails or does nothing. */
static int use_inherited(struct pair *p)
{
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 8);
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	r.wr.sg_list = &r.sge;
	if (!ibv_post_send(p->a.qp, &r.wr, &bad) || ibv_poll_cq(p->a.scq, 1, &wc) > 0)
		return 1;
	if (ibv_alloc_pd(ctx) || ibv_create_cq(ctx, 16, NULL, NULL, 0))
		return 2;
	if (ibv_destroy_qp(p->a.qp) || ibv_destroy_cq(p->a.scq) || ibv_dereg_mr(p->a.mr))
		return 3;
	return 0;
}

/* ... and a device it opens itself works. */
static int use_own(struct pair *p)
{
	struct ibv_context *own = ibv_open_device(ctx->device);
	struct ibv_pd *own_pd = own ? ibv_alloc_pd(own) : NULL;

	if (!own_pd || ibv_dealloc_pd(own_pd))
		return 4;
	return ibv_close_device(own);
}

static int run_in_child(int (*work)(struct pair *p), struct pair *p)
{
	pid_t child = fork();
	int status;

	if (!child) {
		alarm(10);
		_exit(work(p));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static int close_inherited(struct pair *p)
{
	return ibv_close_device(ctx);
}

static void *wait_for_async_event(void *arg)
{
	struct ibv_async_event event;

	ibv_get_async_event(arg, &event);
	return NULL;
}

static pthread_t start_waiting(struct ibv_context *context)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, wait_for_async_event, context), 0);
	usleep(100000);
	return thread;
}

static void stop_waiting(pthread_t thread)
{
	assert_int_equal(pthread_cancel(thread), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* The thread that waits there is the parent's, and so is the descriptor. */
static void child_closes_what_a_thread_of_its_parent_waits_on(void **state)
{
	pthread_t waiting = start_waiting(ctx);

	assert_int_equal(run_in_child(close_inherited, NULL), 0);
	assert_false(readable(ctx->async_fd, 0));
	stop_waiting(waiting);
}

static void device_is_closed_under_a_thread_that_waits_for_its_events(void **state)
{
	struct ibv_device *device = ctx->device;
	pthread_t waiting;

	/* The last one, so that everything below it goes too. */
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	waiting = start_waiting(ctx);
	assert_int_equal(ibv_close_device(ctx), 0);
	stop_waiting(waiting);
	ctx = ibv_open_device(device);
	assert_non_null(ctx);
	pd = ibv_alloc_pd(ctx);
	assert_non_null(pd);
}

static void parent_works_on_after_fork(void **state)
{
	struct pair *p = connected_pair(NULL);

	assert_int_equal(run_in_child(use_inherited, p), 0);
	p->a.buf[0] = 42;
	do_post(&p->a, 1, IBV_WR_RDMA_WRITE, 8);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(p->b.buf[0], 42);
}

static void child_opens_a_device_of_its_own(void **state)
{
	struct pair *p = connected_pair(NULL);

	assert_int_equal(run_in_child(use_own, p), 0);
	do_post(&p->a, 1, IBV_WR_RDMA_WRITE, 8);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
}

static struct late {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
} late; /* set in the child of the test only */

/* What a library's destructor does when the device is gone already. */
static void destroy_late(void)
{
	struct ibv_cq *cq;
	void *context;

	if (!late.cq)
		return;
	if (ibv_destroy_cq(late.cq))
		_exit(2);
	if (ibv_get_cq_event(late.channel, &cq, &context) != -1)
		_exit(3);
	/* The rest of the device goes with the process: nothing for a leak checker to look at. */
	_exit(0);
}

static void leave_with_an_event(void)
{
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC, .cap = {4, 4, 1, 1, 0}};
	struct ibv_context *own = ibv_open_device(ctx->device);
	struct ibv_pd *own_pd = own ? ibv_alloc_pd(own) : NULL;
	struct ibv_comp_channel *channel = own ? ibv_create_comp_channel(own) : NULL;
	struct ibv_cq *cq = channel ? ibv_create_cq(own, 16, NULL, channel, 0) : NULL;
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad;
	struct ibv_qp *qp;

	attr.send_cq = attr.recv_cq = cq;
	qp = cq ? ibv_create_qp(own_pd, &attr) : NULL;
	if (!qp || ibv_req_notify_cq(cq, 0) || ibv_modify_qp(qp, &err, IBV_QP_STATE) ||
	    ibv_post_recv(qp, &wr, &bad) || !readable(channel->fd, 5000) || ibv_destroy_qp(qp) ||
	    fcntl(channel->fd, F_SETFL, O_NONBLOCK))
		_exit(1);
	late = (struct late){channel, cq};
	exit(0);
}

static void a_cq_destroyed_at_exit_leaves_no_event_behind(void **state)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		leave_with_an_event();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(device_is_closed_under_a_thread_that_waits_for_its_events),
		TEST(a_cq_destroyed_at_exit_leaves_no_event_behind),
		TEST(a_context_can_be_opened_twice_and_closed),
		TEST(two_contexts_of_one_device_talk_to_each_other),
		TEST(objects_of_two_contexts_do_not_mix),
		TEST(closing_a_context_takes_its_objects_along),
		TEST(threads_use_their_own_qps_side_by_side),
		TEST(child_closes_what_a_thread_of_its_parent_waits_on),
		TEST(parent_works_on_after_fork),
		TEST(child_opens_a_device_of_its_own),
	};

	/* Before a device is opened, so that it runs after what that registers. */
	atexit(destroy_late);
	return RUN(tests);
}
