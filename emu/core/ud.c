// SPDX-License-Identifier: BSD-2-Clause
#include "ud.h"

#include <string.h>

#include "ah.h"
#include "cm/door.h"
#include "mcast.h"
#include "psn.h"
#include "recv.h"
#include "req.h"

#define DATAGRAMS_PER_RUN 16
#define MULTICAST_QPN 0xffffffu
#define CM_QP 1u /* of each slot */
/* A Q_Key with this bit in a WR means the QP's own (IBTA 10.2.5). */
#define CONTROLLED_QKEY 0x80000000u
#define GRH_BYTES 40
#define UDP_PROTOCOL 17
#define IPV4_BYTES 20
/* UDP, BTH, DETH and ICRC: what an IPv4 header counts beside the payload. */
#define ROCE_OVERHEAD (8 + 12 + 8 + 4)

/* ---- sending ------------------------------------------------------------- */

static enum emu_fault check_local(const struct emu_qp *qp, const struct emu_wqe *wqe)
{
	struct emu_sgl sgl = { qp->pd, wqe->sge, wqe->num_sge };

	if (wqe->length > qp->mtu)
		return EMU_FAULT_LOCAL_LENGTH;
	if (wqe->ah->pd != qp->pd)
		return EMU_FAULT_LOCAL_OP;
	if (wqe->flags & EMU_SEND_INLINE)
		return EMU_PASS;
	return emu_fault_of_verdict(emu_sgl_check(&sgl, 0));
}

/* The peer of this datagram; kept, since the next one often goes there too. */
static struct wire_peer *find_peer(struct emu_qp *qp, const struct emu_wqe *wqe)
{
	struct emu_dev *dev = qp->dev;
	const struct emu_gid *dgid = &wqe->ah->attr.dgid;
	uint32_t slot = wqe->remote_qpn >> EMU_SLOT_SHIFT;
	struct wire_peer *peer;

	if (qp->peer && qp->ud_slot == slot && !memcmp(&qp->ud_dgid, dgid, sizeof(*dgid)))
		return qp->peer;
	peer = dev->env->peer_get(dev->host, dgid, wqe->remote_qpn);
	if (!peer)
		return NULL;
	if (qp->peer)
		qp->peer->ops->put(qp->peer);
	qp->peer = peer;
	qp->ud_slot = slot;
	qp->ud_dgid = *dgid;
	return peer;
}

static void make_packet(struct emu_qp *qp, const struct emu_wqe *wqe, struct emu_pkt *pkt)
{
	const struct emu_ah_attr *path = &wqe->ah->attr;
	bool own_qkey = wqe->remote_qkey & CONTROLLED_QKEY;

	*pkt = (struct emu_pkt){
		.op = emu_opcode_find(EMU_QPT_UD, EMU_CLASS_DATAGRAM, EMU_POS_ONLY,
				      wqe->op->tail_hdrs),
		.solicited = wqe->flags & EMU_SEND_SOLICITED,
		.dqpn = wqe->remote_qpn,
		.psn = qp->req.psn,
		.imm = wqe->imm,
		.qkey = own_qkey ? qp->attr.qkey : wqe->remote_qkey,
		.src_qpn = qp->qpn,
		.grh = {
			.traffic_class = path->traffic_class,
			.hop_limit = path->hop_limit,
			.flow_label = path->flow_label,
			.sgid = qp->dev->cfg.port.gid[path->sgid_index],
			.dgid = path->dgid,
		},
	};
}

static enum wire_sent send_datagram(struct emu_qp *qp, const struct emu_wqe *wqe)
{
	struct wire_peer *peer = find_peer(qp, wqe);
	struct emu_tx *tx = emu_dev_tx(qp->dev);
	struct emu_sgl sgl = { qp->pd, wqe->sge, wqe->num_sge };
	struct emu_pkt pkt;

	if (!peer)
		return WIRE_DONE; /* no memory: lost, as datagrams may be */
	make_packet(qp, wqe, &pkt);
	tx->hdr_len = emu_pkt_pack(&pkt, tx->hdr);
	if (wqe->flags & EMU_SEND_INLINE)
		emu_inline_to_tx(wqe, 0, wqe->length, tx);
	else if (emu_sgl_to_tx(&sgl, 0, wqe->length, tx))
		return WIRE_FAULT;
	return emu_dev_send(qp->dev, peer);
}

bool emu_ud_run(struct emu_qp *qp)
{
	struct emu_req *req = &qp->req;

	if (emu_qp_state(qp) == EMU_QPS_SQE)
		emu_qp_flush_send(qp);
	for (int i = 0; i < DATAGRAMS_PER_RUN; i++) {
		const struct emu_wqe *wqe = emu_qp_wqe(qp, req->una);
		enum emu_fault fault;
		enum wire_sent sent;

		if (emu_qp_state(qp) != EMU_QPS_RTS || req->una == emu_wq_head(&qp->sq))
			break;
		fault = check_local(qp, wqe);
		sent = fault ? WIRE_FAULT : send_datagram(qp, wqe);
		if (sent == WIRE_BUSY) {
			emu_dev_wait_writable(qp->dev, qp);
			return false;
		}
		if (sent == WIRE_FAULT) {
			emu_req_fail(qp, fault ? fault : EMU_FAULT_LOCAL_KEY);
			return false;
		}
		req->psn = emu_psn_add(req->psn, 1);
		emu_qp_complete_send(qp, EMU_WC_SUCCESS, 0);
	}
	emu_req_report_drained(qp);
	return emu_qp_state(qp) == EMU_QPS_RTS && req->una != emu_wq_head(&qp->sq);
}

/* ---- receiving ----------------------------------------------------------- */

static bool mapped_ipv4(const struct emu_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

/* Annex A17.4.5.2: an IPv4 header stands in the last 20 of the GRH's 40 bytes. */
static void put_ipv4(const struct emu_pkt *pkt, uint8_t *p)
{
	uint32_t len = IPV4_BYTES + ROCE_OVERHEAD + pkt->payload_len;
	uint32_t sum = 0;

	p[0] = 0x45;
	p[1] = pkt->grh.traffic_class;
	p[2] = (uint8_t)(len >> 8);
	p[3] = (uint8_t)len;
	p[6] = 0x40; /* don't fragment */
	p[8] = pkt->grh.hop_limit;
	p[9] = UDP_PROTOCOL;
	memcpy(p + 12, &pkt->grh.sgid.raw[12], 4);
	memcpy(p + 16, &pkt->grh.dgid.raw[12], 4);
	for (int i = 0; i < IPV4_BYTES; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	p[10] = (uint8_t)(sum >> 8);
	p[11] = (uint8_t)sum;
}

static void put_ipv6(const struct emu_pkt *pkt, uint8_t *p)
{
	const struct emu_grh *grh = &pkt->grh;
	uint32_t len = ROCE_OVERHEAD + pkt->payload_len;

	p[0] = 0x60 | grh->traffic_class >> 4;
	p[1] = (uint8_t)(grh->traffic_class << 4) | (grh->flow_label >> 16 & 0xf);
	p[2] = (uint8_t)(grh->flow_label >> 8);
	p[3] = (uint8_t)grh->flow_label;
	p[4] = (uint8_t)(len >> 8);
	p[5] = (uint8_t)len;
	p[6] = UDP_PROTOCOL;
	p[7] = grh->hop_limit;
	memcpy(p + 8, &grh->sgid, sizeof(grh->sgid));
	memcpy(p + 24, &grh->dgid, sizeof(grh->dgid));
}

static enum emu_sgl_put place(const struct emu_sgl *sgl, const struct emu_pkt *pkt)
{
	uint8_t grh[GRH_BYTES] = { 0 };
	enum emu_sgl_put put;

	if (mapped_ipv4(&pkt->grh.dgid))
		put_ipv4(pkt, grh + GRH_BYTES - IPV4_BYTES);
	else
		put_ipv6(pkt, grh);
	put = emu_sgl_put(sgl, 0, grh, sizeof(grh));
	return put ? put : emu_sgl_put(sgl, GRH_BYTES, pkt->payload, pkt->payload_len);
}

static bool can_receive(const struct emu_qp *qp)
{
	enum emu_qp_state state = emu_qp_state(qp);

	return state >= EMU_QPS_RTR && state <= EMU_QPS_SQE;
}

/* IBTA 9.8.3.2: wrong Q_Key, no receive, receive too small: dropped, nobody is told. */
static bool acceptable(struct emu_qp *qp, const struct emu_pkt *pkt, const struct emu_sgl *sgl)
{
	return pkt->qkey == qp->attr.qkey && pkt->payload_len <= qp->mtu &&
	       emu_sgl_length(sgl) >= (uint64_t)GRH_BYTES + pkt->payload_len;
}

void emu_ud_deliver(struct emu_qp *qp, const struct emu_pkt *pkt)
{
	struct emu_sgl sgl;
	struct emu_wc wc = {
		.status = EMU_WC_SUCCESS,
		.opcode = EMU_WC_RECV,
		.byte_len = GRH_BYTES + pkt->payload_len,
		.src_qp = pkt->src_qpn,
		.wc_flags = EMU_WC_GRH,
	};

	if (!can_receive(qp) || !emu_recv_next(qp, &sgl) || !acceptable(qp, pkt, &sgl))
		return;
	emu_recv_take(qp);
	if (place(&sgl, pkt)) {
		wc = (struct emu_wc){ .status = emu_fault_row(EMU_FAULT_RECV_SGE)->recv_status };
		emu_recv_complete(qp, &wc, false);
		emu_qp_error(qp);
		return;
	}
	if (pkt->op->hdrs & EMU_HDR_IMM) {
		wc.wc_flags |= EMU_WC_WITH_IMM;
		wc.imm_data = pkt->imm;
	}
	emu_recv_complete(qp, &wc, pkt->solicited);
}

static bool is_for_cm(const struct emu_dev *dev, uint32_t qpn)
{
	return (qpn & (EMU_SLOT_QPNS - 1)) == CM_QP &&
	       emu_dev_has_slot(dev, qpn >> EMU_SLOT_SHIFT);
}

void emu_ud_input(struct emu_dev *dev, const struct wire_peer *src, const struct emu_pkt *pkt)
{
	struct emu_qp *qp;

	if (pkt->dqpn == MULTICAST_QPN) {
		emu_mcast_input(dev, pkt);
		return;
	}
	if (is_for_cm(dev, pkt->dqpn)) {
		emu_cm_input(dev, src, pkt);
		return;
	}
	qp = emu_dev_qp(dev, pkt->dqpn);
	if (!qp || qp->type != EMU_QPT_UD) {
		dev->counters.rx_unknown_qp++;
		return;
	}
	dev->counters.rx_packets++;
	dev->counters.rx_bytes += pkt->payload_len;
	emu_ud_deliver(qp, pkt);
}
