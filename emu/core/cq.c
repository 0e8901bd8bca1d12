// SPDX-License-Identifier: BSD-2-Clause
#include "cq.h"

#include <stdlib.h>

#include "err.h"
#include "srq.h"

int emu_cq_create(struct emu_dev *dev, uint32_t cqe, void *user, struct emu_cq **out)
{
	struct emu_cq *cq;
	uint32_t size = 1;

	if (cqe == 0 || cqe > dev->cfg.limits.max_cqe)
		return -EMU_EINVAL;
	if (dev->cqs >= dev->cfg.limits.max_cq)
		return -EMU_ENOMEM;
	while (size < cqe)
		size *= 2;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -EMU_ENOMEM;
	cq->ring = calloc(size, sizeof(*cq->ring));
	if (!cq->ring) {
		free(cq);
		return -EMU_ENOMEM;
	}
	cq->dev = dev;
	cq->user = user;
	cq->capacity = cqe;
	cq->mask = size - 1;
	dev->cqs++;
	*out = cq;
	return 0;
}

int emu_cq_destroy(struct emu_cq *cq)
{
	if (cq->refs)
		return -EMU_EBUSY;
	cq->dev->cqs--;
	free(cq->ring);
	free(cq);
	return 0;
}

uint32_t emu_cq_capacity(const struct emu_cq *cq)
{
	return cq->capacity;
}

static void overrun(struct emu_cq *cq)
{
	struct emu_dev *dev = cq->dev;

	cq->overrun = true;
	dev->overrun = true;
	dev->counters.cq_overflow++;
	dev->env->async_event(dev->host, EMU_EVENT_CQ_ERR, cq->user);
}

/* IBTA 11.4.2.2: an arm fires once, for a completion added after it. */
static void notify(struct emu_cq *cq, bool solicited)
{
	uint32_t arm;

	/* Orders the head that was just stored before arm: the poller arms, then looks. */
	atomic_thread_fence(memory_order_seq_cst);
	arm = atomic_load_explicit(&cq->arm, memory_order_relaxed);
	if (arm == EMU_ARM_NONE || (arm == EMU_ARM_SOLICITED && !solicited))
		return;
	if (atomic_exchange(&cq->arm, EMU_ARM_NONE) != EMU_ARM_NONE)
		cq->dev->env->cq_event(cq->dev->host, cq->user);
}

void emu_cq_push(struct emu_cq *cq, const struct emu_cqe *cqe, bool solicited)
{
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);

	if (cq->overrun)
		return;
	if (head - atomic_load_explicit(&cq->tail, memory_order_acquire) >= cq->capacity) {
		overrun(cq);
		return;
	}
	cq->ring[head & cq->mask] = *cqe;
	/* Payload and CQE first, then the head that shows them. */
	atomic_store_explicit(&cq->head, head + 1, memory_order_release);
	notify(cq, solicited || cqe->wc.status != EMU_WC_SUCCESS);
}

bool emu_cq_empty(const struct emu_cq *cq)
{
	return atomic_load_explicit(&cq->head, memory_order_acquire) ==
	       atomic_load_explicit(&cq->tail, memory_order_relaxed);
}

static void free_slot(const struct emu_cqe *cqe)
{
	if (!cqe->freed)
		return;
	if (cqe->of_srq)
		emu_srq_give_back(cqe->srq, cqe->slot_end);
	else
		atomic_store_explicit(cqe->freed, cqe->slot_end, memory_order_release);
}

int emu_cq_poll(struct emu_cq *cq, int n, struct emu_wc *wc)
{
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_acquire);
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	int got = 0;

	for (; got < n && tail != head; got++, tail++) {
		const struct emu_cqe *cqe = &cq->ring[tail & cq->mask];

		wc[got] = cqe->wc;
		free_slot(cqe);
	}
	if (got)
		atomic_store_explicit(&cq->tail, tail, memory_order_release);
	return got;
}

/* An arm for any completion beats one for solicited ones, whichever came first. */
void emu_cq_arm(struct emu_cq *cq, enum emu_arm arm)
{
	uint32_t cur = atomic_load(&cq->arm);

	while (cur < (uint32_t)arm && !atomic_compare_exchange_weak(&cq->arm, &cur, arm))
		;
	atomic_thread_fence(memory_order_seq_cst);
}

void emu_cq_forget(struct emu_cq *cq, uint32_t qpn)
{
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);

	for (uint32_t i = atomic_load_explicit(&cq->tail, memory_order_acquire); i != head; i++) {
		struct emu_cqe *cqe = &cq->ring[i & cq->mask];

		if (cqe->wc.qp_num != qpn)
			continue;
		if (cqe->of_srq)
			free_slot(cqe);
		cqe->freed = NULL;
	}
}
