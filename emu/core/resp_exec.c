// SPDX-License-Identifier: BSD-2-Clause
/* What the responder does with a request that passed every check. */
#include <string.h>

#include "psn.h"
#include "recv.h"
#include "resp.h"

static void finish(struct emu_qp *qp, const struct emu_pkt *pkt, uint32_t npsn)
{
	struct emu_resp *resp = &qp->resp;
	bool last = pkt->op->pos & EMU_POS_LAST;

	resp->epsn = emu_psn_add(resp->epsn, npsn);
	resp->nak_state = EMU_NAK_NONE;
	if (resp->nak_syndrome) { /* not sent yet, and what it asks for has come */
		resp->nak_syndrome = 0;
		resp->ack_due = true;
	}
	resp->msg = last ? EMU_CLASS_NONE : pkt->op->cls;
	if (last)
		resp->msn = emu_psn_add(resp->msn, 1);
	if (pkt->ack_req)
		resp->ack_due = true;
	if (resp->ack_due || resp->res_pending)
		emu_dev_ready(qp->dev, qp);
}

static void finish_data(struct emu_qp *qp, const struct emu_pkt *pkt)
{
	finish(qp, pkt, emu_pkt_count(pkt->payload_len, qp->mtu));
}

static void complete_receive(struct emu_qp *qp, const struct emu_pkt *pkt,
			     enum emu_wc_opcode opcode, uint64_t bytes)
{
	struct emu_wc wc = {
		.status = EMU_WC_SUCCESS,
		.opcode = opcode,
		.byte_len = (uint32_t)bytes,
	};

	if (pkt->op->hdrs & EMU_HDR_IMM) {
		wc.wc_flags = EMU_WC_WITH_IMM;
		wc.imm_data = pkt->imm;
	}
	emu_recv_complete(qp, &wc, pkt->solicited);
}

static enum emu_fault execute_send(struct emu_qp *qp, struct emu_pkt *pkt)
{
	struct emu_resp *resp = &qp->resp;
	struct emu_sgl sgl;
	static const enum emu_fault fault_of_put[] = {
		[EMU_SGL_PUT_SHORT] = EMU_FAULT_RECV_TOO_SHORT,
		[EMU_SGL_PUT_REFUSED] = EMU_FAULT_RECV_SGE,
	};
	enum emu_sgl_put put;

	if (pkt->op->pos & EMU_POS_FIRST)
		resp->recv_off = 0;
	emu_recv_next(qp, &sgl);
	put = emu_sgl_put(&sgl, resp->recv_off, pkt->payload, pkt->payload_len);
	if (put)
		return fault_of_put[put];
	resp->recv_off += pkt->payload_len;
	finish_data(qp, pkt);
	/* Only a key made to be invalidated may be: no plain region's (IBTA C10-9). */
	if (pkt->op->hdrs & EMU_HDR_IETH)
		return EMU_FAULT_BAD_INVALIDATE;
	if (pkt->op->pos & EMU_POS_LAST)
		complete_receive(qp, pkt, EMU_WC_RECV, resp->recv_off);
	return EMU_PASS;
}

static enum emu_fault execute_write(struct emu_qp *qp, struct emu_pkt *pkt)
{
	struct emu_resp *resp = &qp->resp;
	struct emu_access_req req = { .access = EMU_ACCESS_REMOTE_WRITE };
	struct emu_mr *mr;

	if (pkt->op->pos & EMU_POS_FIRST) {
		resp->va = pkt->va;
		resp->rkey = pkt->rkey;
		resp->left = resp->written = pkt->len;
	}
	if (pkt->payload_len) {
		req.va = resp->va;
		req.len = pkt->payload_len;
		req.key = resp->rkey;
		if (emu_mr_check_remote(qp->pd, &req, &mr))
			return EMU_FAULT_RKEY;
		if (qp->dev->env->copy(emu_mr_host(mr, req.va), pkt->payload, req.len))
			return EMU_FAULT_MEMORY_GONE;
	}
	resp->va += pkt->payload_len;
	resp->left -= pkt->payload_len;
	finish_data(qp, pkt);
	if (pkt->op->hdrs & EMU_HDR_IMM)
		complete_receive(qp, pkt, EMU_WC_RECV_RDMA_WITH_IMM, resp->written);
	return EMU_PASS;
}

static struct emu_rdres *new_resource(struct emu_qp *qp, const struct emu_pkt *pkt, uint32_t npsn)
{
	struct emu_resp *resp = &qp->resp;
	struct emu_rdres *res = &resp->res[resp->res_next];

	resp->res_next = (resp->res_next + 1) % resp->res_size;
	resp->res_pending += !res->pending;
	*res = (struct emu_rdres){
		.first_psn = resp->epsn,
		.npsn = npsn,
		.va = pkt->va,
		.rkey = pkt->rkey,
		.len = pkt->len,
		.used = true,
		.pending = true,
	};
	return res;
}

static enum emu_fault execute_read(struct emu_qp *qp, struct emu_pkt *pkt)
{
	uint32_t npsn = emu_pkt_count(pkt->len, qp->mtu);

	new_resource(qp, pkt, npsn);
	finish(qp, pkt, npsn);
	qp->resp.ack_due = false; /* the response acknowledges all before it */
	return EMU_PASS;
}

static enum emu_fault execute_atomic(struct emu_qp *qp, struct emu_pkt *pkt)
{
	const struct emu_env *env = qp->dev->env;
	struct emu_access_req req = { pkt->va, sizeof(uint64_t), pkt->rkey,
				      EMU_ACCESS_REMOTE_ATOMIC };
	struct emu_rdres *res;
	struct emu_mr *mr;
	uint64_t orig;
	void *word;
	int ret;

	if (emu_mr_check_remote(qp->pd, &req, &mr))
		return EMU_FAULT_RKEY;
	word = emu_mr_host(mr, pkt->va);
	/*
	 * The rule is about the VA (IBTA 9.4.5). An adapter has its regions named in
	 * step with memory; here iova may differ, and CPUs are not atomic across lines.
	 */
	if ((uintptr_t)word % sizeof(uint64_t))
		return EMU_FAULT_MISALIGNED;
	if (pkt->op->code == EMU_PKT_CMP_SWAP)
		ret = env->cas64(word, pkt->compare, pkt->swap_add, &orig);
	else
		ret = env->faa64(word, pkt->swap_add, &orig);
	if (ret)
		return EMU_FAULT_MEMORY_GONE;
	res = new_resource(qp, pkt, 1);
	res->atomic = true;
	res->orig = orig;
	finish(qp, pkt, 1);
	qp->resp.ack_due = false;
	return EMU_PASS;
}

typedef enum emu_fault (*execute_fn)(struct emu_qp *qp, struct emu_pkt *pkt);

static const execute_fn execute[] = {
	[EMU_CLASS_SEND] = execute_send,
	[EMU_CLASS_WRITE] = execute_write,
	[EMU_CLASS_READ] = execute_read,
	[EMU_CLASS_ATOMIC] = execute_atomic,
};

enum emu_fault emu_resp_execute(struct emu_qp *qp, struct emu_pkt *pkt)
{
	return execute[pkt->op->cls](qp, pkt);
}

/* Does the duplicate ask for (the end of) what this resource answered? */
static bool same_request(const struct emu_qp *qp, const struct emu_rdres *res,
			 const struct emu_pkt *pkt)
{
	uint32_t into = (uint32_t)emu_psn_diff(pkt->psn, res->first_psn);
	uint64_t off = (uint64_t)into * qp->mtu;

	if (!res->used || into >= res->npsn || res->atomic != (pkt->op->cls == EMU_CLASS_ATOMIC))
		return false;
	if (res->atomic)
		return true;
	return off + pkt->len == res->len && res->va + off == pkt->va && res->rkey == pkt->rkey;
}

/* IBTA 9.7.5.1.1: a READ is executed again, an atomic's result was kept. */
void emu_resp_replay(struct emu_qp *qp, const struct emu_pkt *pkt)
{
	struct emu_resp *resp = &qp->resp;

	for (uint32_t i = 0; i < resp->res_size; i++) {
		struct emu_rdres *res = &resp->res[i];

		if (!same_request(qp, res, pkt))
			continue;
		res->sent = res->len - pkt->len;
		if (!res->pending) {
			resp->res_pending++;
			res->pending = res->again = true;
		}
		emu_dev_ready(qp->dev, qp);
		return;
	}
}
