/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdma_get_cm_event, rdma_ack_cm_event, rdma_event_str. Fetching an event is
 * where an id and its QP follow what has happened, as in librdmacm: until a
 * client reads that it is connected its QP is not.
 */
#include "id.h"

#include "connect.h"
#include "incoming.h"
#include "mcast.h"
#include "qp.h"
#include "route.h"

#include <abi/rdmacm.h>
#include <verbs/errno.h>

#include <stdlib.h>

/* ---- fetching --------------------------------------------------------------- */

/* Out of the id's list; false: the id goes away, there is no such event any more. */
static bool unlist(struct cs_notice *n)
{
	struct cs_id *id = n->id;
	struct cs_notice **link;
	bool dead;

	pthread_mutex_lock(&id->lock);
	for (link = &id->notices; *link != n;)
		link = &(*link)->next;
	*link = n->next;
	if (!n->next)
		id->last_notice = link;
	n->next = NULL;
	dead = n->dead;
	if (!dead) {
		id->fetched++;
		if (n->group)
			cs_group_fetched(n->group);
	} else {
		pthread_cond_broadcast(&id->changed);
	}
	pthread_mutex_unlock(&id->lock);
	return !dead;
}

/* The id of a request: the listener's child, on the same channel. NULL: no memory. */
static struct cs_id *make_child(const struct cs_notice *n)
{
	struct cs_id *parent = n->id, *id;

	if (cs_id_new(parent->sync ? NULL : parent->id.channel, parent->id.context, parent->id.ps,
		      parent->id.qp_type, &id))
		return NULL;
	id->dev = parent->dev;
	id->cm = n->cm;
	id->state = CS_CONNECTING;
	id->remote = n->params;
	id->traffic_class = n->params.traffic_class;
	cs_connect_prepare(id);
	cs_route_from_request(id, &n->src, &n->dst);
	return id;
}

/* From now on the core's events are the child's, those included that came before it. */
static void adopt(struct cs_notice *n, struct cs_id *child)
{
	emu_cm_taken(n->cm);
	emu_cm_set_user(n->cm, child);
	while (n->followers) {
		struct cs_notice *f = n->followers;

		n->followers = f->next;
		f->id = child;
		f->event.id = &child->id;
		cs_notice_post(f);
	}
}

/* Take a fetched notice from its id. False: it is gone. */
static bool take(struct cs_notice *n)
{
	struct cs_id *child = NULL;
	struct nic *nic;
	bool ok;

	if (n->event.listen_id)
		child = make_child(n);
	nic = n->id->dev->nic;
	nic_lock(nic);
	cs_incoming_forget(n);
	ok = unlist(n);
	if (ok && child)
		adopt(n, child);
	else if (ok && n->event.listen_id)
		emu_cm_destroy(n->cm); /* no memory for it: refused */
	nic_unlock(nic);
	if (ok && child)
		n->event.id = &child->id;
	else if (child)
		cs_id_free(child);
	if (!ok)
		cs_notice_free(n);
	return ok;
}

/* ---- what follows from it: false, the program need not know -------------------- */

static bool deliver(struct cs_notice *n)
{
	return true;
}

static bool deliver_request(struct cs_notice *n)
{
	return n->event.id; /* else it has been refused */
}

/* The client's QP goes to RTS, then the server is told. */
static int complete_connection(struct cs_id *id)
{
	int err = cs_qp_to_rts(id);

	if (err)
		return err;
	nic_lock(id->dev->nic);
	err = id->cm && nic_alive(id->dev->nic) ? emu_cm_establish(id->cm) : -EINVAL;
	nic_unlock(id->dev->nic);
	return err;
}

static bool deliver_response(struct cs_notice *n)
{
	struct cs_id *id = n->id;
	int err;

	id->remote = n->params;
	id->responder_resources = n->params.responder_resources;
	id->initiator_depth = n->params.initiator_depth;
	if (!id->id.qp)
		return true;
	err = complete_connection(id);
	if (!err) {
		n->event.event = RDMA_CM_EVENT_ESTABLISHED;
		return true;
	}
	cs_qp_to_error(id);
	nic_lock(id->dev->nic);
	if (id->cm && nic_alive(id->dev->nic))
		emu_cm_reject(id->cm, EMU_CM_REJ_CONSUMER_DEFINED, NULL, 0);
	nic_unlock(id->dev->nic);
	id->connect_error = true;
	n->event.event = RDMA_CM_EVENT_CONNECT_ERROR;
	n->event.status = err;
	return true;
}

static bool deliver_established(struct cs_notice *n)
{
	if (n->type == EMU_CM_SIDR_RESPONSE)
		cs_route_to_ah(n->id, &n->event.param.ud.ah_attr);
	return true;
}

static bool deliver_rejected(struct cs_notice *n)
{
	if (n->id->connect_error)
		return false;
	cs_qp_to_error(n->id);
	return true;
}

static bool deliver_disconnected(struct cs_notice *n)
{
	return !n->id->connect_error;
}

static bool (*const deliveries[])(struct cs_notice *n) = {
	[RDMA_CM_EVENT_ADDR_RESOLVED] = deliver,
	[RDMA_CM_EVENT_ADDR_ERROR] = deliver,
	[RDMA_CM_EVENT_ROUTE_RESOLVED] = deliver,
	[RDMA_CM_EVENT_ROUTE_ERROR] = deliver,
	[RDMA_CM_EVENT_CONNECT_REQUEST] = deliver_request,
	[RDMA_CM_EVENT_CONNECT_RESPONSE] = deliver_response,
	[RDMA_CM_EVENT_CONNECT_ERROR] = deliver,
	[RDMA_CM_EVENT_UNREACHABLE] = deliver,
	[RDMA_CM_EVENT_REJECTED] = deliver_rejected,
	[RDMA_CM_EVENT_ESTABLISHED] = deliver_established,
	[RDMA_CM_EVENT_DISCONNECTED] = deliver_disconnected,
	[RDMA_CM_EVENT_DEVICE_REMOVAL] = deliver,
	[RDMA_CM_EVENT_MULTICAST_JOIN] = cs_group_joined,
	[RDMA_CM_EVENT_MULTICAST_ERROR] = deliver,
	[RDMA_CM_EVENT_ADDR_CHANGE] = deliver,
	[RDMA_CM_EVENT_TIMEWAIT_EXIT] = deliver,
};

int cs_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct cs_device *dev = cs_device_get();
	enum emu_event_type type;
	void *owner;
	int err;

	if (!channel || !event)
		return vs_minus_one(-EINVAL);
	if (!dev)
		return -1;
	for (;;) {
		struct cs_notice *n;

		err = vs_event_fetch(&cs_channel(channel)->queue, dev->nic, &owner, &type);
		if (err)
			return vs_minus_one(err);
		n = owner;
		if (!take(n))
			continue;
		if (deliveries[n->event.event](n)) {
			*event = &n->event;
			return 0;
		}
		cs_ack_cm_event(&n->event);
	}
}

int cs_ack_cm_event(struct rdma_cm_event *event)
{
	struct cs_notice *n = cs_notice(event);
	struct cs_id *id;

	if (!event)
		return vs_minus_one(-EINVAL);
	id = n->id;
	pthread_mutex_lock(&id->lock);
	id->acked++;
	if (n->group)
		cs_group_acked(n->group);
	pthread_cond_broadcast(&id->changed);
	pthread_mutex_unlock(&id->lock);
	cs_notice_free(n);
	return 0;
}

const char *cs_event_str(enum rdma_cm_event_type event)
{
#define NAME(type) [RDMA_CM_EVENT_##type] = "RDMA_CM_EVENT_" #type
	static const char *const names[] = {
		NAME(ADDR_RESOLVED),   NAME(ADDR_ERROR),      NAME(ROUTE_RESOLVED),
		NAME(ROUTE_ERROR),     NAME(CONNECT_REQUEST), NAME(CONNECT_RESPONSE),
		NAME(CONNECT_ERROR),   NAME(UNREACHABLE),     NAME(REJECTED),
		NAME(ESTABLISHED),     NAME(DISCONNECTED),    NAME(DEVICE_REMOVAL),
		NAME(MULTICAST_JOIN),  NAME(MULTICAST_ERROR), NAME(ADDR_CHANGE),
		NAME(TIMEWAIT_EXIT),
	};
#undef NAME

	return (unsigned)event < sizeof(names) / sizeof(names[0]) ? names[event] : "UNKNOWN EVENT";
}
