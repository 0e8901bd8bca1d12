/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm_side.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#define PATIENCE_MS 30000
#define RESOLVE_MS 2000

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = port,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

int cm_next(struct rdma_event_channel *channel, int ms, struct rdma_cm_id **id)
{
	struct pollfd p = {.fd = channel->fd, .events = POLLIN};
	struct rdma_cm_event *event;
	int type;

	if (poll(&p, 1, ms) != 1)
		return -1;
	if (rdma_get_cm_event(channel, &event))
		rc_fail("rdma_get_cm_event: %s", strerror(errno));
	type = event->event;
	if (id)
		*id = event->id;
	rdma_ack_cm_event(event);
	return type;
}

struct rdma_cm_id *cm_expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_id *id = NULL;
	int got;

	do
		got = cm_next(channel, PATIENCE_MS, &id);
	while (got == RDMA_CM_EVENT_TIMEWAIT_EXIT);
	if (got != (int)type)
		rc_fail("%s instead of %s",
		        got < 0 ? "no event" : rdma_event_str((enum rdma_cm_event_type)got),
		        rdma_event_str(type));
	return id;
}

struct rdma_cm_id *cm_listen(struct rdma_event_channel *channel, uint16_t *port)
{
	struct sockaddr_in addr = loopback(0);
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, (struct sockaddr *)&addr) || rdma_listen(id, 0))
		rc_fail("listening: %s", strerror(errno));
	*port = rdma_get_src_port(id);
	return id;
}

void cm_make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};

	if (rdma_create_qp(id, NULL, &attr))
		rc_fail("rdma_create_qp: %s", strerror(errno));
}

struct rdma_cm_id *cm_resolve(struct rdma_event_channel *channel, uint16_t port)
{
	struct sockaddr_in addr = loopback(port);
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, RESOLVE_MS))
		rc_fail("rdma_resolve_addr: %s", strerror(errno));
	cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(id, RESOLVE_MS))
		rc_fail("rdma_resolve_route: %s", strerror(errno));
	cm_expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	cm_make_qp(id);
	return id;
}

void cm_connect(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = {.retry_count = 7, .rnr_retry_count = 7};

	if (rdma_connect(id, &param))
		rc_fail("rdma_connect: %s", strerror(errno));
}

void cm_accept(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = {.rnr_retry_count = 7};

	cm_make_qp(id);
	if (rdma_accept(id, &param))
		rc_fail("rdma_accept: %s", strerror(errno));
}

void cm_destroy(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	if (rdma_destroy_id(id))
		rc_fail("rdma_destroy_id: %s", strerror(errno));
}
