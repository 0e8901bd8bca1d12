/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_create_qp, ibv_create_qp_ex, ibv_destroy_qp, ibv_qp_to_qp_ex. */
#include "qp.h"

#include "context.h"
#include "cq.h"
#include "errno.h"
#include "pd.h"
#include "registry.h"
#include "srq.h"
#include "wr.h"

#include <abi/emulated.h>

#include <stdlib.h>

static const enum emu_event_type event_types[VS_QP_EVENTS] = {
	EMU_EVENT_QP_FATAL, EMU_EVENT_QP_REQ_ERR, EMU_EVENT_QP_ACCESS_ERR,
	EMU_EVENT_COMM_EST, EMU_EVENT_SQ_DRAINED, EMU_EVENT_QP_LAST_WQE_REACHED,
};

struct vs_event *vs_qp_event(struct vs_qp *qp, enum emu_event_type type)
{
	for (unsigned i = 0; i < VS_QP_EVENTS; i++) {
		if (qp->events[i].type == type)
			return &qp->events[i];
	}
	return NULL;
}

void vs_qp_lock_all(struct vs_qp *qp)
{
	struct vs_cq *first = vs_cq(qp->qp.send_cq);
	struct vs_cq *second = vs_cq(qp->qp.recv_cq);

	if ((uintptr_t)first > (uintptr_t)second) {
		struct vs_cq *swap = first;

		first = second;
		second = swap;
	}
	nic_lock(qp->nic);
	vs_lock_take(&first->lock);
	if (second != first)
		vs_lock_take(&second->lock);
	vs_lock_take(&qp->sq_lock);
	vs_lock_take(&qp->rq_lock);
}

void vs_qp_unlock_all(struct vs_qp *qp)
{
	struct vs_cq *send = vs_cq(qp->qp.send_cq);
	struct vs_cq *recv = vs_cq(qp->qp.recv_cq);

	vs_lock_drop(&qp->rq_lock);
	vs_lock_drop(&qp->sq_lock);
	vs_lock_drop(&recv->lock);
	if (send != recv)
		vs_lock_drop(&send->lock);
	nic_unlock(qp->nic);
}

static bool usable_cq(const struct ibv_cq *cq, const struct ibv_context *context)
{
	return vs_registry_has(cq, VS_CQ) && cq->context == context;
}

#define QP_TYPES                                                                                   \
	(1u << IBV_QPT_RC | 1u << IBV_QPT_UC | 1u << IBV_QPT_UD | 1u << IBV_QPT_RAW_PACKET |       \
	 1u << IBV_QPT_XRC_SEND | 1u << IBV_QPT_XRC_RECV)

/* A type that verbs has, whether the device does it or not; the core says that. */
static bool is_type(unsigned int type)
{
	return type == IBV_QPT_DRIVER || (type < 32 && QP_TYPES >> type & 1);
}

/* What verbs adds around the core's own checks. */
static int check_attr(const struct ibv_pd *pd, const struct ibv_qp_init_attr_ex *attr)
{
	static const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
	                              IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !vs_registry_has(pd, VS_PD) ||
	    !is_type(attr->qp_type))
		return -EINVAL;
	if (!nic_alive(vs_context(pd->context)->nic))
		return -EIO;
	if (attr->comp_mask & ~known)
		return -EOPNOTSUPP;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags)
		return -EOPNOTSUPP;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS && !vs_batch_can(attr))
		return -EOPNOTSUPP;
	if (!usable_cq(attr->send_cq, pd->context) || !usable_cq(attr->recv_cq, pd->context))
		return -EINVAL;
	if (attr->srq && (!vs_registry_has(attr->srq, VS_SRQ) || attr->srq->context != pd->context))
		return -EINVAL;
	return 0;
}

static void fill_in(struct vs_qp *qp, struct ibv_pd *pd, const struct ibv_qp_init_attr_ex *attr)
{
	qp->nic = vs_context(pd->context)->nic;
	qp->qp.context = pd->context;
	qp->qp.qp_context = attr->qp_context;
	qp->qp.pd = pd;
	qp->qp.send_cq = attr->send_cq;
	qp->qp.recv_cq = attr->recv_cq;
	qp->qp.srq = attr->srq;
	qp->qp.qp_type = attr->qp_type;
	qp->qp.state = IBV_QPS_RESET;
	qp->cap = attr->cap;
	if (attr->srq) /* ibv_create_qp(3): ignored */
		qp->cap.max_recv_wr = qp->cap.max_recv_sge = 0;
	qp->sq_sig_all = attr->sq_sig_all;
	pthread_mutex_init(&qp->qp.mutex, NULL);
	pthread_cond_init(&qp->qp.cond, NULL);
	for (unsigned i = 0; i < VS_QP_EVENTS; i++) {
		qp->events[i].owner = qp;
		qp->events[i].type = event_types[i];
	}
}

static void free_qp(struct vs_qp *qp)
{
	vs_batch_free(qp->batch);
	pthread_cond_destroy(&qp->qp.cond);
	pthread_mutex_destroy(&qp->qp.mutex);
	free(qp);
}

/* The engine's half. Granted is exactly what was asked, so that programs that need more notice. */
static int create_in_engine(struct vs_qp *qp)
{
	struct emu_qp_init init = {
		.type = (enum emu_qp_type)qp->qp.qp_type,
		.send_cq = vs_cq(qp->qp.send_cq)->emu,
		.recv_cq = vs_cq(qp->qp.recv_cq)->emu,
		.srq = qp->qp.srq ? vs_srq(qp->qp.srq)->emu : NULL,
		.cap =
			{
				.max_send_wr = qp->cap.max_send_wr,
				.max_recv_wr = qp->cap.max_recv_wr,
				.max_send_sge = qp->cap.max_send_sge,
				.max_recv_sge = qp->cap.max_recv_sge,
				.max_inline_data = qp->cap.max_inline_data,
			},
		.sq_sig_all = qp->sq_sig_all,
		.user = qp,
	};
	int err;

	nic_lock(qp->nic);
	err = nic_qp_create(qp->nic, vs_pd(qp->qp.pd)->emu, &init, &qp->emu);
	nic_unlock(qp->nic);
	return err;
}

static int create(struct ibv_pd *pd, const struct ibv_qp_init_attr_ex *attr, struct vs_qp **out)
{
	struct vs_qp *qp;
	int err = check_attr(pd, attr);

	if (err)
		return err;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	fill_in(qp, pd, attr);
	err = create_in_engine(qp);
	if (err)
		goto err_free;
	qp->qp.qp_num = emu_qp_num(qp->emu);
	qp->qp.handle = qp->qp.qp_num;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		err = vs_batch_attach(qp);
	if (!err)
		err = vs_registry_add(&qp->qp, VS_QP, pd->context);
	if (err)
		goto err_emu;
	*out = qp;
	return 0;

err_emu:
	vs_qp_lock_all(qp);
	emu_qp_destroy(qp->emu);
	vs_qp_unlock_all(qp);
err_free:
	free_qp(qp);
	return err;
}

struct ibv_qp *vs_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct vs_qp *qp;
	int err = create(pd, &ex, &qp);

	if (err)
		return vs_null(err);
	attr->cap = qp->cap;
	return &qp->qp;
}

struct ibv_qp *vs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct vs_qp *qp;
	int err = create(attr->pd, attr, &qp);

	if (err)
		return vs_null(err);
	attr->cap = qp->cap;
	return &qp->qp;
}

struct ibv_qp_ex *vs_qp_to_qp_ex(struct ibv_qp *qp)
{
	return vs_registry_has(qp, VS_QP) && vs_qp(qp)->batch ? &vs_qp(qp)->ex : NULL;
}

/* Bytes of one message are placed in ascending order, the last one last. */
int vs_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	return vs_registry_has(qp, VS_QP) && !flags;
}

static uint32_t cancel_events(struct vs_qp *qp)
{
	struct vs_event_queue *q = &vs_context(qp->qp.context)->async;
	uint32_t fetched = 0;

	for (unsigned i = 0; i < VS_QP_EVENTS; i++)
		fetched += vs_event_cancel(q, &qp->events[i]);
	return fetched;
}

/* ibv_get_async_event(3): destroying waits until every event that was fetched is acknowledged. */
int vs_destroy_qp(struct ibv_qp *ibqp)
{
	struct vs_qp *qp = vs_qp(ibqp);
	uint32_t fetched;

	if (!vs_registry_rename(ibqp, VS_QP, VS_QP_GOING))
		return vs_status(-EINVAL);
	if (!nic_alive(qp->nic)) {
		cancel_events(qp);
		vs_registry_remove(ibqp, VS_QP_GOING);
		free_qp(qp);
		return 0;
	}
	vs_qp_lock_all(qp);
	emu_qp_destroy(qp->emu);
	vs_qp_unlock_all(qp);
	fetched = cancel_events(qp);
	vs_event_wait_acked(&ibqp->mutex, &ibqp->cond, &ibqp->events_completed, fetched);
	vs_registry_remove(ibqp, VS_QP_GOING);
	free_qp(qp);
	return 0;
}

void vs_qp_release(struct ibv_qp *ibqp)
{
	struct vs_qp *qp = vs_qp(ibqp);

	if (nic_alive(qp->nic)) {
		vs_qp_lock_all(qp);
		emu_qp_destroy(qp->emu);
		vs_qp_unlock_all(qp);
	}
	cancel_events(qp);
	free_qp(qp);
}
