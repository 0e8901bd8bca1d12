/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: two work queues and, for RC and UC, a requester (req.c) with its
 * completer (comp.c) and a responder (resp.c). All but the rings, state and
 * the rung flag is owned by the device lock.
 */
#ifndef EMU_QP_H
#define EMU_QP_H

#include "cq.h"
#include "dev.h"
#include "mr.h"
#include "sge.h"
#include "wq.h"

enum emu_timer_use {
	EMU_TIMER_OFF,
	EMU_TIMER_ACK, /* local ACK timeout */
	EMU_TIMER_GRACE, /* a probe was answered: the ACK may be right behind */
	EMU_TIMER_RNR, /* the peer was not ready */
};

/*
 * The requester. Indexes of the SQ: una <= next <= head. WQEs from una to next
 * have been started; the one at next may be partly sent.
 */
struct emu_req {
	uint32_t una; /* oldest WQE not completed */
	uint32_t next; /* WQE to send from */
	uint64_t off; /* bytes of it already sent */
	uint32_t psn; /* next PSN to give away */
	uint32_t send_psn; /* PSN of the next packet to send; psn unless something is sent again */
	uint32_t sent_psn; /* behind the last packet ever sent */
	uint32_t una_psn; /* oldest PSN without an answer */
	uint32_t answers; /* READs and atomics sent and not answered */
	uint32_t since_ack_req; /* frames since one asked for an ACK */
	uint8_t retry, rnr_retry; /* tries left */
	uint8_t timer_use; /* enum emu_timer_use */
	bool probing; /* the wire was asked whether the peer is alive */
	bool cut; /* fast_death: the link broke in a pause; the next request fails */
	bool resent; /* for a lost response; not again before there is progress or a timeout */
	bool draining; /* SQD reached, not all that was begun is finished */
};

/* A READ or atomic at the responder, kept for replay until its place is needed. */
struct emu_rdres {
	uint32_t first_psn, npsn;
	uint64_t va;
	uint32_t rkey, len;
	uint32_t sent; /* READ: bytes of the response already sent */
	uint64_t orig; /* atomic: the result */
	bool atomic, used;
	bool pending; /* the response is not sent yet */
	bool again; /* it was sent before */
};

enum emu_nak_state {
	EMU_NAK_NONE,
	EMU_NAK_SENT, /* out of sequence until epsn comes: stay silent (IBTA C9-112) */
};

/* The responder. */
struct emu_resp {
	uint32_t epsn; /* expected PSN */
	uint32_t msn; /* messages completed */
	uint32_t next; /* RQ index of the receive that is next or in work; SRQ slot of that in work */
	bool taken; /* a receive is in work */
	uint8_t msg; /* enum emu_pkt_class of the message in progress, or NONE */
	uint8_t nak_state;
	uint8_t fault; /* enum emu_fault that ends the QP once its NAK is out */
	uint8_t nak_syndrome; /* to send; 0: none */
	bool ack_due;
	bool comm_est; /* COMM_EST reported */
	uint64_t recv_off; /* SEND: bytes placed */
	uint64_t va; /* WRITE: where the next byte goes */
	uint32_t rkey;
	uint32_t left; /* WRITE: bytes to come */
	uint32_t written; /* WRITE: bytes of the whole message */
	struct emu_rdres *res; /* ring, the oldest at res_next */
	uint32_t res_size; /* at least max_dest_rd_atomic */
	uint32_t res_next; /* place of the next one */
	uint32_t res_pending;
};

struct emu_qp {
	struct emu_dev *dev;
	struct emu_pd *pd;
	struct emu_cq *send_cq, *recv_cq;
	struct emu_srq *srq; /* NULL: messages land in rq */
	void *user;
	enum emu_qp_type type;
	uint32_t qpn;
	bool sq_sig_all;
	_Atomic uint32_t state; /* enum emu_qp_state */
	struct emu_qp_attr attr; /* as set; state and PSNs live elsewhere */
	struct emu_qp_cap cap;
	uint32_t mtu; /* bytes */
	struct wire_peer *peer; /* RC: from RTR on; UD: of the last destination */
	struct emu_gid ud_dgid; /* UD: the last destination */
	uint32_t ud_slot;
	uint32_t mcasts; /* UD: groups attached */
	struct emu_wq sq, rq;
	struct emu_req req;
	struct emu_resp resp;
	struct emu_timer timer;

	_Atomic bool rung; /* on dev->rung, or about to be */
	struct emu_qp *rung_next;
	struct emu_qp_list *list; /* ready or busy, or NULL */
	struct emu_qp *prev, *next;
};

static inline void emu_qp_set_state(struct emu_qp *qp, enum emu_qp_state state)
{
	atomic_store_explicit(&qp->state, state, memory_order_release);
}

/* Serve the QP: a bounded amount of sending. True when it has more to do. */
bool emu_qp_run(struct emu_qp *qp);
/* To ERR: what is outstanding completes with WR_FLUSH_ERR, in order. */
void emu_qp_error(struct emu_qp *qp);
/* Also tells the program why. */
void emu_qp_error_event(struct emu_qp *qp, enum emu_event_type event);
/* In ERR: flush what is posted. */
void emu_qp_flush(struct emu_qp *qp);
/* The send queue's half of it, for SQE. */
void emu_qp_flush_send(struct emu_qp *qp);
/* To the state after creation; drops the peer. */
void emu_qp_reset(struct emu_qp *qp);
/* Complete the SQ's WQE at una with this status, and step over it. */
void emu_qp_complete_send(struct emu_qp *qp, enum emu_wc_status status, uint32_t vendor_err);

static inline struct emu_wqe *emu_qp_wqe(const struct emu_qp *qp, uint32_t index)
{
	return emu_wq_slot(&qp->sq, index);
}

#endif
