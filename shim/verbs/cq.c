/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_create_cq, ibv_destroy_cq, ibv_poll_cq, ibv_req_notify_cq, ibv_resize_cq. */
#include "cq.h"

#include "channel.h"
#include "context.h"
#include "errno.h"
#include "registry.h"

#include <abi/emulated.h>

#include <stdlib.h>

static int check_attr(const struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr)
{
	if (!vs_registry_has(context, VS_CONTEXT))
		return -EINVAL;
	if (!nic_alive(vs_context(context)->nic))
		return -EIO;
	if (attr->comp_vector >= (uint32_t)context->num_comp_vectors)
		return -EINVAL;
	if (attr->channel &&
	    (!vs_registry_has(attr->channel, VS_CHANNEL) || attr->channel->context != context))
		return -EINVAL;
	return 0;
}

static void fill_in(struct vs_cq *cq, struct ibv_context *context,
                    const struct ibv_cq_init_attr_ex *attr)
{
	cq->nic = vs_context(context)->nic;
	cq->cq.context = context;
	cq->cq.channel = attr->channel;
	cq->cq.cq_context = attr->cq_context;
	pthread_mutex_init(&cq->cq.mutex, NULL);
	pthread_cond_init(&cq->cq.cond, NULL);
	cq->comp_event.owner = cq;
	cq->async_event.owner = cq;
	cq->async_event.type = EMU_EVENT_CQ_ERR;
}

static void free_cq(struct vs_cq *cq)
{
	if (cq->cq.channel)
		vs_channel_unref(cq->cq.channel);
	pthread_cond_destroy(&cq->cq.cond);
	pthread_mutex_destroy(&cq->cq.mutex);
	free(cq);
}

int vs_cq_new(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr,
              struct vs_cq **out)
{
	struct vs_cq *cq;
	int err = check_attr(context, attr);

	if (err)
		return err;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	fill_in(cq, context, attr);
	if (attr->channel)
		vs_channel_ref(attr->channel);
	err = emu_cq_create(nic_lock(cq->nic), attr->cqe, cq, &cq->emu);
	nic_unlock(cq->nic);
	if (err)
		goto err_free;
	cq->cq.cqe = emu_cq_capacity(cq->emu);
	err = vs_registry_add(&cq->cq, VS_CQ, context);
	if (err)
		goto err_emu;
	*out = cq;
	return 0;

err_emu:
	nic_lock(cq->nic);
	emu_cq_destroy(cq->emu);
	nic_unlock(cq->nic);
err_free:
	free_cq(cq);
	return err;
}

struct ibv_cq *vs_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                            struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = comp_vector,
	};
	struct vs_cq *cq;
	int err;

	if (cqe < 1)
		return vs_null(-EINVAL);
	err = vs_cq_new(context, &attr, &cq);
	return err ? vs_null(err) : &cq->cq;
}

/* Returns 0 with the CQ out of the engine. */
static int retire(struct vs_cq *cq)
{
	int err;

	nic_lock(cq->nic);
	vs_lock_take(&cq->lock);
	err = emu_cq_destroy(cq->emu);
	vs_lock_drop(&cq->lock);
	nic_unlock(cq->nic);
	return err;
}

static uint32_t cancel_comp_events(struct vs_cq *cq)
{
	if (!cq->cq.channel)
		return 0;
	return vs_event_cancel(&vs_channel(cq->cq.channel)->events, &cq->comp_event);
}

static uint32_t cancel_async_events(struct vs_cq *cq)
{
	return vs_event_cancel(&vs_context(cq->cq.context)->async, &cq->async_event);
}

/* ibv_get_cq_event(3): destroying waits until every event that was fetched is acknowledged. */
int vs_destroy_cq(struct ibv_cq *ibcq)
{
	struct vs_cq *cq = vs_cq(ibcq);
	uint32_t comp, async;
	int err;

	if (!vs_registry_rename(ibcq, VS_CQ, VS_CQ_GOING))
		return vs_status(-EINVAL);
	if (!nic_alive(cq->nic)) {
		cancel_comp_events(cq);
		cancel_async_events(cq);
		vs_registry_remove(ibcq, VS_CQ_GOING);
		free_cq(cq);
		return 0;
	}
	err = retire(cq);
	if (err) {
		vs_registry_rename(ibcq, VS_CQ_GOING, VS_CQ);
		return vs_status(err);
	}
	comp = cancel_comp_events(cq);
	async = cancel_async_events(cq);
	vs_event_wait_acked(&ibcq->mutex, &ibcq->cond, &ibcq->comp_events_completed, comp);
	vs_event_wait_acked(&ibcq->mutex, &ibcq->cond, &ibcq->async_events_completed, async);
	vs_registry_remove(ibcq, VS_CQ_GOING);
	free_cq(cq);
	return 0;
}

void vs_cq_release(struct ibv_cq *ibcq)
{
	struct vs_cq *cq = vs_cq(ibcq);

	if (nic_alive(cq->nic)) {
		nic_lock(cq->nic);
		emu_cq_destroy(cq->emu);
		nic_unlock(cq->nic);
	}
	cancel_comp_events(cq);
	cancel_async_events(cq);
	free_cq(cq);
}

void vs_cq_raise(void *user)
{
	struct vs_cq *cq = user;

	if (cq->cq.channel)
		vs_event_raise(&vs_channel(cq->cq.channel)->events, &cq->comp_event);
}

static int take_completions(struct vs_cq *cq, int n, struct ibv_wc *wc)
{
	int got;

	vs_lock_take(&cq->lock);
	got = emu_cq_poll(cq->emu, n, (struct emu_wc *)wc); /* same layout: values.c */
	vs_lock_drop(&cq->lock);
	return got;
}

int vs_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct vs_cq *cq = vs_cq(ibcq);
	int got;

	if (!nic_alive(cq->nic))
		return vs_minus_one(-EIO);
	if (num_entries < 1)
		return 0;
	got = take_completions(cq, num_entries, wc);
	if (got)
		return got;
	nic_poll(cq->nic);
	return take_completions(cq, num_entries, wc);
}

int vs_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct vs_cq *cq = vs_cq(ibcq);

	if (!nic_alive(cq->nic))
		return vs_status(-EIO);
	vs_lock_take(&cq->lock);
	emu_cq_arm(cq->emu, solicited_only ? EMU_ARM_SOLICITED : EMU_ARM_ANY);
	vs_lock_drop(&cq->lock);
	nic_rest(cq->nic);
	return 0;
}
