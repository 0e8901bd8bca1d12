/* SPDX-License-Identifier: BSD-2-Clause */
/* A completion channel behind its ibv_comp_channel. */
#ifndef VS_CHANNEL_H
#define VS_CHANNEL_H

#include "event.h"

#include <infiniband/verbs.h>

struct vs_channel {
	struct ibv_comp_channel channel; /* refcnt: CQs that use it; under context->mutex */
	struct vs_event_queue events;
};

static inline struct vs_channel *vs_channel(const struct ibv_comp_channel *channel)
{
	return (struct vs_channel *)(uintptr_t)channel;
}

/* A CQ starts or stops using the channel. */
void vs_channel_ref(struct ibv_comp_channel *channel);
void vs_channel_unref(struct ibv_comp_channel *channel);

/* For ibv_close_device: free a channel that is already out of the registry and unused. */
void vs_channel_release(struct ibv_comp_channel *channel);

#endif
