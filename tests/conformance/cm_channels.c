/* SPDX-License-Identifier: BSD-2-Clause */
/* Event channels of rdma_cm: descriptors, acknowledgement, migration, backlog. */
#include "cm.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <unistd.h>

static void an_empty_channel_that_does_not_block_says_eagain(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;

	assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	assert_fails(rdma_get_cm_event(channel, &event), EAGAIN);
	rdma_destroy_event_channel(channel);
}

static void the_descriptor_is_readable_as_long_as_there_are_events(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct sockaddr_in sin = address(e.port);
	struct epoll_event ev = {.events = EPOLLIN};
	int epoll = epoll_create1(0);

	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, e.client->fd, &ev), 0);
	assert_int_equal(epoll_wait(epoll, &ev, 1, 0), 0);
	assert_int_equal(rdma_create_id(e.client, &e.active, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(e.active, NULL, (struct sockaddr *)&sin, 1000), 0);
	assert_int_equal(epoll_wait(epoll, &ev, 1, 5000), 1);
	expect_event(e.client, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(epoll_wait(epoll, &ev, 1, 0), 0);
	close(epoll);
	finish(&e);
}

struct destroyer {
	pthread_t thread;
	struct rdma_cm_id *id;
	atomic_bool done;
};

static void *destroy_id(void *arg)
{
	struct destroyer *d = arg;

	rdma_destroy_id(d->id);
	atomic_store(&d->done, true);
	return NULL;
}

static void destroying_a_listener_waits_for_the_ack_of_its_requests(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct rdma_conn_param param = plain_param();
	struct destroyer d = {.id = e.listener};
	struct rdma_cm_event *event;

	resolved(&e);
	make_qp(e.active);
	assert_int_equal(rdma_connect(e.active, &param), 0);
	event = next_event(e.server, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	assert_int_equal(pthread_create(&d.thread, NULL, destroy_id, &d), 0);
	usleep(100000);
	assert_false(atomic_load(&d.done));
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_int_equal(pthread_join(d.thread, NULL), 0);
	e.listener = NULL;
	finish(&e);
}

static void destroying_an_id_drops_its_unread_events(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct sockaddr_in sin = address(e.port);

	assert_int_equal(rdma_create_id(e.client, &e.active, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(e.active, NULL, (struct sockaddr *)&sin, 1000), 0);
	assert_true(readable(e.client->fd, 5000));
	assert_int_equal(rdma_destroy_id(e.active), 0);
	e.active = NULL;
	expect_no_event(e.client, 0);
	finish(&e);
}

static void migration_takes_pending_events_along(void **state)
{
	struct ends e = connected(NULL);
	struct rdma_event_channel *other = rdma_create_event_channel();

	assert_int_equal(rdma_disconnect(e.passive), 0);
	assert_true(readable(e.client->fd, 5000));
	assert_int_equal(rdma_migrate_id(e.active, other), 0);
	assert_ptr_equal(e.active->channel, other);
	expect_no_event(e.client, 0);
	expect_event(other, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(rdma_destroy_id((rdma_destroy_qp(e.active), e.active)), 0);
	e.active = NULL;
	rdma_destroy_event_channel(other);
	finish(&e);
}

static void a_migrated_id_blocks_without_a_channel(void **state)
{
	struct ends e = connected(NULL);

	assert_int_equal(rdma_migrate_id(e.active, NULL), 0);
	assert_ptr_not_equal(e.active->channel, e.client);
	assert_fails(rdma_migrate_id(e.active, NULL), EINVAL);
	assert_int_equal(rdma_disconnect(e.passive), 0);
	assert_int_equal(rdma_disconnect(e.active), 0);
	assert_non_null(e.active->event);
	assert_int_equal(e.active->event->event, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(rdma_migrate_id(e.active, e.client), 0);
	assert_null(e.active->event);
	finish(&e);
}

static void requests_beyond_the_backlog_are_dropped(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 1);
	struct rdma_conn_param param = plain_param();
	struct rdma_cm_event *event;
	struct rdma_cm_id *first;

	resolved(&e);
	first = e.active;
	make_qp(first);
	assert_int_equal(rdma_connect(first, &param), 0);
	assert_true(readable(e.server->fd, 5000));
	resolved(&e);
	make_qp(e.active);
	assert_int_equal(rdma_connect(e.active, &param), 0);
	expect_no_event(e.client, 200);
	event = next_event(e.server, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	assert_int_equal(event->param.conn.qp_num, first->qp->qp_num);
	rdma_ack_cm_event(event);
	expect_no_event(e.server, 200);
	rdma_destroy_qp(first);
	assert_int_equal(rdma_destroy_id(first), 0);
	finish(&e);
}

static void *wait_for_event(void *arg)
{
	struct rdma_cm_event *event;
	struct ends *e = arg;

	return rdma_get_cm_event(e->server, &event) ? NULL : event;
}

static void a_blocked_reader_gets_the_event(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct rdma_conn_param param = plain_param();
	struct rdma_cm_event *event;
	pthread_t thread;
	void *got;

	resolved(&e);
	make_qp(e.active);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_event, &e), 0);
	usleep(20000);
	assert_int_equal(rdma_connect(e.active, &param), 0);
	assert_int_equal(pthread_join(thread, &got), 0);
	assert_non_null(got);
	event = got;
	assert_int_equal(event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	rdma_ack_cm_event(event);
	finish(&e);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(an_empty_channel_that_does_not_block_says_eagain),
		TEST(the_descriptor_is_readable_as_long_as_there_are_events),
		TEST(destroying_a_listener_waits_for_the_ack_of_its_requests),
		TEST(destroying_an_id_drops_its_unread_events),
		TEST(migration_takes_pending_events_along),
		TEST(a_migrated_id_blocks_without_a_channel),
		TEST(requests_beyond_the_backlog_are_dropped),
		TEST(a_blocked_reader_gets_the_event),
	};

	return RUN(tests);
}
