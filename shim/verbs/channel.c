/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion channels: ibv_create_comp_channel, ibv_destroy_comp_channel,
 * ibv_get_cq_event, ibv_ack_cq_events.
 */
#include "channel.h"

#include "context.h"
#include "cq.h"
#include "errno.h"
#include "registry.h"

#include <abi/emulated.h>

#include <stdlib.h>

struct ibv_comp_channel *vs_create_comp_channel(struct ibv_context *context)
{
	struct vs_channel *ch;
	int err;

	if (!vs_registry_has(context, VS_CONTEXT))
		return vs_null(-EINVAL);
	ch = calloc(1, sizeof(*ch));
	if (!ch)
		return vs_null(-ENOMEM);
	err = vs_event_queue_init(&ch->events);
	if (err)
		goto err_free;
	ch->channel.context = context;
	ch->channel.fd = ch->events.fd;
	err = vs_registry_add(&ch->channel, VS_CHANNEL, context);
	if (err)
		goto err_queue;
	return &ch->channel;

err_queue:
	vs_event_queue_fini(&ch->events);
err_free:
	free(ch);
	return vs_null(err);
}

int vs_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct ibv_context *context;
	bool busy;

	if (!vs_registry_rename(channel, VS_CHANNEL, VS_GOING))
		return vs_status(-EINVAL);
	context = channel->context;
	pthread_mutex_lock(&context->mutex);
	busy = channel->refcnt;
	pthread_mutex_unlock(&context->mutex);
	if (busy) {
		vs_registry_rename(channel, VS_GOING, VS_CHANNEL);
		return vs_status(-EBUSY);
	}
	vs_registry_remove(channel, VS_GOING);
	vs_channel_release(channel);
	return 0;
}

void vs_channel_release(struct ibv_comp_channel *channel)
{
	vs_event_queue_fini(&vs_channel(channel)->events);
	free(vs_channel(channel));
}

void vs_channel_ref(struct ibv_comp_channel *channel)
{
	pthread_mutex_lock(&channel->context->mutex);
	channel->refcnt++;
	pthread_mutex_unlock(&channel->context->mutex);
}

void vs_channel_unref(struct ibv_comp_channel *channel)
{
	pthread_mutex_lock(&channel->context->mutex);
	channel->refcnt--;
	pthread_mutex_unlock(&channel->context->mutex);
}

int vs_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	enum emu_event_type type;
	void *owner;
	int err;

	if (!vs_registry_has(channel, VS_CHANNEL))
		return vs_minus_one(-EINVAL);
	err = vs_event_fetch(&vs_channel(channel)->events, vs_context(channel->context)->nic,
	                     &owner, &type);
	if (err)
		return vs_minus_one(err);
	*cq = owner;
	*cq_context = (*cq)->cq_context;
	return 0;
}

void vs_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	if (!vs_registry_has(cq, VS_CQ) && !vs_registry_has(cq, VS_CQ_GOING))
		return;
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}
