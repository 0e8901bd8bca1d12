// SPDX-License-Identifier: BSD-2-Clause
#include "comp.h"

#include "psn.h"
#include "req.h"

/* After a probe's answer the ACK may come by another link: wait this long at most. */
#define GRACE_NS 5000000ull
/* An RNR retry count of 7 never ends (IBTA 9.7.5.2.8). */
#define RNR_FOREVER 7

static void set_timer(struct emu_qp *qp, enum emu_timer_use use, uint64_t in_ns)
{
	qp->req.timer_use = use;
	emu_timer_set(&qp->dev->timers, &qp->timer,
		      in_ns == EMU_NEVER ? EMU_NEVER : qp->dev->now + in_ns);
}

/* Something was answered: tries and timers start again (IBTA C9-139). */
static void made_progress(struct emu_qp *qp)
{
	struct emu_req *req = &qp->req;
	uint64_t timeout = emu_ack_timeout_ns(qp->attr.timeout);

	req->retry = qp->attr.retry_cnt;
	req->rnr_retry = qp->attr.rnr_retry;
	req->probing = false;
	req->resent = false;
	if (emu_psn_diff(req->send_psn, req->una_psn) < 0)
		emu_req_seek(qp, req->una_psn);
	if (req->timer_use != EMU_TIMER_RNR) {
		if (emu_req_outstanding(qp) && timeout != EMU_NEVER)
			set_timer(qp, EMU_TIMER_ACK, timeout);
		else
			set_timer(qp, EMU_TIMER_OFF, EMU_NEVER);
	}
	emu_dev_ready(qp->dev, qp);
}

static void complete_una(struct emu_qp *qp, const struct emu_wqe *wqe)
{
	qp->req.una_psn = emu_psn_add(wqe->first_psn, wqe->npsn);
	emu_qp_complete_send(qp, EMU_WC_SUCCESS, 0);
}

/*
 * All before psn, which has been sent, is acknowledged. False when a READ or atomic among it has had
 * no response: that was lost (IBTA C9-136, implied NAK).
 */
static bool acknowledge(struct emu_qp *qp, uint32_t psn)
{
	struct emu_req *req = &qp->req;

	while (psn != req->una_psn) {
		const struct emu_wqe *wqe = emu_qp_wqe(qp, req->una);

		if (wqe->op->flags & WR_ANSWER)
			return false;
		if (emu_psn_diff(psn, emu_psn_add(wqe->first_psn, wqe->npsn)) < 0)
			req->una_psn = psn;
		else
			complete_una(qp, wqe);
	}
	return true;
}

/* Send again from the oldest packet without an answer, while tries are left. */
static void retry(struct emu_qp *qp)
{
	struct emu_req *req = &qp->req;

	if (!emu_req_outstanding(qp))
		return;
	if (req->retry == 0) {
		emu_req_fail(qp, EMU_FAULT_NO_ANSWER);
		return;
	}
	req->retry--;
	qp->dev->counters.retransmits++;
	emu_req_seek(qp, req->una_psn);
	set_timer(qp, EMU_TIMER_OFF, EMU_NEVER);
	emu_dev_ready(qp->dev, qp);
}

/*
 * An implied NAK. Responses already on their way imply it again and again:
 * one is enough until something changes.
 */
static void response_lost(struct emu_qp *qp)
{
	if (qp->req.resent)
		return;
	qp->req.resent = true;
	retry(qp);
}

static void peer_not_ready(struct emu_qp *qp, uint8_t timer_code)
{
	struct emu_req *req = &qp->req;

	qp->dev->counters.rnr_nak_retry++;
	if (req->rnr_retry == 0) {
		emu_req_fail(qp, EMU_FAULT_NOT_READY);
		return;
	}
	if (req->rnr_retry != RNR_FOREVER)
		req->rnr_retry--;
	/* It answers: what counts the tries of a silent peer starts again. */
	req->retry = qp->attr.retry_cnt;
	req->probing = false;
	emu_req_seek(qp, req->una_psn);
	set_timer(qp, EMU_TIMER_RNR, emu_rnr_timer_ns(timer_code));
}

static void refused(struct emu_qp *qp, uint8_t syndrome)
{
	enum emu_fault fault = emu_fault_of_nak(syndrome);

	if (syndrome == EMU_AETH_NAK_PSN_SEQ) {
		qp->dev->counters.packet_seq_err++;
		/* During an RNR wait it is an old one: all is sent again after the wait. */
		if (qp->req.timer_use != EMU_TIMER_RNR)
			retry(qp);
	} else if (fault != EMU_PASS) {
		emu_req_fail(qp, fault);
	}
}

/* IBTA 9.7.5.2: the PSN of an ACK is the last one acknowledged, of a NAK the one refused. */
static void take_ack(struct emu_qp *qp, struct emu_pkt *pkt)
{
	uint8_t type = pkt->syndrome & EMU_AETH_TYPE_MASK;
	bool ack = type == (EMU_AETH_ACK & EMU_AETH_TYPE_MASK);
	uint32_t una_psn = qp->req.una_psn;

	if (!acknowledge(qp, ack ? emu_psn_add(pkt->psn, 1) : pkt->psn)) {
		response_lost(qp);
		return;
	}
	if (qp->req.una_psn != una_psn)
		made_progress(qp);
	if (type == EMU_AETH_RNR) {
		/* While its wait is on, the same NAK again is a copy and counts no try. */
		if (qp->req.timer_use != EMU_TIMER_RNR || qp->req.una_psn != una_psn)
			peer_not_ready(qp, pkt->syndrome & EMU_AETH_VALUE_MASK);
	} else if (!ack) {
		refused(qp, pkt->syndrome);
	}
}

/* The oldest WQE, if the response with this PSN is the next piece it waits for. */
static struct emu_wqe *awaiting(struct emu_qp *qp, const struct emu_pkt *pkt,
				enum emu_pkt_class cls)
{
	struct emu_wqe *wqe;

	if (!acknowledge(qp, pkt->psn)) {
		response_lost(qp);
		return NULL;
	}
	if (qp->req.una == emu_wq_head(&qp->sq))
		return NULL;
	wqe = emu_qp_wqe(qp, qp->req.una);
	if (wqe->started && wqe->op->cls == cls)
		return wqe;
	emu_req_fail(qp, EMU_FAULT_BAD_RESPONSE);
	return NULL;
}

static void answered(struct emu_qp *qp, struct emu_wqe *wqe)
{
	wqe->answered = 1;
	/* A WQE that waits to be sent again is not counted. */
	if (qp->req.una != qp->req.next)
		qp->req.answers--;
	complete_una(qp, wqe);
}

static bool place(struct emu_qp *qp, const struct emu_wqe *wqe, uint64_t off, const void *data,
		  uint32_t len)
{
	struct emu_sgl sgl = { qp->pd, wqe->sge, wqe->num_sge };

	if (emu_sgl_put(&sgl, off, data, len) == EMU_SGL_PUT_OK)
		return true;
	emu_req_fail(qp, EMU_FAULT_LOCAL_KEY);
	return false;
}

/* Has this piece the length that its place in the response demands? */
static bool read_piece_fits(const struct emu_qp *qp, const struct emu_wqe *wqe, uint64_t off,
			    const struct emu_pkt *pkt)
{
	bool last = pkt->op->pos & EMU_POS_LAST;

	if (last)
		return off + pkt->payload_len == wqe->length;
	return pkt->payload_len && pkt->payload_len % qp->mtu == 0 &&
	       off + pkt->payload_len < wqe->length;
}

static void take_read_response(struct emu_qp *qp, struct emu_pkt *pkt)
{
	struct emu_wqe *wqe = awaiting(qp, pkt, EMU_CLASS_READ);
	uint64_t off;

	if (!wqe)
		return;
	off = (uint64_t)emu_psn_diff(pkt->psn, wqe->first_psn) * qp->mtu;
	if (!read_piece_fits(qp, wqe, off, pkt)) {
		emu_req_fail(qp, EMU_FAULT_BAD_RESPONSE);
		return;
	}
	if (!place(qp, wqe, off, pkt->payload, pkt->payload_len))
		return;
	if (pkt->op->pos & EMU_POS_LAST)
		answered(qp, wqe);
	else
		qp->req.una_psn =
			emu_psn_add(pkt->psn, emu_pkt_count(pkt->payload_len, qp->mtu));
	made_progress(qp);
}

static void take_atomic_response(struct emu_qp *qp, struct emu_pkt *pkt)
{
	struct emu_wqe *wqe = awaiting(qp, pkt, EMU_CLASS_ATOMIC);

	if (!wqe || !place(qp, wqe, 0, &pkt->orig, sizeof(pkt->orig)))
		return;
	answered(qp, wqe);
	made_progress(qp);
}

/* Cut off packets of a READ response that are there already. False: nothing is left. */
static bool trim(const struct emu_qp *qp, struct emu_pkt *pkt)
{
	int32_t behind = emu_psn_diff(qp->req.una_psn, pkt->psn);

	if (behind <= 0)
		return true;
	if (pkt->op->cls != EMU_CLASS_READ_RESP ||
	    (uint32_t)behind >= emu_pkt_count(pkt->payload_len, qp->mtu))
		return false;
	pkt->payload += (uint32_t)behind * qp->mtu;
	pkt->payload_len -= (uint32_t)behind * qp->mtu;
	pkt->psn = qp->req.una_psn;
	return true;
}

typedef void (*take_fn)(struct emu_qp *qp, struct emu_pkt *pkt);

static const take_fn take[] = {
	[EMU_CLASS_ACK] = take_ack,
	[EMU_CLASS_READ_RESP] = take_read_response,
	[EMU_CLASS_ATOMIC_ACK] = take_atomic_response,
};

void emu_comp_input(struct emu_qp *qp, struct emu_pkt *pkt)
{
	enum emu_qp_state state = emu_qp_state(qp);
	const struct emu_req *req = &qp->req;

	if (state != EMU_QPS_RTS && state != EMU_QPS_SQD)
		return;
	/* Ghosts: before the oldest, or never sent (IBTA 9.7.6.1.4). */
	if (!trim(qp, pkt) ||
	    emu_psn_ahead(req->una_psn, pkt->psn) >= emu_psn_ahead(req->una_psn, req->sent_psn))
		return;
	take[pkt->op->cls](qp, pkt);
}

void emu_comp_timeout(struct emu_qp *qp)
{
	struct emu_req *req = &qp->req;
	uint8_t use = req->timer_use;

	req->timer_use = EMU_TIMER_OFF;
	req->resent = false;
	if (use == EMU_TIMER_RNR) {
		emu_dev_ready(qp->dev, qp);
		return;
	}
	if (!emu_req_outstanding(qp))
		return;
	if (use == EMU_TIMER_ACK) {
		qp->dev->counters.local_ack_timeout++;
		req->probing = qp->peer->ops->probe(qp->peer) == WIRE_PROBE_STARTED;
	}
	if (!req->probing)
		retry(qp);
}

void emu_comp_peer_answered(struct emu_qp *qp)
{
	uint64_t timeout = emu_ack_timeout_ns(qp->attr.timeout);

	if (!qp->req.probing)
		return;
	qp->req.probing = false;
	set_timer(qp, EMU_TIMER_GRACE, timeout < GRACE_NS ? timeout : GRACE_NS);
}

void emu_comp_peer_gone(struct emu_qp *qp)
{
	enum emu_qp_state state = emu_qp_state(qp);

	/* Only RC waits for answers. */
	if (qp->type != EMU_QPT_RC || (state != EMU_QPS_RTS && state != EMU_QPS_SQD))
		return;
	if (qp->dev->cfg.fast_death && emu_req_outstanding(qp)) {
		emu_req_fail(qp, EMU_FAULT_NO_ANSWER);
	} else if (qp->dev->cfg.fast_death) {
		qp->req.cut = true;
	} else if (qp->req.probing) {
		qp->req.probing = false;
		retry(qp);
	}
}
