/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of the core become notices. A request has no id until the program
 * fetches it: what happens to its connection before waits behind the request.
 */
#include "incoming.h"

#include "id.h"

#include <string.h>

/* CONNECT_REQUESTs that nobody has fetched. Device lock. */
static struct cs_notice *requests;

static const enum rdma_cm_event_type types[] = {
	[EMU_CM_REQUEST] = RDMA_CM_EVENT_CONNECT_REQUEST,
	[EMU_CM_RESPONSE] = RDMA_CM_EVENT_CONNECT_RESPONSE,
	[EMU_CM_ESTABLISHED] = RDMA_CM_EVENT_ESTABLISHED,
	[EMU_CM_REJECTED] = RDMA_CM_EVENT_REJECTED,
	[EMU_CM_UNREACHABLE] = RDMA_CM_EVENT_UNREACHABLE,
	[EMU_CM_DISCONNECTED] = RDMA_CM_EVENT_DISCONNECTED,
	[EMU_CM_TIMEWAIT_EXIT] = RDMA_CM_EVENT_TIMEWAIT_EXIT,
	[EMU_CM_SIDR_REQUEST] = RDMA_CM_EVENT_CONNECT_REQUEST,
	[EMU_CM_SIDR_RESPONSE] = RDMA_CM_EVENT_ESTABLISHED,
};

static void fill_conn(struct cs_notice *n)
{
	const struct emu_cm_params *p = &n->params;

	n->event.param.conn = (struct rdma_conn_param){
		.private_data = p->private_data,
		.private_data_len = (uint8_t)p->private_data_len,
		.responder_resources = p->responder_resources,
		.initiator_depth = p->initiator_depth,
		.flow_control = p->flow_control,
		.retry_count = p->retry_count,
		.rnr_retry_count = p->rnr_retry_count,
		.srq = p->srq,
		.qp_num = p->qpn,
	};
}

/* The path to the QP is filled in when the event is fetched. */
static void fill_ud(struct cs_notice *n)
{
	const struct emu_cm_params *p = &n->params;

	n->event.param.ud = (struct rdma_ud_param){
		.private_data = p->private_data,
		.private_data_len = (uint8_t)p->private_data_len,
		.qp_num = p->qpn,
		.qkey = p->qkey,
	};
}

static struct cs_notice *make_notice(struct cs_id *id, const struct emu_cm_event *e)
{
	struct cs_notice *n = cs_notice_new(id, types[e->type], e->status);
	uint32_t len = e->params.private_data_len;

	if (!n)
		return NULL;
	n->type = e->type;
	n->cm = e->id;
	n->src = e->src;
	n->dst = e->dst;
	n->params = e->params;
	if (len > sizeof(n->data))
		len = sizeof(n->data);
	if (len)
		memcpy(n->data, e->params.private_data, len);
	n->params.private_data = len ? n->data : NULL;
	n->params.private_data_len = len;
	if (e->ps == EMU_CM_PS_UDP || e->ps == EMU_CM_PS_IPOIB)
		fill_ud(n);
	else
		fill_conn(n);
	return n;
}

static struct cs_notice *find_request(const struct emu_cm_id *cm)
{
	struct cs_notice *n = requests;

	while (n && n->cm != cm)
		n = n->next_request;
	return n;
}

static void follow(struct cs_notice *request, const struct emu_cm_event *e)
{
	struct cs_notice **link = &request->followers;

	while (*link)
		link = &(*link)->next;
	*link = make_notice(NULL, e);
}

void cs_incoming(const struct emu_cm_event *e)
{
	struct cs_notice *n;

	if (!e->user) {
		n = find_request(e->id);
		if (n)
			follow(n, e);
		return;
	}
	n = make_notice(e->user, e);
	if (!n)
		return; /* no memory: lost, as a datagram may be */
	if (e->listener) {
		n->event.listen_id = n->event.id;
		n->event.id = NULL;
		n->next_request = requests;
		requests = n;
	}
	cs_notice_post(n);
}

void cs_incoming_forget(struct cs_notice *n)
{
	struct cs_notice **link = &requests;

	while (*link && *link != n)
		link = &(*link)->next_request;
	if (*link)
		*link = n->next_request;
}
