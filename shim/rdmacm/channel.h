/* SPDX-License-Identifier: BSD-2-Clause */
/* An event channel behind its rdma_event_channel: a queue of events that a descriptor counts. */
#ifndef CS_CHANNEL_H
#define CS_CHANNEL_H

#include <verbs/event.h>

#include <rdma/rdma_cma.h>

#include <stdatomic.h>

struct cs_channel {
	struct rdma_event_channel channel;
	struct vs_event_queue queue; /* of struct cs_event */
	atomic_uint refs; /* the program's, until it destroys it, and one for each id */
};

static inline struct cs_channel *cs_channel(struct rdma_event_channel *channel)
{
	return (struct cs_channel *)channel;
}

/* With one reference. NULL and errno. */
struct cs_channel *cs_channel_new(void);
void cs_channel_ref(struct cs_channel *ch);
void cs_channel_unref(struct cs_channel *ch);

#endif
