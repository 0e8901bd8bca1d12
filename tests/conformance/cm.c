/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm.h"

#include <arpa/inet.h>
#include <poll.h>

#define EVENT_MS 5000
#define RESOLVE_MS 2000

const char *ip(void)
{
	const char *set = getenv("CONFORMANCE_IP");

	return set ? set : "127.0.0.1";
}

struct sockaddr_in address(uint16_t port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = port};

	assert_int_equal(inet_pton(AF_INET, ip(), &sin.sin_addr), 1);
	return sin;
}

struct rdma_cm_event *next_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	assert_true(readable(channel->fd, EVENT_MS));
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_string_equal(rdma_event_str(event->event), rdma_event_str(type));
	return event;
}

void expect_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	assert_int_equal(rdma_ack_cm_event(next_event(channel, type)), 0);
}

void expect_no_event(struct rdma_event_channel *channel, int ms)
{
	assert_false(readable(channel->fd, ms));
}

void expect_padded(const void *seen, uint8_t seen_len, const char *data, uint8_t len)
{
	char expected[UINT8_MAX] = {0};

	memcpy(expected, data, strlen(data));
	assert_int_equal(seen_len, len);
	assert_memory_equal(seen, expected, len);
}

struct ends listening(enum rdma_port_space ps, int backlog)
{
	struct ends e = {.ps = ps};
	struct sockaddr_in sin = address(0);

	e.server = rdma_create_event_channel();
	e.client = rdma_create_event_channel();
	assert_non_null(e.server);
	assert_non_null(e.client);
	assert_int_equal(rdma_create_id(e.server, &e.listener, &e, ps), 0);
	assert_int_equal(rdma_bind_addr(e.listener, (struct sockaddr *)&sin), 0);
	assert_int_equal(rdma_listen(e.listener, backlog), 0);
	e.port = rdma_get_src_port(e.listener);
	assert_int_not_equal(e.port, 0);
	return e;
}

void resolved(struct ends *e)
{
	struct sockaddr_in sin = address(e->port);

	assert_int_equal(rdma_create_id(e->client, &e->active, NULL, e->ps), 0);
	assert_int_equal(rdma_resolve_addr(e->active, NULL, (struct sockaddr *)&sin, RESOLVE_MS),
	                 0);
	expect_event(e->client, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(e->active, RESOLVE_MS), 0);
	expect_event(e->client, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = id->qp_type,
		.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_all = 1,
	};

	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_non_null(id->qp);
}

enum ibv_qp_state qp_state_of(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(id->qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

struct rdma_conn_param plain_param(void)
{
	return (struct rdma_conn_param){
		.responder_resources = 3,
		.initiator_depth = 2,
		.flow_control = 1,
		.retry_count = 5,
		.rnr_retry_count = 6,
	};
}

void requested(struct ends *e, const struct rdma_conn_param *param)
{
	struct rdma_conn_param plain = plain_param();
	struct rdma_cm_event *event;

	assert_int_equal(
		rdma_connect(e->active, param ? (struct rdma_conn_param *)(uintptr_t)param : &plain),
		0);
	event = next_event(e->server, RDMA_CM_EVENT_CONNECT_REQUEST);
	e->passive = event->id;
	assert_int_equal(rdma_ack_cm_event(event), 0);
}

struct ends connected(const struct rdma_conn_param *param)
{
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct rdma_conn_param plain = plain_param();

	resolved(&e);
	make_qp(e.active);
	requested(&e, param);
	make_qp(e.passive);
	assert_int_equal(rdma_accept(e.passive, &plain), 0);
	expect_event(e.client, RDMA_CM_EVENT_ESTABLISHED);
	expect_event(e.server, RDMA_CM_EVENT_ESTABLISHED);
	return e;
}

static void destroy(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp)
		rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

void finish(struct ends *e)
{
	destroy(e->active);
	destroy(e->passive);
	destroy(e->listener);
	rdma_destroy_event_channel(e->client);
	rdma_destroy_event_channel(e->server);
}
