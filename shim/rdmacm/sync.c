/* SPDX-License-Identifier: BSD-2-Clause */
/* Synchronous ids, and rdma_get_request on one. */
#include "sync.h"

#include <abi/rdmacm.h>
#include <verbs/errno.h>

#include <stdlib.h>

void cs_drop_event(struct cs_id *id)
{
	if (id->id.event)
		cs_ack_cm_event(id->id.event);
	id->id.event = NULL;
}

int cs_complete(struct cs_id *id)
{
	const struct rdma_cm_event *event;

	if (!id->sync)
		return 0;
	cs_drop_event(id);
	if (cs_get_cm_event(id->id.channel, &id->id.event))
		return -1;
	event = id->id.event;
	if (!event->status)
		return 0;
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return vs_minus_one(-ECONNREFUSED);
	return vs_minus_one(event->status < 0 ? event->status : -event->status);
}

static int make_qp(struct cs_id *listener, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr;

	if (!listener->request_qp)
		return 0;
	attr = *listener->request_qp;
	return cs_create_qp(id, listener->request_pd, &attr);
}

int cs_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **out)
{
	struct cs_id *listener = cs_id(listen);
	struct rdma_cm_event *event;

	if (!listener->sync)
		return vs_minus_one(-EINVAL);
	cs_drop_event(listener);
	if (cs_get_cm_event(listen->channel, &event))
		return -1;
	if (event->status) {
		errno = abs(event->status);
		goto err;
	}
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		errno = EINVAL;
		goto err;
	}
	if (make_qp(listener, event->id))
		goto err;
	*out = event->id;
	(*out)->event = event;
	return 0;

err:
	listen->event = event;
	return -1;
}
