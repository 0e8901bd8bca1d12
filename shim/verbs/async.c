/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_get_async_event, ibv_ack_async_event, and where the events come from. */
#include "async.h"

#include "context.h"
#include "cq.h"
#include "errno.h"
#include "qp.h"
#include "registry.h"
#include "srq.h"

#include <abi/emulated.h>

static bool is_about_srq(unsigned type)
{
	return type == EMU_EVENT_SRQ_LIMIT_REACHED || type == EMU_EVENT_SRQ_ERR;
}

void vs_async_raise(enum emu_event_type type, void *user)
{
	struct vs_event *ev;
	struct ibv_context *context;

	if (type == EMU_EVENT_CQ_ERR) {
		struct vs_cq *cq = user;

		context = cq->cq.context;
		ev = &cq->async_event;
	} else if (is_about_srq(type)) {
		struct vs_srq *srq = user;

		context = srq->srq.context;
		ev = &srq->limit_event;
	} else {
		struct vs_qp *qp = user;

		context = qp->qp.context;
		ev = vs_qp_event(qp, type);
	}
	if (ev)
		vs_event_raise(&vs_context(context)->async, ev);
}

int vs_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	enum emu_event_type type;
	void *owner;
	int err;

	if (!vs_registry_has(context, VS_CONTEXT))
		return vs_minus_one(-EINVAL);
	err = vs_event_fetch(&vs_context(context)->async, vs_context(context)->nic, &owner, &type);
	if (err)
		return vs_minus_one(err);
	event->event_type = (enum ibv_event_type)type;
	if (type == EMU_EVENT_CQ_ERR)
		event->element.cq = owner;
	else if (is_about_srq(type))
		event->element.srq = owner;
	else
		event->element.qp = owner;
	return 0;
}

static void ack(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *count)
{
	pthread_mutex_lock(mutex);
	++*count;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

void vs_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_cq *cq = event->element.cq;
	struct ibv_srq *srq = event->element.srq;
	struct ibv_qp *qp = event->element.qp;

	if (event->event_type == IBV_EVENT_CQ_ERR) {
		if (vs_registry_has(cq, VS_CQ) || vs_registry_has(cq, VS_CQ_GOING))
			ack(&cq->mutex, &cq->cond, &cq->async_events_completed);
	} else if (is_about_srq(event->event_type)) {
		if (vs_registry_has(srq, VS_SRQ) || vs_registry_has(srq, VS_SRQ_GOING))
			ack(&srq->mutex, &srq->cond, &srq->events_completed);
	} else if (vs_registry_has(qp, VS_QP) || vs_registry_has(qp, VS_QP_GOING)) {
		ack(&qp->mutex, &qp->cond, &qp->events_completed);
	}
}
