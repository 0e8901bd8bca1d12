/* SPDX-License-Identifier: BSD-2-Clause */
/* A shared receive queue behind its ibv_srq. lock makes its posters take turns. */
#ifndef VS_SRQ_H
#define VS_SRQ_H

#include "event.h"
#include "lock.h"

#include <infiniband/verbs.h>

struct vs_srq {
	struct ibv_srq srq;
	struct emu_srq *emu;
	struct nic *nic;
	struct vs_lock lock;
	struct vs_event limit_event;
};

static inline struct vs_srq *vs_srq(const struct ibv_srq *srq)
{
	return (struct vs_srq *)(uintptr_t)srq;
}

/* For ibv_close_device: free an SRQ that is already out of the registry and unused. */
void vs_srq_release(struct ibv_srq *srq);

/* Slots of the context's tables. */
struct ibv_srq *vs_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
int vs_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);
int vs_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
