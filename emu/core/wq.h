/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queues: rings that a poster fills beside the device lock and the engine
 * empties under it. A slot is free again when the completion of its WQE, or of
 * a later one, has been polled (as on hardware), so freed is written by
 * pollers. Indexes run freely; ring sizes are powers of two.
 */
#ifndef EMU_WQ_H
#define EMU_WQ_H

#include <stdatomic.h>

#include <emu/types.h>
#include <emu/wire.h>

#include "fault.h"

enum emu_wr_flags {
	WR_INLINE = 1 << 0, /* may carry inline data */
	WR_ANSWER = 1 << 1, /* completes with data from the peer */
	WR_INTO_MEMORY = 1 << 2, /* writes into its SGEs */
	WR_LOCAL = 1 << 3, /* sends nothing */
};

struct emu_wr_op {
	uint8_t known; /* 0: no such opcode */
	uint8_t cls; /* enum emu_pkt_class */
	uint8_t tail_hdrs; /* on the last packet */
	uint8_t wc_opcode; /* enum emu_wc_opcode */
	uint16_t types; /* 1 << enum emu_qp_type */
	uint16_t flags; /* enum emu_wr_flags */
};

/* NULL: unknown opcode. */
const struct emu_wr_op *emu_wr_op(uint32_t opcode);

struct emu_wq {
	uint8_t *ring;
	uint32_t stride, mask;
	uint32_t capacity, max_sge, max_inline; /* as granted */
	_Atomic uint32_t head; /* behind the last posted; written by the poster */
	_Atomic uint32_t freed; /* before the oldest slot in use; written by pollers */
};

struct emu_wqe {
	uint64_t wr_id;
	const struct emu_wr_op *op;
	uint32_t opcode; /* enum emu_wr_opcode */
	uint32_t flags; /* enum emu_send_flags, SIGNALED set by sq_sig_all too */
	uint32_t imm;
	uint32_t rkey;
	uint64_t remote_addr;
	uint64_t compare_add, swap;
	struct emu_ah *ah; /* UD; held */
	uint32_t remote_qpn, remote_qkey; /* UD */
	uint64_t length;
	uint32_t first_psn, npsn; /* valid once started */
	uint32_t held; /* UC: packets of it that a wire still reads */
	uint8_t started; /* has PSNs */
	uint8_t fault; /* enum emu_fault of its own, kept until all before it are done */
	uint8_t answered; /* the last response has arrived */
	uint8_t num_sge;
	struct emu_sge sge[]; /* inline data: one SGE with the address in the slot, lkey unused */
};

struct emu_rqe {
	uint64_t wr_id;
	uint32_t num_sge;
	struct emu_sge sge[];
};

/* Write a receive into its slot, which has room for its SGEs. */
void emu_rqe_fill(struct emu_rqe *rqe, const struct emu_recv_wr *wr);

/* Room for capacity WQEs of fixed size plus max_sge SGEs plus max_inline bytes. 0, -ENOMEM. */
int emu_wq_init(struct emu_wq *wq, size_t wqe_size, const struct emu_wq *want);
void emu_wq_fini(struct emu_wq *wq);
/* All slots free, nothing posted. Keeps posters and pollers out. */
void emu_wq_reset(struct emu_wq *wq);

/* Inline data of [off, off + len) as the one piece of tx. */
void emu_inline_to_tx(const struct emu_wqe *wqe, uint64_t off, uint64_t len, struct emu_tx *tx);

static inline void *emu_wq_slot(const struct emu_wq *wq, uint32_t index)
{
	return wq->ring + (size_t)(index & wq->mask) * wq->stride;
}

/* Engine: behind the last WQE that may be read. */
static inline uint32_t emu_wq_head(struct emu_wq *wq)
{
	return atomic_load_explicit(&wq->head, memory_order_acquire);
}

#endif
