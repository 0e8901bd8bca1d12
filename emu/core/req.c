// SPDX-License-Identifier: BSD-2-Clause
#include "req.h"

#include "psn.h"

/* Frames sent by one run: other QPs want the wire too. */
#define FRAMES_PER_RUN 16
/* PSNs without an answer: less than half the circle, and a ghost stays recognisable. */
#define PSN_WINDOW (1 << 22)
/* A long message asks for an ACK now and then, so that the ACK timer sees progress. */
#define FRAMES_PER_ACK_REQ 8

enum step {
	STEP_SENT,
	STEP_IDLE, /* nothing to send, or waiting for an answer or a timer */
};

static struct emu_sgl wqe_sgl(const struct emu_qp *qp, const struct emu_wqe *wqe)
{
	return (struct emu_sgl){ qp->pd, wqe->sge, wqe->num_sge };
}

void emu_req_fail(struct emu_qp *qp, enum emu_fault fault)
{
	const struct emu_fault_row *row = emu_fault_row(fault);

	emu_qp_complete_send(qp, row->status, row->vendor_err);
	if (qp->type == EMU_QPT_RC) {
		emu_qp_error(qp);
		return;
	}
	/* IBTA 10.3.1.6: an error of the send queue stops it and not the receive queue. */
	emu_qp_set_state(qp, EMU_QPS_SQE);
	emu_qp_flush_send(qp);
	qp->req.send_psn = qp->req.una_psn = qp->req.psn;
}

static uint32_t wqe_psns(const struct emu_qp *qp, const struct emu_wqe *wqe)
{
	return wqe->op->cls == EMU_CLASS_ATOMIC ? 1 : emu_pkt_count(wqe->length, qp->mtu);
}

/* What is wrong with the WR itself (IBTA 10.8.3.2, local errors). */
static enum emu_fault check_local(const struct emu_qp *qp, const struct emu_wqe *wqe)
{
	struct emu_sgl sgl = wqe_sgl(qp, wqe);
	uint32_t access = (wqe->op->flags & WR_INTO_MEMORY) ? EMU_ACCESS_LOCAL_WRITE : 0;

	/* Plain regions cannot be invalidated by a work request (IBTA C10-9). */
	if (wqe->op->flags & WR_LOCAL)
		return EMU_FAULT_LOCAL_OP;
	if (wqe->length > qp->dev->cfg.limits.max_msg_sz)
		return EMU_FAULT_LOCAL_LENGTH;
	if (wqe->op->cls == EMU_CLASS_ATOMIC && wqe->length != sizeof(uint64_t))
		return EMU_FAULT_LOCAL_LENGTH;
	if (wqe->flags & EMU_SEND_INLINE)
		return EMU_PASS;
	return emu_fault_of_verdict(emu_sgl_check(&sgl, access));
}

/* IBTA 10.8.3.3: fence, read/atomic depth; and our PSN window. */
static bool may_start(const struct emu_qp *qp, const struct emu_wqe *wqe)
{
	const struct emu_req *req = &qp->req;
	int32_t span = emu_psn_diff(req->psn, req->una_psn);

	if ((wqe->flags & EMU_SEND_FENCE) && req->answers)
		return false;
	return span == 0 || (span > 0 && span + (int64_t)wqe_psns(qp, wqe) <= PSN_WINDOW);
}

static void start(struct emu_qp *qp, struct emu_wqe *wqe)
{
	wqe->fault = check_local(qp, wqe);
	if (wqe->fault)
		return;
	wqe->first_psn = qp->req.psn;
	wqe->npsn = wqe_psns(qp, wqe);
	wqe->started = 1;
	qp->req.psn = emu_psn_add(qp->req.psn, wqe->npsn);
}

static void arm_ack_timer(struct emu_qp *qp)
{
	struct emu_req *req = &qp->req;
	uint64_t timeout = emu_ack_timeout_ns(qp->attr.timeout);

	if (qp->type != EMU_QPT_RC || req->timer_use != EMU_TIMER_OFF || req->probing || timeout == EMU_NEVER)
		return;
	req->timer_use = EMU_TIMER_ACK;
	emu_timer_set(&qp->dev->timers, &qp->timer, qp->dev->now + timeout);
}

/* Payload bytes of the next frame of a SEND or WRITE. */
static uint64_t frame_payload(const struct emu_qp *qp, const struct emu_wqe *wqe)
{
	uint64_t left = wqe->length - qp->req.off;
	uint64_t room = qp->peer->max_payload / qp->mtu * qp->mtu;

	if (room == 0)
		room = qp->mtu;
	/*
	 * The packet with the immediate needs a receive, those before it don't:
	 * it travels alone, so that they are placed though it meets an RNR.
	 */
	if (wqe->op->cls == EMU_CLASS_WRITE && wqe->op->tail_hdrs && left > qp->mtu &&
	    left <= room)
		return (left - 1) / qp->mtu * qp->mtu;
	return left < room ? left : room;
}

static enum emu_fault add_payload(const struct emu_qp *qp, const struct emu_wqe *wqe, uint64_t len,
				  struct emu_tx *tx)
{
	struct emu_sgl sgl = wqe_sgl(qp, wqe);
	uint64_t off = qp->req.off;

	if (!len)
		return EMU_PASS;
	if (!(wqe->flags & EMU_SEND_INLINE))
		return emu_fault_of_verdict(emu_sgl_to_tx(&sgl, off, len, tx));
	emu_inline_to_tx(wqe, off, len, tx);
	return EMU_PASS;
}

/* One frame of a SEND or WRITE. */
static enum emu_fault make_data(struct emu_qp *qp, const struct emu_wqe *wqe, struct emu_pkt *pkt)
{
	struct emu_req *req = &qp->req;
	uint64_t len = frame_payload(qp, wqe);
	bool last = req->off + len == wqe->length;
	uint8_t pos = (req->off ? 0 : EMU_POS_FIRST) | (last ? EMU_POS_LAST : 0);

	pkt->op = emu_opcode_find(qp->type, wqe->op->cls, pos, last ? wqe->op->tail_hdrs : 0);
	pkt->ack_req = qp->type == EMU_QPT_RC &&
		       (last || ++req->since_ack_req >= FRAMES_PER_ACK_REQ);
	pkt->solicited = last && (wqe->flags & EMU_SEND_SOLICITED);
	pkt->va = wqe->remote_addr;
	pkt->rkey = wqe->rkey;
	pkt->len = (uint32_t)wqe->length;
	pkt->imm = wqe->imm;
	return add_payload(qp, wqe, len, qp->dev->tx);
}

/* A READ request: for all of it, or again for what is missing (IBTA 9.7.5.1.1). */
static void make_read(struct emu_qp *qp, const struct emu_wqe *wqe, struct emu_pkt *pkt)
{
	pkt->op = emu_opcode(EMU_PKT_READ_REQUEST);
	pkt->ack_req = true;
	pkt->va = wqe->remote_addr + qp->req.off;
	pkt->rkey = wqe->rkey;
	pkt->len = (uint32_t)(wqe->length - qp->req.off);
}

static void make_atomic(const struct emu_wqe *wqe, struct emu_pkt *pkt)
{
	bool cas = wqe->opcode == EMU_WR_ATOMIC_CMP_AND_SWP;

	pkt->op = emu_opcode(cas ? EMU_PKT_CMP_SWAP : EMU_PKT_FETCH_ADD);
	pkt->ack_req = true;
	pkt->va = wqe->remote_addr;
	pkt->rkey = wqe->rkey;
	pkt->swap_add = cas ? wqe->swap : wqe->compare_add;
	pkt->compare = cas ? wqe->compare_add : 0;
}

static enum emu_fault make_packet(struct emu_qp *qp, const struct emu_wqe *wqe, struct emu_pkt *pkt)
{
	*pkt = (struct emu_pkt){ .dqpn = qp->attr.dest_qp_num, .psn = qp->req.send_psn };
	if (wqe->op->cls == EMU_CLASS_READ)
		make_read(qp, wqe, pkt);
	else if (wqe->op->cls == EMU_CLASS_ATOMIC)
		make_atomic(wqe, pkt);
	else
		return make_data(qp, wqe, pkt);
	return EMU_PASS;
}

static void step_over_sent(struct emu_qp *qp, const struct emu_wqe *wqe, uint64_t payload)
{
	struct emu_req *req = &qp->req;
	bool answer = wqe->op->flags & WR_ANSWER;

	if (answer) {
		req->answers++;
		req->send_psn = emu_psn_add(wqe->first_psn, wqe->npsn);
	} else {
		req->off += payload;
		req->send_psn = emu_psn_add(req->send_psn, emu_pkt_count(payload, qp->mtu));
	}
	if (emu_psn_ahead(req->una_psn, req->send_psn) >
	    emu_psn_ahead(req->una_psn, req->sent_psn))
		req->sent_psn = req->send_psn;
	if (answer || req->off == wqe->length) {
		req->next++;
		req->off = 0;
	}
	arm_ack_timer(qp);
}

/* UC asks for no answer: what is sent, and read by no wire any more, is done (IBTA 9.8.2.1). */
static void complete_sent(struct emu_qp *qp)
{
	struct emu_req *req = &qp->req;

	while (req->una != req->next && !emu_qp_wqe(qp, req->una)->held) {
		const struct emu_wqe *wqe = emu_qp_wqe(qp, req->una);

		req->una_psn = emu_psn_add(wqe->first_psn, wqe->npsn);
		emu_qp_complete_send(qp, EMU_WC_SUCCESS, 0);
	}
}

void emu_req_tx_done(struct emu_qp *qp, uint32_t index)
{
	emu_qp_wqe(qp, index)->held--;
	complete_sent(qp);
	emu_dev_ready(qp->dev, qp);
}

static enum step send_packet(struct emu_qp *qp, struct emu_wqe *wqe)
{
	struct emu_tx *tx = emu_dev_tx(qp->dev);
	struct emu_pkt pkt;
	uint64_t payload;

	wqe->fault = make_packet(qp, wqe, &pkt);
	if (wqe->fault)
		return STEP_SENT; /* the next step sees to it */
	tx->hdr_len = emu_pkt_pack(&pkt, tx->hdr);
	payload = tx->payload;
	if (qp->type == EMU_QPT_UC) {
		tx->qp = qp;
		tx->wqe = qp->req.next;
	}
	switch (emu_dev_send(qp->dev, qp->peer)) {
	case WIRE_BUSY:
		emu_dev_wait_writable(qp->dev, qp);
		return STEP_IDLE;
	case WIRE_HELD:
		wqe->held += qp->type == EMU_QPT_UC;
		break;
	case WIRE_FAULT:
		wqe->fault = EMU_FAULT_LOCAL_KEY;
		return STEP_SENT;
	default:
		break;
	}
	if (pkt.ack_req)
		qp->req.since_ack_req = 0;
	step_over_sent(qp, wqe, payload);
	return STEP_SENT;
}

static enum step step(struct emu_qp *qp)
{
	struct emu_req *req = &qp->req;
	struct emu_wqe *wqe = emu_qp_wqe(qp, req->next);

	if (req->timer_use == EMU_TIMER_RNR || req->next == emu_wq_head(&qp->sq))
		return STEP_IDLE;
	if (!wqe->started && !wqe->fault) {
		if (emu_qp_state(qp) != EMU_QPS_RTS || !may_start(qp, wqe))
			return STEP_IDLE;
		start(qp, wqe);
	}
	if (req->cut && emu_qp_state(qp) == EMU_QPS_RTS)
		wqe->fault = EMU_FAULT_NO_ANSWER;
	if (wqe->fault) {
		/* Those before it complete first, as they will. */
		if (req->una == req->next)
			emu_req_fail(qp, wqe->fault);
		return STEP_IDLE;
	}
	if ((wqe->op->flags & WR_ANSWER) && req->answers >= qp->attr.max_rd_atomic)
		return STEP_IDLE;
	return send_packet(qp, wqe);
}

/* The oldest WQE has PSNs: packets of it went out, or wait to go out (again). */
static bool has_begun(struct emu_qp *qp)
{
	return qp->req.una != emu_wq_head(&qp->sq) &&
	       emu_qp_wqe(qp, qp->req.una)->started;
}

/* IBTA 10.3.1.5: what was begun is finished, the rest is held. */
void emu_req_report_drained(struct emu_qp *qp)
{
	struct emu_req *req = &qp->req;

	if (emu_qp_state(qp) != EMU_QPS_SQD || !req->draining || has_begun(qp))
		return;
	req->draining = false;
	if (!qp->attr.en_sqd_async_notify)
		return;
	qp->dev->env->async_event(qp->dev->host, EMU_EVENT_SQ_DRAINED, qp->user);
}

bool emu_req_run(struct emu_qp *qp)
{
	enum emu_qp_state state = emu_qp_state(qp);
	int i = 0;

	if (state == EMU_QPS_SQE)
		emu_qp_flush_send(qp);
	if (state != EMU_QPS_RTS && state != EMU_QPS_SQD)
		return false;
	while (i < FRAMES_PER_RUN && step(qp) == STEP_SENT) {
		i++;
		if (qp->type == EMU_QPT_UC)
			complete_sent(qp);
	}
	emu_req_report_drained(qp);
	return i == FRAMES_PER_RUN;
}

void emu_req_seek(struct emu_qp *qp, uint32_t psn)
{
	struct emu_req *req = &qp->req;
	uint32_t head = emu_wq_head(&qp->sq);

	req->send_psn = psn;
	req->answers = 0;
	req->off = 0;
	for (req->next = req->una; req->next != head; req->next++) {
		const struct emu_wqe *wqe = emu_qp_wqe(qp, req->next);
		int32_t into;

		if (!wqe->started)
			return;
		into = emu_psn_diff(psn, wqe->first_psn);
		if (into < (int32_t)wqe->npsn) {
			req->off = (uint64_t)into * qp->mtu;
			return;
		}
		if ((wqe->op->flags & WR_ANSWER) && !wqe->answered)
			req->answers++;
	}
}
