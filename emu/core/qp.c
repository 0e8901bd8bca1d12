// SPDX-License-Identifier: BSD-2-Clause
#include "qp.h"

#include <stdlib.h>
#include <string.h>

#include "ah.h"
#include "comp.h"
#include "err.h"
#include "mcast.h"
#include "recv.h"
#include "req.h"
#include "resp.h"
#include "srq.h"
#include "ud.h"

static bool caps_within(const struct emu_qp_init *init, const struct emu_limits *l)
{
	const struct emu_qp_cap *cap = &init->cap;

	if (!init->srq && (cap->max_recv_wr > l->max_qp_wr || cap->max_recv_sge > l->max_sge))
		return false;
	return cap->max_send_wr <= l->max_qp_wr && cap->max_send_sge <= l->max_sge &&
	       cap->max_inline_data <= l->max_inline;
}

static int make_rings(struct emu_qp *qp)
{
	const struct emu_wq sq = {
		.capacity = qp->cap.max_send_wr,
		.max_sge = qp->cap.max_send_sge,
		.max_inline = qp->cap.max_inline_data,
	};
	const struct emu_wq rq = {
		.capacity = qp->cap.max_recv_wr,
		.max_sge = qp->cap.max_recv_sge,
	};

	if (emu_wq_init(&qp->sq, sizeof(struct emu_wqe), &sq))
		return -EMU_ENOMEM;
	if (emu_wq_init(&qp->rq, sizeof(struct emu_rqe), &rq)) {
		emu_wq_fini(&qp->sq);
		return -EMU_ENOMEM;
	}
	return 0;
}

static int number(struct emu_qp *qp)
{
	struct emu_dev *dev = qp->dev;

	int ret;

	if (emu_timers_reserve(&dev->timers, dev->timer_users + 1))
		return -EMU_ENOMEM;
	ret = emu_dev_qpn_get(dev, qp, &qp->qpn);
	if (!ret)
		dev->timer_users++;
	return ret;
}

static void expire(struct emu_timer *timer)
{
	emu_comp_timeout((struct emu_qp *)((char *)timer - offsetof(struct emu_qp, timer)));
}

static struct emu_qp *new_qp(struct emu_pd *pd, const struct emu_qp_init *init)
{
	struct emu_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->dev = pd->dev;
	qp->pd = pd;
	qp->send_cq = init->send_cq;
	qp->recv_cq = init->recv_cq;
	qp->user = init->user;
	qp->type = init->type;
	qp->sq_sig_all = init->sq_sig_all;
	qp->cap = init->cap;
	qp->srq = init->srq;
	if (qp->srq) /* ibv_create_qp(3): what is said of a receive queue is ignored */
		qp->cap.max_recv_wr = qp->cap.max_recv_sge = 0;
	emu_timer_init(&qp->timer, expire);
	return qp;
}

int emu_qp_create(struct emu_pd *pd, const struct emu_qp_init *init, struct emu_qp **out)
{
	struct emu_dev *dev = pd->dev;
	struct emu_qp *qp;
	int ret = -EMU_ENOMEM;

	if (init->type != EMU_QPT_RC && init->type != EMU_QPT_UC && init->type != EMU_QPT_UD)
		return -EMU_EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq || !caps_within(init, &dev->cfg.limits))
		return -EMU_EINVAL;
	if (dev->qps >= dev->cfg.limits.max_qp)
		return -EMU_ENOMEM;
	qp = new_qp(pd, init);
	if (!qp)
		return -EMU_ENOMEM;
	if (make_rings(qp))
		goto free_qp;
	ret = number(qp);
	if (ret)
		goto free_rings;
	pd->refs++;
	qp->send_cq->refs++;
	qp->recv_cq->refs++;
	if (qp->srq)
		qp->srq->refs++;
	dev->qps++;
	*out = qp;
	return 0;

free_rings:
	emu_wq_fini(&qp->sq);
	emu_wq_fini(&qp->rq);
free_qp:
	free(qp);
	return ret;
}

static void release_ahs(struct emu_qp *qp)
{
	uint32_t head = emu_wq_head(&qp->sq);

	for (uint32_t i = qp->req.una; i != head; i++)
		if (emu_qp_wqe(qp, i)->ah)
			emu_ah_release(emu_qp_wqe(qp, i)->ah);
}

/* Nothing is outstanding any more; completions in the CQs stay. */
static void drop_work(struct emu_qp *qp)
{
	emu_dev_unlist(qp->dev, qp);
	emu_timer_stop(&qp->dev->timers, &qp->timer);
	release_ahs(qp);
	emu_dev_disown_tx(qp->dev, qp);
	emu_recv_drop(qp);
	emu_cq_forget(qp->send_cq, qp->qpn);
	if (qp->recv_cq != qp->send_cq)
		emu_cq_forget(qp->recv_cq, qp->qpn);
	free(qp->resp.res);
	qp->resp = (struct emu_resp){ 0 };
	qp->req = (struct emu_req){ 0 };
	if (qp->peer)
		qp->peer->ops->put(qp->peer);
	qp->peer = NULL;
}

void emu_qp_reset(struct emu_qp *qp)
{
	drop_work(qp);
	emu_wq_reset(&qp->sq);
	emu_wq_reset(&qp->rq);
	qp->attr = (struct emu_qp_attr){ 0 };
	emu_qp_set_state(qp, EMU_QPS_RESET);
}

void emu_qp_destroy(struct emu_qp *qp)
{
	struct emu_dev *dev = qp->dev;

	emu_mcast_leave_all(qp);
	drop_work(qp);
	emu_dev_qpn_put(dev, qp->qpn);
	emu_wq_fini(&qp->sq);
	emu_wq_fini(&qp->rq);
	qp->pd->refs--;
	qp->send_cq->refs--;
	qp->recv_cq->refs--;
	if (qp->srq)
		qp->srq->refs--;
	dev->qps--;
	dev->timer_users--;
	free(qp);
}

uint32_t emu_qp_num(const struct emu_qp *qp)
{
	return qp->qpn;
}

enum emu_qp_state emu_qp_state(const struct emu_qp *qp)
{
	return atomic_load_explicit(&qp->state, memory_order_acquire);
}

void emu_qp_query(const struct emu_qp *qp, struct emu_qp_attr *attr)
{
	*attr = qp->attr;
	attr->qp_state = attr->cur_qp_state = emu_qp_state(qp);
	attr->cap = qp->cap;
	attr->sq_psn = qp->req.psn;
	attr->rq_psn = qp->resp.epsn;
	attr->sq_draining = qp->req.draining;
}

bool emu_qp_run(struct emu_qp *qp)
{
	bool more;

	if (emu_qp_state(qp) == EMU_QPS_ERR) {
		emu_qp_flush(qp);
		return false;
	}
	if (qp->type == EMU_QPT_UD)
		return emu_ud_run(qp);
	/* Answers first: the peer waits for them, and they bound its work. */
	more = emu_resp_run(qp);
	if (qp->list || emu_qp_state(qp) == EMU_QPS_ERR)
		return false;
	return emu_req_run(qp) || more;
}

/* ---- completions --------------------------------------------------------- */

void emu_qp_complete_send(struct emu_qp *qp, enum emu_wc_status status, uint32_t vendor_err)
{
	const struct emu_wqe *wqe = emu_qp_wqe(qp, qp->req.una);
	struct emu_cqe cqe = {
		.wc = { .wr_id = wqe->wr_id, .status = status, .vendor_err = vendor_err,
			.qp_num = qp->qpn },
		.freed = &qp->sq.freed,
		.slot_end = ++qp->req.una,
	};

	if (wqe->ah)
		emu_ah_release(wqe->ah);
	if (status == EMU_WC_SUCCESS) {
		if (!(wqe->flags & EMU_SEND_SIGNALED))
			return;
		cqe.wc.opcode = wqe->op->wc_opcode;
		cqe.wc.byte_len = (uint32_t)wqe->length;
	}
	emu_cq_push(qp->send_cq, &cqe, false);
}

/* ---- error --------------------------------------------------------------- */

void emu_qp_flush_send(struct emu_qp *qp)
{
	struct emu_req *req = &qp->req;

	emu_dev_disown_tx(qp->dev, qp);
	while (req->una != emu_wq_head(&qp->sq))
		emu_qp_complete_send(qp, EMU_WC_WR_FLUSH_ERR, EMU_VENDOR_FLUSH_SEND);
	req->next = req->una;
	req->off = 0;
}

void emu_qp_flush(struct emu_qp *qp)
{
	emu_qp_flush_send(qp);
	emu_recv_flush(qp);
}

void emu_qp_error(struct emu_qp *qp)
{
	if (emu_qp_state(qp) == EMU_QPS_ERR)
		return;
	emu_qp_set_state(qp, EMU_QPS_ERR);
	/* Orders the state before the rings: who posts a receive posts, then looks at the state. */
	atomic_thread_fence(memory_order_seq_cst);
	/* It waits for no peer any more: what is posted from now on is flushed at once. */
	emu_dev_unlist(qp->dev, qp);
	emu_timer_stop(&qp->dev->timers, &qp->timer);
	qp->req.timer_use = EMU_TIMER_OFF;
	qp->req.probing = false;
	qp->resp.res_pending = 0;
	qp->resp.nak_syndrome = 0;
	qp->resp.ack_due = false;
	qp->resp.msg = EMU_CLASS_NONE;
	emu_qp_flush(qp);
	/* IBTA 11.6.3.2: it takes nothing from the SRQ any more. */
	if (qp->srq)
		qp->dev->env->async_event(qp->dev->host, EMU_EVENT_QP_LAST_WQE_REACHED, qp->user);
}

void emu_qp_error_event(struct emu_qp *qp, enum emu_event_type event)
{
	if (emu_qp_state(qp) == EMU_QPS_ERR)
		return;
	emu_qp_error(qp);
	if (event != EMU_EVENT_NONE)
		qp->dev->env->async_event(qp->dev->host, event, qp->user);
}
