/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues. Receives are taken in the order of posting, but the
 * QPs that took them complete in any order, so slots are not freed in a ring:
 * posted is the order, and slots given back wait on a stack that any poller
 * pushes to and the poster alone empties.
 */
#ifndef EMU_SRQ_H
#define EMU_SRQ_H

#include <stdatomic.h>

#include "dev.h"
#include "wq.h"

struct emu_srq {
	struct emu_dev *dev;
	struct emu_pd *pd; /* of its SGEs, whatever the PDs of its QPs (IBTA 10.2.9.2) */
	void *user;
	uint32_t max_wr, max_sge; /* as granted */
	uint32_t limit; /* armed when not 0 */
	uint32_t refs; /* QPs that use it */

	uint8_t *slots;
	uint32_t stride;
	uint32_t *posted; /* ring of slot numbers, first posted first */
	uint32_t mask; /* of that ring */
	_Atomic uint32_t head; /* behind the last posted; written by the poster */
	uint32_t tail; /* the next to be taken */

	uint32_t *link; /* slot -> the free one below it, plus one; 0: none */
	uint32_t spare; /* poster: free slots of its own */
	_Atomic uint32_t given; /* free slots given back */
};

/* The receive that the next message takes, or NULL. */
const struct emu_rqe *emu_srq_peek(struct emu_srq *srq);
/* Take it, there is one: its slot. The limit event, if it is due. */
uint32_t emu_srq_take(struct emu_srq *srq);
/* The slot is free for another receive. Any thread. */
void emu_srq_give_back(struct emu_srq *srq, uint32_t slot);

static inline struct emu_rqe *emu_srq_slot(const struct emu_srq *srq, uint32_t slot)
{
	return (struct emu_rqe *)(srq->slots + (size_t)slot * srq->stride);
}

#endif
