// SPDX-License-Identifier: BSD-2-Clause
#include "wq.h"

#include <stdlib.h>
#include <string.h>

#include "ah.h"
#include "err.h"
#include "qp.h"

#define RC (1 << EMU_QPT_RC)
#define UC (1 << EMU_QPT_UC)
#define UD (1 << EMU_QPT_UD)

static const struct emu_wr_op wr_ops[EMU_WR_COUNT] = {
#define WR(name, c, tail, wc, t, f)                                                               \
	[EMU_WR_##name] = {                                                                       \
		.known = 1,                                                                       \
		.cls = EMU_CLASS_##c,                                                             \
		.tail_hdrs = tail,                                                                \
		.wc_opcode = EMU_WC_##wc,                                                         \
		.types = t,                                                                       \
		.flags = f,                                                                       \
	},
#include "wr_op.def"
#undef WR
};

const struct emu_wr_op *emu_wr_op(uint32_t opcode)
{
	return opcode < EMU_WR_COUNT && wr_ops[opcode].known ? &wr_ops[opcode] : NULL;
}

int emu_wq_init(struct emu_wq *wq, size_t wqe_size, const struct emu_wq *want)
{
	uint32_t size = 1;

	while (size < want->capacity)
		size *= 2;
	wq->capacity = want->capacity;
	wq->max_sge = want->max_sge;
	wq->max_inline = want->max_inline;
	wq->mask = size - 1;
	wqe_size += want->max_sge * sizeof(struct emu_sge);
	if (want->max_inline)
		wqe_size += (want->max_sge ? 0 : sizeof(struct emu_sge)) + want->max_inline;
	wq->stride = (uint32_t)(wqe_size + 7) & ~7u;
	wq->ring = calloc(size, wq->stride);
	return wq->ring ? 0 : -EMU_ENOMEM;
}

void emu_wq_fini(struct emu_wq *wq)
{
	free(wq->ring);
}

void emu_wq_reset(struct emu_wq *wq)
{
	atomic_store(&wq->head, 0);
	atomic_store(&wq->freed, 0);
}

static uint32_t room(struct emu_wq *wq, uint32_t head)
{
	/* Pollers free slots with release: their reads of the WQE are over. */
	return wq->capacity - (head - atomic_load_explicit(&wq->freed, memory_order_acquire));
}

static void publish(struct emu_wq *wq, uint32_t head)
{
	atomic_store_explicit(&wq->head, head, memory_order_release);
}

static uint64_t list_length(const struct emu_sge *sge, uint32_t n)
{
	return emu_sgl_length(&(struct emu_sgl){ .sge = sge, .n = n });
}

/* IBTA C10-96: a WR is refused at once when it can be seen to be wrong. */
static bool postable(const struct emu_qp *qp, const struct emu_send_wr *wr,
		     const struct emu_wr_op *op)
{
	enum emu_qp_state state = emu_qp_state(qp);

	if (state < EMU_QPS_RTS)
		return false;
	if (!op || !(op->types & (1 << qp->type)) || wr->num_sge > qp->sq.max_sge)
		return false;
	if (qp->type == EMU_QPT_UD && !wr->ah)
		return false;
	if ((op->flags & WR_ANSWER) && qp->attr.max_rd_atomic == 0 && state != EMU_QPS_ERR)
		return false;
	if (!(wr->flags & EMU_SEND_INLINE))
		return true;
	return (op->flags & WR_INLINE) &&
	       list_length(wr->sg_list, wr->num_sge) <= qp->sq.max_inline;
}

static void take_inline(struct emu_qp *qp, struct emu_wqe *wqe, const struct emu_send_wr *wr)
{
	uint32_t slots = qp->sq.max_sge ? qp->sq.max_sge : 1;
	uint8_t *data = (uint8_t *)(wqe->sge + slots);
	uint8_t *end = data;

	for (uint32_t i = 0; i < wr->num_sge; i++) {
		const struct emu_sge *s = &wr->sg_list[i];

		if (s->length)
			memcpy(end, (const void *)(uintptr_t)s->addr, s->length);
		end += s->length;
	}
	wqe->num_sge = end > data;
	wqe->sge[0] = (struct emu_sge){ (uintptr_t)data, (uint32_t)(end - data), 0 };
}

void emu_inline_to_tx(const struct emu_wqe *wqe, uint64_t off, uint64_t len, struct emu_tx *tx)
{
	if (!len)
		return;
	tx->iov[0] = (struct emu_iov){ (void *)(uintptr_t)(wqe->sge[0].addr + off), len };
	tx->mr[0] = NULL;
	tx->niov = 1;
	tx->payload = len;
}

static void store(struct emu_qp *qp, struct emu_wqe *wqe, const struct emu_send_wr *wr)
{
	*wqe = (struct emu_wqe){
		.wr_id = wr->wr_id,
		.op = emu_wr_op(wr->opcode),
		.opcode = wr->opcode,
		.flags = wr->flags | (qp->sq_sig_all ? EMU_SEND_SIGNALED : 0),
		.imm = wr->imm_data,
		.rkey = wr->rkey,
		.remote_addr = wr->remote_addr,
		.compare_add = wr->compare_add,
		.swap = wr->swap,
		.ah = qp->type == EMU_QPT_UD ? wr->ah : NULL,
		.remote_qpn = wr->remote_qpn,
		.remote_qkey = wr->remote_qkey,
		.length = list_length(wr->sg_list, wr->num_sge),
		.num_sge = (uint8_t)wr->num_sge,
	};
	if (wr->flags & EMU_SEND_INLINE)
		take_inline(qp, wqe, wr);
	else if (wr->num_sge)
		memcpy(wqe->sge, wr->sg_list, wr->num_sge * sizeof(*wqe->sge));
	if (wqe->ah)
		emu_ah_hold(wqe->ah);
}

int emu_post_send_all(struct emu_qp *qp, const struct emu_send_wr *wr, uint32_t n)
{
	struct emu_wq *sq = &qp->sq;
	uint32_t head = atomic_load_explicit(&sq->head, memory_order_relaxed);

	for (uint32_t i = 0; i < n; i++) {
		if (!postable(qp, &wr[i], emu_wr_op(wr[i].opcode)))
			return -EMU_EINVAL;
	}
	if (n > room(sq, head))
		return -EMU_ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		store(qp, emu_wq_slot(sq, head + i), &wr[i]);
	publish(sq, head + n);
	return 0;
}

int emu_post_send(struct emu_qp *qp, const struct emu_send_wr *wr)
{
	return emu_post_send_all(qp, wr, 1);
}

void emu_rqe_fill(struct emu_rqe *rqe, const struct emu_recv_wr *wr)
{
	rqe->wr_id = wr->wr_id;
	rqe->num_sge = wr->num_sge;
	if (wr->num_sge)
		memcpy(rqe->sge, wr->sg_list, wr->num_sge * sizeof(*rqe->sge));
}

int emu_post_recv(struct emu_qp *qp, const struct emu_recv_wr *wr)
{
	struct emu_wq *rq = &qp->rq;
	uint32_t head = atomic_load_explicit(&rq->head, memory_order_relaxed);

	if (qp->srq || wr->num_sge > rq->max_sge)
		return -EMU_EINVAL;
	if (!room(rq, head))
		return -EMU_ENOMEM;
	emu_rqe_fill(emu_wq_slot(rq, head), wr);
	publish(rq, head + 1);
	return 0;
}
