/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A queue pair behind its ibv_qp (and ibv_qp_ex, which begins with it).
 * sq_lock and rq_lock make posters of one queue take turns.
 */
#ifndef VS_QP_H
#define VS_QP_H

#include "event.h"
#include "lock.h"

#include <infiniband/verbs.h>

struct vs_batch;

#define VS_QP_EVENTS 6

struct vs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex ex;
	};
	struct emu_qp *emu;
	struct nic *nic;
	struct vs_lock sq_lock, rq_lock;
	struct vs_batch *batch; /* of the ibv_wr_* API; NULL: the QP was made without it */
	struct ibv_qp_cap cap;
	int sq_sig_all;
	struct vs_event events[VS_QP_EVENTS];
};

static inline struct vs_qp *vs_qp(const struct ibv_qp *qp)
{
	return (struct vs_qp *)(uintptr_t)qp;
}

static inline struct vs_qp *vs_qp_of_ex(const struct ibv_qp_ex *ex)
{
	return (struct vs_qp *)(uintptr_t)ex;
}

/*
 * The device lock and everything below it: pollers of both CQs and posters of
 * both queues stay out until vs_qp_unlock_all.
 */
void vs_qp_lock_all(struct vs_qp *qp);
void vs_qp_unlock_all(struct vs_qp *qp);

/* The event source for that type; NULL if a QP has no such event. */
struct vs_event *vs_qp_event(struct vs_qp *qp, enum emu_event_type type);
/* For ibv_close_device: free a QP that is already out of the registry. */
void vs_qp_release(struct ibv_qp *qp);

/* Slots of the context's table. */
struct ibv_qp *vs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

#endif
