/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A completion queue behind its ibv_cq or ibv_cq_ex (the latter begins with
 * the fields of the former). lock makes its pollers take turns.
 */
#ifndef VS_CQ_H
#define VS_CQ_H

#include "event.h"
#include "lock.h"

#include <infiniband/verbs.h>

struct vs_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex ex;
	};
	struct emu_cq *emu;
	struct nic *nic;
	struct vs_lock lock;
	struct emu_wc current; /* between ibv_start_poll and ibv_end_poll */
	struct vs_event comp_event, async_event;
};

static inline struct vs_cq *vs_cq(const struct ibv_cq *cq)
{
	return (struct vs_cq *)(uintptr_t)cq;
}

static inline struct vs_cq *vs_cq_of_ex(const struct ibv_cq_ex *ex)
{
	return (struct vs_cq *)(uintptr_t)ex;
}

/* What ibv_create_cq and ibv_create_cq_ex have in common. 0, -EINVAL, -ENOMEM, -EIO. */
int vs_cq_new(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr,
              struct vs_cq **out);
/* For ibv_close_device: free a CQ that is already out of the registry and unused. */
void vs_cq_release(struct ibv_cq *cq);
/* From the sink, under the device lock. */
void vs_cq_raise(void *user);

/* Slots of the context's tables. */
int vs_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int vs_req_notify_cq(struct ibv_cq *cq, int solicited_only);
struct ibv_cq_ex *vs_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);

#endif
