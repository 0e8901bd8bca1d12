/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_create_event_channel, rdma_destroy_event_channel. */
#include "channel.h"

#include <abi/rdmacm.h>
#include <verbs/errno.h>

#include <stdlib.h>

struct cs_channel *cs_channel_new(void)
{
	struct cs_channel *ch = calloc(1, sizeof(*ch));
	int err;

	if (!ch)
		return vs_null(-ENOMEM);
	err = vs_event_queue_init(&ch->queue);
	if (err) {
		free(ch);
		return vs_null(err);
	}
	ch->channel.fd = ch->queue.fd;
	atomic_init(&ch->refs, 1);
	return ch;
}

void cs_channel_ref(struct cs_channel *ch)
{
	atomic_fetch_add(&ch->refs, 1);
}

void cs_channel_unref(struct cs_channel *ch)
{
	if (atomic_fetch_sub(&ch->refs, 1) != 1)
		return;
	vs_event_queue_fini(&ch->queue);
	free(ch);
}

struct rdma_event_channel *cs_create_event_channel(void)
{
	struct cs_channel *ch = cs_channel_new();

	return ch ? &ch->channel : NULL;
}

/* A program may do this before it destroys its ids; their events then go nowhere. */
void cs_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct cs_channel *ch = cs_channel(channel);

	if (!ch)
		return;
	vs_event_queue_close(&ch->queue);
	ch->channel.fd = -1;
	cs_channel_unref(ch);
}
