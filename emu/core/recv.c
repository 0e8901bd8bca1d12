// SPDX-License-Identifier: BSD-2-Clause
#include "recv.h"

#include "srq.h"

static const struct emu_rqe *find_next(struct emu_qp *qp)
{
	struct emu_resp *resp = &qp->resp;

	if (qp->srq)
		return resp->taken ? emu_srq_slot(qp->srq, resp->next) : emu_srq_peek(qp->srq);
	return resp->next == emu_wq_head(&qp->rq) ? NULL : emu_wq_slot(&qp->rq, resp->next);
}

bool emu_recv_next(struct emu_qp *qp, struct emu_sgl *sgl)
{
	const struct emu_rqe *rqe = find_next(qp);

	if (!rqe)
		return false;
	*sgl = (struct emu_sgl){ qp->srq ? qp->srq->pd : qp->pd, rqe->sge, rqe->num_sge };
	return true;
}

bool emu_recv_take(struct emu_qp *qp)
{
	struct emu_resp *resp = &qp->resp;

	if (resp->taken)
		return true;
	if (!find_next(qp))
		return false;
	if (qp->srq)
		resp->next = emu_srq_take(qp->srq);
	resp->taken = true;
	return true;
}

void emu_recv_complete(struct emu_qp *qp, const struct emu_wc *wc, bool solicited)
{
	struct emu_cqe cqe = { .wc = *wc };

	cqe.wc.wr_id = find_next(qp)->wr_id;
	cqe.wc.qp_num = qp->qpn;
	if (qp->srq) {
		cqe.srq = qp->srq;
		cqe.slot_end = qp->resp.next;
		cqe.of_srq = true;
	} else {
		cqe.freed = &qp->rq.freed;
		cqe.slot_end = ++qp->resp.next;
	}
	qp->resp.taken = false;
	emu_cq_push(qp->recv_cq, &cqe, solicited);
}

/* An SRQ's receives are other QPs' too: only the one in work is flushed (IBTA 10.2.9.4). */
void emu_recv_flush(struct emu_qp *qp)
{
	const struct emu_wc flushed = {
		.status = EMU_WC_WR_FLUSH_ERR,
		.vendor_err = EMU_VENDOR_FLUSH_RECV,
	};

	while (qp->srq ? qp->resp.taken : find_next(qp) != NULL)
		emu_recv_complete(qp, &flushed, false);
}

void emu_recv_drop(struct emu_qp *qp)
{
	if (qp->srq && qp->resp.taken)
		emu_srq_give_back(qp->srq, qp->resp.next);
	qp->resp.taken = false;
}
