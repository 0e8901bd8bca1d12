// SPDX-License-Identifier: BSD-2-Clause
/*
 * The responder's checks, in the order of IBTA 9.7.4 and figure 88: the first
 * verdict that is not PASS stops. What a verdict leads to is a row of fault.def.
 */
#include "resp.h"

#include "psn.h"
#include "recv.h"

static bool is_first(const struct emu_pkt *pkt)
{
	return pkt->op->pos & EMU_POS_FIRST;
}

static bool is_last(const struct emu_pkt *pkt)
{
	return pkt->op->pos & EMU_POS_LAST;
}

static bool needs_answer(const struct emu_pkt *pkt)
{
	return pkt->op->cls == EMU_CLASS_READ || pkt->op->cls == EMU_CLASS_ATOMIC;
}

/* Part of this run was executed before: keep the rest, as what it then is. */
static void trim(const struct emu_qp *qp, struct emu_pkt *pkt, uint32_t behind)
{
	uint8_t tail = pkt->op->hdrs & (EMU_HDR_IMM | EMU_HDR_IETH);

	pkt->payload += behind * qp->mtu;
	pkt->payload_len -= behind * qp->mtu;
	pkt->psn = qp->resp.epsn;
	pkt->op = emu_opcode_find(EMU_QPT_RC, pkt->op->cls, pkt->op->pos & ~EMU_POS_FIRST, tail);
}

/* IBTA 9.7.5.1: a duplicate is answered again and not executed. */
static enum emu_fault take_duplicate(struct emu_qp *qp, struct emu_pkt *pkt, uint32_t behind)
{
	qp->dev->counters.duplicate_request++;
	if (needs_answer(pkt)) {
		emu_resp_replay(qp, pkt);
		return EMU_DROP;
	}
	if (behind < emu_pkt_count(pkt->payload_len, qp->mtu)) {
		trim(qp, pkt, behind);
		return EMU_PASS;
	}
	qp->resp.ack_due = true;
	emu_dev_ready(qp->dev, qp);
	return EMU_DROP;
}

static enum emu_fault check_psn(struct emu_qp *qp, struct emu_pkt *pkt)
{
	struct emu_resp *resp = &qp->resp;
	int32_t ahead = emu_psn_diff(pkt->psn, resp->epsn);

	if (ahead < 0)
		return take_duplicate(qp, pkt, (uint32_t)-ahead);
	if (ahead > 0)
		return resp->nak_state == EMU_NAK_SENT ? EMU_DROP : EMU_FAULT_PSN_GAP;
	return EMU_PASS;
}

static enum emu_fault check_op_sequence(struct emu_qp *qp, struct emu_pkt *pkt)
{
	uint8_t expected = is_first(pkt) ? EMU_CLASS_NONE : pkt->op->cls;

	return qp->resp.msg == expected ? EMU_PASS : EMU_FAULT_BAD_SEQUENCE;
}

static enum emu_fault check_rc_order(struct emu_qp *qp, struct emu_pkt *pkt)
{
	enum emu_fault verdict = check_psn(qp, pkt);

	return verdict ? verdict : check_op_sequence(qp, pkt);
}

/*
 * IBTA 9.8.2.2: a first packet begins a message whatever was expected; of a
 * message with a gap the rest is dropped. Nothing is ever answered.
 */
static enum emu_fault check_uc_order(struct emu_qp *qp, struct emu_pkt *pkt)
{
	struct emu_resp *resp = &qp->resp;

	pkt->ack_req = false;
	if (is_first(pkt)) {
		resp->msg = EMU_CLASS_NONE;
		resp->epsn = pkt->psn;
		return EMU_PASS;
	}
	return pkt->psn == resp->epsn && resp->msg == pkt->op->cls ? EMU_PASS : EMU_DROP;
}

static const uint32_t access_of_class[] = {
	[EMU_CLASS_SEND] = 0,
	[EMU_CLASS_WRITE] = EMU_ACCESS_REMOTE_WRITE,
	[EMU_CLASS_READ] = EMU_ACCESS_REMOTE_READ,
	[EMU_CLASS_ATOMIC] = EMU_ACCESS_REMOTE_ATOMIC,
};

static enum emu_fault check_qp_access(struct emu_qp *qp, struct emu_pkt *pkt)
{
	uint32_t needed = access_of_class[pkt->op->cls];

	return (qp->attr.access_flags & needed) == needed ? EMU_PASS : EMU_FAULT_QP_ACCESS;
}

/* IBTA C9-98 to C9-102: packets in the middle are full, a WRITE is as long as its RETH says. */
static enum emu_fault check_length(struct emu_qp *qp, struct emu_pkt *pkt)
{
	uint32_t left = is_first(pkt) ? pkt->len : qp->resp.left;
	bool full = pkt->payload_len && pkt->payload_len % qp->mtu == 0;
	bool ok;

	if (needs_answer(pkt)) {
		ok = pkt->payload_len == 0;
		if (pkt->op->cls == EMU_CLASS_ATOMIC && pkt->va % sizeof(uint64_t))
			return EMU_FAULT_MISALIGNED;
	} else if (pkt->op->cls == EMU_CLASS_SEND) {
		ok = is_last(pkt) || full;
	} else {
		ok = is_last(pkt) ? pkt->payload_len == left : full && pkt->payload_len < left;
	}
	return ok && pkt->len <= qp->dev->cfg.limits.max_msg_sz ? EMU_PASS : EMU_FAULT_BAD_LENGTH;
}

/* The RETH names the whole range: what runs out of bounds is refused before a byte is placed. */
static enum emu_fault check_rkey(struct emu_qp *qp, struct emu_pkt *pkt)
{
	struct emu_access_req req = { .access = access_of_class[pkt->op->cls] };
	struct emu_mr *mr;

	if (pkt->op->cls == EMU_CLASS_SEND)
		return EMU_PASS;
	req.va = is_first(pkt) ? pkt->va : qp->resp.va;
	req.key = is_first(pkt) ? pkt->rkey : qp->resp.rkey;
	req.len = is_first(pkt) ? pkt->len : pkt->payload_len;
	if (pkt->op->cls == EMU_CLASS_ATOMIC)
		req.len = sizeof(uint64_t);
	/* A request for nothing checks no key (IBTA C9-88). */
	if (req.len == 0)
		return EMU_PASS;
	return emu_mr_check_remote(qp->pd, &req, &mr) ? EMU_FAULT_RKEY : EMU_PASS;
}

static bool takes_receive(const struct emu_pkt *pkt)
{
	return pkt->op->cls == EMU_CLASS_SEND ? is_first(pkt) : (pkt->op->hdrs & EMU_HDR_IMM) != 0;
}

/*
 * A new request takes the place of the oldest. That one must have been answered:
 * to answer it again, as a late duplicate asked for, is of no use any more.
 */
static bool has_place(const struct emu_qp *qp)
{
	const struct emu_rdres *oldest = &qp->resp.res[qp->resp.res_next];

	return qp->attr.max_dest_rd_atomic && (!oldest->pending || oldest->again);
}

static enum emu_fault check_resources(struct emu_qp *qp, struct emu_pkt *pkt)
{
	if (needs_answer(pkt) && !has_place(qp))
		return EMU_FAULT_TOO_MANY_READS;
	if (takes_receive(pkt) && !emu_recv_take(qp))
		return EMU_NOT_READY_NAK;
	return EMU_PASS;
}

typedef enum emu_fault (*check_fn)(struct emu_qp *qp, struct emu_pkt *pkt);

static const check_fn checks[] = {
	check_qp_access, check_length, check_rkey, check_resources, emu_resp_execute,
};

static void send_nak(struct emu_qp *qp, uint8_t syndrome)
{
	qp->resp.nak_syndrome = syndrome;
	qp->resp.nak_state = EMU_NAK_SENT;
}

static void answer(struct emu_qp *qp, enum emu_fault verdict)
{
	struct emu_resp *resp = &qp->resp;

	if (verdict == EMU_DROP)
		return;
	emu_dev_ready(qp->dev, qp);
	if (verdict == EMU_NOT_READY_NAK) {
		qp->dev->counters.rnr_nak_sent++;
		send_nak(qp, EMU_AETH_RNR | qp->attr.min_rnr_timer);
	} else if (verdict == EMU_FAULT_PSN_GAP) {
		qp->dev->counters.out_of_sequence++;
		send_nak(qp, EMU_AETH_NAK_PSN_SEQ);
	} else {
		resp->fault = verdict;
		if (emu_fault_row(verdict)->syndrome != EMU_AETH_ACK)
			send_nak(qp, emu_fault_row(verdict)->syndrome);
	}
}

/*
 * IBTA 9.8.2.2.3: nobody is told of a message that is dropped, and its receive
 * waits for the next one. Only a receive that is wrong itself ends the QP.
 */
static void give_up(struct emu_qp *qp, enum emu_fault verdict)
{
	const struct emu_wc wc = { .status = emu_fault_row(EMU_FAULT_RECV_SGE)->recv_status };

	qp->resp.msg = EMU_CLASS_NONE;
	if (verdict != EMU_FAULT_RECV_SGE)
		return;
	emu_recv_complete(qp, &wc, false);
	emu_qp_error(qp);
}

/* What the transports that have a connection differ in. */
static const struct {
	check_fn order;
	void (*act)(struct emu_qp *qp, enum emu_fault verdict);
} rules[] = {
	[EMU_QPT_RC] = { check_rc_order, answer },
	[EMU_QPT_UC] = { check_uc_order, give_up },
};

/* IBTA C11-37: told once, when the first packet comes before the program's move to RTS. */
static void report_established(struct emu_qp *qp)
{
	if (qp->resp.comm_est || emu_qp_state(qp) != EMU_QPS_RTR)
		return;
	qp->resp.comm_est = true;
	qp->dev->env->async_event(qp->dev->host, EMU_EVENT_COMM_EST, qp->user);
}

void emu_resp_input(struct emu_qp *qp, struct emu_pkt *pkt)
{
	enum emu_qp_state state = emu_qp_state(qp);
	enum emu_fault verdict;

	if (state < EMU_QPS_RTR || state > EMU_QPS_SQE)
		return;
	if (qp->resp.fault)
		return;
	report_established(qp);
	verdict = rules[qp->type].order(qp, pkt);
	for (unsigned i = 0; i < sizeof(checks) / sizeof(checks[0]) && verdict == EMU_PASS; i++)
		verdict = checks[i](qp, pkt);
	if (verdict != EMU_PASS)
		rules[qp->type].act(qp, verdict);
}
