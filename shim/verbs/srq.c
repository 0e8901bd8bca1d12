/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_create_srq, ibv_create_srq_ex, ibv_modify_srq, ibv_query_srq,
 * ibv_destroy_srq, ibv_get_srq_num, ibv_post_srq_recv.
 */
#include "srq.h"

#include "context.h"
#include "errno.h"
#include "pd.h"
#include "post.h"
#include "registry.h"

#include <abi/emulated.h>

#include <stdlib.h>

static void fill_in(struct vs_srq *srq, struct ibv_pd *pd, void *srq_context)
{
	srq->nic = vs_context(pd->context)->nic;
	srq->srq.context = pd->context;
	srq->srq.srq_context = srq_context;
	srq->srq.pd = pd;
	pthread_mutex_init(&srq->srq.mutex, NULL);
	pthread_cond_init(&srq->srq.cond, NULL);
	srq->limit_event.owner = srq;
	srq->limit_event.type = EMU_EVENT_SRQ_LIMIT_REACHED;
}

static void free_srq(struct vs_srq *srq)
{
	pthread_cond_destroy(&srq->srq.cond);
	pthread_mutex_destroy(&srq->srq.mutex);
	free(srq);
}

static int create(struct ibv_pd *pd, struct ibv_srq_attr *attr, void *srq_context,
                  struct vs_srq **out)
{
	struct emu_srq_attr wanted = {.max_wr = attr->max_wr, .max_sge = attr->max_sge};
	struct vs_srq *srq;
	int err;

	if (!vs_registry_has(pd, VS_PD))
		return -EINVAL;
	if (!nic_alive(vs_context(pd->context)->nic))
		return -EIO;
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	fill_in(srq, pd, srq_context);
	nic_lock(srq->nic);
	err = emu_srq_create(vs_pd(pd)->emu, &wanted, srq, &srq->emu);
	nic_unlock(srq->nic);
	if (err)
		goto err_free;
	err = vs_registry_add(&srq->srq, VS_SRQ, pd->context);
	if (err)
		goto err_emu;
	*out = srq;
	return 0;

err_emu:
	nic_lock(srq->nic);
	emu_srq_destroy(srq->emu);
	nic_unlock(srq->nic);
err_free:
	free_srq(srq);
	return err;
}

/* Granted is exactly what was asked, so attr already says it. */
struct ibv_srq *vs_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct vs_srq *srq;
	int err = create(pd, &init->attr, init->srq_context, &srq);

	return err ? vs_null(err) : &srq->srq;
}

struct ibv_srq *vs_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	static const uint32_t known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	struct vs_srq *srq;
	int err;

	if (!vs_registry_has(context, VS_CONTEXT) || !(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD))
		return vs_null(-EINVAL);
	if (attr->comp_mask & ~known ||
	    (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC))
		return vs_null(-EOPNOTSUPP);
	err = create(attr->pd, &attr->attr, attr->srq_context, &srq);
	return err ? vs_null(err) : &srq->srq;
}

/* No SRQ of ours has a number yet: those of XRC have. */
int vs_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num)
{
	return vs_status(vs_registry_has(srq, VS_SRQ) ? -EOPNOTSUPP : -EINVAL);
}

/* Its size stays what it is, as IBV_DEVICE_SRQ_RESIZE's absence says. */
int vs_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask)
{
	struct vs_srq *srq = vs_srq(ibsrq);
	int err = 0;

	if (!vs_registry_has(ibsrq, VS_SRQ) || mask & ~IBV_SRQ_LIMIT)
		return vs_status(-EINVAL);
	if (!nic_alive(srq->nic))
		return vs_status(-EIO);
	nic_lock(srq->nic);
	if (mask & IBV_SRQ_LIMIT)
		err = emu_srq_set_limit(srq->emu, attr->srq_limit);
	nic_unlock(srq->nic);
	return vs_status(err);
}

int vs_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct vs_srq *srq = vs_srq(ibsrq);
	struct emu_srq_attr emu;

	if (!vs_registry_has(ibsrq, VS_SRQ))
		return vs_status(-EINVAL);
	if (!nic_alive(srq->nic))
		return vs_status(-EIO);
	nic_lock(srq->nic);
	emu_srq_query(srq->emu, &emu);
	nic_unlock(srq->nic);
	*attr = (struct ibv_srq_attr){
		.max_wr = emu.max_wr, .max_sge = emu.max_sge, .srq_limit = emu.limit};
	return 0;
}

/* Returns 0 with the SRQ out of the engine. */
static int retire(struct vs_srq *srq)
{
	int err;

	nic_lock(srq->nic);
	vs_lock_take(&srq->lock);
	err = emu_srq_destroy(srq->emu);
	vs_lock_drop(&srq->lock);
	nic_unlock(srq->nic);
	return err;
}

static uint32_t cancel_events(struct vs_srq *srq)
{
	return vs_event_cancel(&vs_context(srq->srq.context)->async, &srq->limit_event);
}

/* ibv_get_async_event(3): destroying waits until every event that was fetched is acknowledged. */
int vs_destroy_srq(struct ibv_srq *ibsrq)
{
	struct vs_srq *srq = vs_srq(ibsrq);
	uint32_t fetched;
	int err;

	if (!vs_registry_rename(ibsrq, VS_SRQ, VS_SRQ_GOING))
		return vs_status(-EINVAL);
	err = nic_alive(srq->nic) ? retire(srq) : 0;
	if (err) {
		vs_registry_rename(ibsrq, VS_SRQ_GOING, VS_SRQ);
		return vs_status(err);
	}
	fetched = cancel_events(srq);
	if (nic_alive(srq->nic))
		vs_event_wait_acked(&ibsrq->mutex, &ibsrq->cond, &ibsrq->events_completed, fetched);
	vs_registry_remove(ibsrq, VS_SRQ_GOING);
	free_srq(srq);
	return 0;
}

void vs_srq_release(struct ibv_srq *ibsrq)
{
	struct vs_srq *srq = vs_srq(ibsrq);

	if (nic_alive(srq->nic)) {
		nic_lock(srq->nic);
		emu_srq_destroy(srq->emu);
		nic_unlock(srq->nic);
	}
	cancel_events(srq);
	free_srq(srq);
}

/* Hot path. A peer that met an empty SRQ tries again by itself. */
int vs_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vs_srq *srq = vs_srq(ibsrq);
	int err = 0;

	if (!nic_alive(srq->nic)) {
		*bad_wr = wr;
		return vs_status(-EIO);
	}
	vs_lock_take(&srq->lock);
	for (; wr; wr = wr->next) {
		struct emu_recv_wr emu = vs_recv_wr(wr);

		err = emu_post_srq_recv(srq->emu, &emu);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	vs_lock_drop(&srq->lock);
	return vs_status(err);
}
