/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues. The engine pushes under the device lock, one poller at a
 * time pops beside it: a ring with one producer and one consumer.
 */
#ifndef EMU_CQ_H
#define EMU_CQ_H

#include <stdatomic.h>

#include "dev.h"

struct emu_cqe {
	struct emu_wc wc;
	union { /* where polling reports the slot; NULL once the queue is gone */
		_Atomic uint32_t *freed;
		struct emu_srq *srq;
	};
	uint32_t slot_end; /* queue index behind the completed WQE, or the SRQ's slot */
	bool of_srq;
};

struct emu_cq {
	struct emu_dev *dev;
	void *user;
	uint32_t capacity; /* as asked */
	uint32_t mask; /* of the ring, a power of two */
	uint32_t refs; /* QPs that use it, counted once a direction */
	bool overrun; /* takes no more, for ever */
	_Atomic uint32_t head; /* written by the engine */
	_Atomic uint32_t tail; /* written by the poller */
	_Atomic uint32_t arm; /* enum emu_arm */
	struct emu_cqe *ring;
};

/*
 * Add a completion. solicited: fires a solicited-only arm (errors always do).
 * On overrun the CQ dies, with an event, and its QPs follow (emu_run).
 */
void emu_cq_push(struct emu_cq *cq, const struct emu_cqe *cqe, bool solicited);
/*
 * The QP's queues go: no completion of it may touch them any more. What it took
 * from an SRQ is given back now. Keeps pollers out.
 */
void emu_cq_forget(struct emu_cq *cq, uint32_t qpn);

#endif
