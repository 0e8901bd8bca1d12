// SPDX-License-Identifier: BSD-2-Clause
/*
 * The responder's answers. READ and atomic responses go first, in the order of
 * their PSNs; an ACK or NAK waits for them, since it acknowledges them.
 */
#include "psn.h"
#include "recv.h"
#include "resp.h"

#define FRAMES_PER_RUN 16

static struct emu_rdres *oldest_pending(const struct emu_qp *qp)
{
	const struct emu_resp *resp = &qp->resp;
	uint32_t n = resp->res_size;

	for (uint32_t i = 0; resp->res_pending && i < n; i++) {
		struct emu_rdres *res = &resp->res[(resp->res_next + i) % n];

		if (res->pending)
			return res;
	}
	return NULL;
}

static enum wire_sent send_packet(struct emu_qp *qp, struct emu_pkt *pkt)
{
	struct emu_tx *tx = qp->dev->tx;

	pkt->dqpn = qp->attr.dest_qp_num;
	pkt->msn = qp->resp.msn;
	tx->hdr_len = emu_pkt_pack(pkt, tx->hdr);
	return emu_dev_send(qp->dev, qp->peer);
}

static enum emu_fault add_payload(struct emu_qp *qp, const struct emu_rdres *res, uint32_t len,
				  struct emu_tx *tx)
{
	struct emu_access_req req = { res->va + res->sent, len, res->rkey,
				      EMU_ACCESS_REMOTE_READ };
	struct emu_mr *mr;

	if (len == 0)
		return EMU_PASS;
	/* The region may be gone since the request came. */
	if (emu_mr_check_remote(qp->pd, &req, &mr))
		return EMU_FAULT_RKEY;
	tx->iov[0] = (struct emu_iov){ emu_mr_host(mr, req.va), len };
	tx->mr[0] = mr;
	tx->niov = 1;
	tx->payload = len;
	return EMU_PASS;
}

static void response_done(struct emu_qp *qp, struct emu_rdres *res)
{
	res->pending = false;
	qp->resp.res_pending--;
}

/* The rest of the response cannot be had: refuse it where it stands. */
static void refuse(struct emu_qp *qp, uint32_t psn, enum emu_fault fault)
{
	struct emu_resp *resp = &qp->resp;

	for (uint32_t i = 0; i < resp->res_size; i++)
		resp->res[i].pending = false;
	resp->res_pending = 0;
	resp->epsn = psn;
	resp->fault = fault;
	resp->nak_syndrome = emu_fault_row(fault)->syndrome;
}

static enum wire_sent send_read_response(struct emu_qp *qp, struct emu_rdres *res)
{
	uint32_t room = qp->peer->max_payload / qp->mtu * qp->mtu;
	uint32_t left = res->len - res->sent;
	uint32_t len = left < room || (!room && left < qp->mtu) ? left : room ? room : qp->mtu;
	uint8_t pos = (res->sent ? 0 : EMU_POS_FIRST) | (len == left ? EMU_POS_LAST : 0);
	struct emu_pkt pkt = {
		.op = emu_opcode_find(EMU_QPT_RC, EMU_CLASS_READ_RESP, pos, 0),
		.psn = emu_psn_add(res->first_psn, res->sent / qp->mtu),
		.syndrome = EMU_AETH_ACK,
	};
	enum emu_fault fault = add_payload(qp, res, len, emu_dev_tx(qp->dev));
	enum wire_sent sent = fault ? WIRE_FAULT : send_packet(qp, &pkt);

	if (sent == WIRE_BUSY)
		return sent;
	/*
	 * Asked again by a late duplicate, the program may rightly have given up
	 * the region since: no reason to end the QP.
	 */
	if (sent == WIRE_FAULT && res->again) {
		response_done(qp, res);
		return sent;
	}
	if (sent == WIRE_FAULT) {
		refuse(qp, pkt.psn, fault ? fault : EMU_FAULT_MEMORY_GONE);
		return sent;
	}
	res->sent += len;
	if (len == left)
		response_done(qp, res);
	return sent;
}

static enum wire_sent send_atomic_response(struct emu_qp *qp, struct emu_rdres *res)
{
	struct emu_pkt pkt = {
		.op = emu_opcode(EMU_PKT_ATOMIC_ACK),
		.psn = res->first_psn,
		.syndrome = EMU_AETH_ACK,
		.orig = res->orig,
	};
	enum wire_sent sent;

	emu_dev_tx(qp->dev);
	sent = send_packet(qp, &pkt);
	if (sent != WIRE_BUSY)
		response_done(qp, res);
	return sent;
}

static enum wire_sent send_ack(struct emu_qp *qp)
{
	struct emu_resp *resp = &qp->resp;
	struct emu_pkt pkt = {
		.op = emu_opcode(EMU_PKT_ACK),
		.psn = resp->nak_syndrome ? resp->epsn : emu_psn_add(resp->epsn, EMU_PSN_MASK),
		.syndrome = resp->nak_syndrome ? resp->nak_syndrome : EMU_AETH_ACK,
	};
	enum wire_sent sent;

	emu_dev_tx(qp->dev);
	sent = send_packet(qp, &pkt);
	if (sent == WIRE_BUSY)
		return sent;
	resp->nak_syndrome = 0;
	resp->ack_due = false;
	return sent;
}

/* The NAK is out: complete the receive in work, flush, tell the program. */
static void end(struct emu_qp *qp)
{
	const struct emu_fault_row *row = emu_fault_row(qp->resp.fault);
	const struct emu_wc wc = { .status = row->recv_status };

	if (row->recv_status != EMU_WC_SUCCESS)
		emu_recv_complete(qp, &wc, false);
	emu_qp_error_event(qp, row->event);
}

bool emu_resp_run(struct emu_qp *qp)
{
	struct emu_resp *resp = &qp->resp;
	struct emu_rdres *res;

	for (int i = 0; (res = oldest_pending(qp)); i++) {
		enum wire_sent sent;

		if (i == FRAMES_PER_RUN)
			return true;
		sent = res->atomic ? send_atomic_response(qp, res) : send_read_response(qp, res);
		if (sent == WIRE_BUSY)
			goto busy;
	}
	if ((resp->nak_syndrome || resp->ack_due) && send_ack(qp) == WIRE_BUSY)
		goto busy;
	if (resp->fault)
		end(qp);
	return false;

busy:
	emu_dev_wait_writable(qp->dev, qp);
	return false;
}
