// SPDX-License-Identifier: BSD-2-Clause
#include "srq.h"

#include <stdlib.h>

#include "err.h"
#include "mr.h"

static bool attr_in_range(const struct emu_srq_attr *attr, const struct emu_limits *l)
{
	return attr->max_wr && attr->max_wr <= l->max_srq_wr && attr->max_sge <= l->max_srq_sge;
}

static int make_slots(struct emu_srq *srq)
{
	uint32_t size = 1;

	while (size < srq->max_wr)
		size *= 2;
	srq->mask = size - 1;
	srq->stride = (uint32_t)(sizeof(struct emu_rqe) + srq->max_sge * sizeof(struct emu_sge));
	srq->slots = calloc(srq->max_wr, srq->stride);
	srq->posted = calloc(size, sizeof(*srq->posted));
	srq->link = calloc(srq->max_wr, sizeof(*srq->link));
	if (!srq->slots || !srq->posted || !srq->link)
		return -EMU_ENOMEM;
	for (uint32_t i = 0; i < srq->max_wr; i++)
		srq->link[i] = i;
	srq->spare = srq->max_wr;
	return 0;
}

static void free_srq(struct emu_srq *srq)
{
	free(srq->link);
	free(srq->posted);
	free(srq->slots);
	free(srq);
}

int emu_srq_create(struct emu_pd *pd, const struct emu_srq_attr *attr, void *user,
		   struct emu_srq **out)
{
	struct emu_dev *dev = pd->dev;
	struct emu_srq *srq;

	if (!attr_in_range(attr, &dev->cfg.limits))
		return -EMU_EINVAL;
	if (dev->srqs >= dev->cfg.limits.max_srq)
		return -EMU_ENOMEM;
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return -EMU_ENOMEM;
	srq->dev = dev;
	srq->pd = pd;
	srq->user = user;
	srq->max_wr = attr->max_wr;
	srq->max_sge = attr->max_sge;
	if (make_slots(srq)) {
		free_srq(srq);
		return -EMU_ENOMEM;
	}
	pd->refs++;
	dev->srqs++;
	*out = srq;
	return 0;
}

int emu_srq_destroy(struct emu_srq *srq)
{
	if (srq->refs)
		return -EMU_EBUSY;
	srq->pd->refs--;
	srq->dev->srqs--;
	free_srq(srq);
	return 0;
}

int emu_srq_set_limit(struct emu_srq *srq, uint32_t limit)
{
	if (limit > srq->max_wr)
		return -EMU_EINVAL;
	srq->limit = limit;
	return 0;
}

void emu_srq_query(const struct emu_srq *srq, struct emu_srq_attr *attr)
{
	*attr = (struct emu_srq_attr){
		.max_wr = srq->max_wr,
		.max_sge = srq->max_sge,
		.limit = srq->limit,
	};
}

/* ---- slots --------------------------------------------------------------- */

/* Poster. A free slot; false: all are in use. */
static bool take_slot(struct emu_srq *srq, uint32_t *slot)
{
	/* Acquire: who gave it back has read what was in it. */
	if (!srq->spare)
		srq->spare = atomic_exchange_explicit(&srq->given, 0, memory_order_acquire);
	if (!srq->spare)
		return false;
	*slot = srq->spare - 1;
	srq->spare = srq->link[*slot];
	return true;
}

void emu_srq_give_back(struct emu_srq *srq, uint32_t slot)
{
	uint32_t top = atomic_load_explicit(&srq->given, memory_order_relaxed);

	/* Only ever emptied as a whole, so the same top is the same stack. */
	do {
		srq->link[slot] = top;
	} while (!atomic_compare_exchange_weak_explicit(&srq->given, &top, slot + 1,
							memory_order_release,
							memory_order_relaxed));
}

int emu_post_srq_recv(struct emu_srq *srq, const struct emu_recv_wr *wr)
{
	uint32_t head = atomic_load_explicit(&srq->head, memory_order_relaxed);
	uint32_t slot;

	if (wr->num_sge > srq->max_sge)
		return -EMU_EINVAL;
	if (!take_slot(srq, &slot))
		return -EMU_ENOMEM;
	emu_rqe_fill(emu_srq_slot(srq, slot), wr);
	srq->posted[head & srq->mask] = slot;
	atomic_store_explicit(&srq->head, head + 1, memory_order_release);
	return 0;
}

/* ---- the engine's end ----------------------------------------------------- */

static uint32_t waiting(struct emu_srq *srq)
{
	return atomic_load_explicit(&srq->head, memory_order_acquire) - srq->tail;
}

const struct emu_rqe *emu_srq_peek(struct emu_srq *srq)
{
	return waiting(srq) ? emu_srq_slot(srq, srq->posted[srq->tail & srq->mask]) : NULL;
}

uint32_t emu_srq_take(struct emu_srq *srq)
{
	struct emu_dev *dev = srq->dev;
	uint32_t slot = srq->posted[srq->tail++ & srq->mask];

	/* IBTA 10.2.9.3: told once when the number falls below the limit, which is then disarmed. */
	if (waiting(srq) < srq->limit) {
		srq->limit = 0;
		dev->env->async_event(dev->host, EMU_EVENT_SRQ_LIMIT_REACHED, srq->user);
	}
	return slot;
}
