/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An open device. All contexts of a process share its one NIC, so two of them
 * can talk to each other.
 */
#ifndef VS_CONTEXT_H
#define VS_CONTEXT_H

#include "event.h"

#include <infiniband/verbs.h>

/* What hardware would spread over its interrupt vectors; any of them will do. */
#define VS_COMP_VECTORS 8
#define VS_PORT 1

struct vs_context {
	struct nic *nic;
	const struct emu_config *cfg; /* of the device; does not change */
	struct vs_event_queue async;
	struct verbs_context vctx;
};

static inline struct vs_context *vs_context(const struct ibv_context *context)
{
	return (struct vs_context *)((char *)(uintptr_t)context -
	                             offsetof(struct vs_context, vctx.context));
}

#endif
