/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps of rdma_cm for programs that make many connections on 127.0.0.1.
 * Whatever goes wrong ends the process: rc_fail() of rc_side.h.
 */
#ifndef CM_SIDE_H
#define CM_SIDE_H

#include "rc_side.h"

#include <rdma/rdma_cma.h>

/* A listener on a free port, which is *port (network order). */
struct rdma_cm_id *cm_listen(struct rdma_event_channel *channel, uint16_t *port);
/* Address and route resolved, with a QP. */
struct rdma_cm_id *cm_resolve(struct rdma_event_channel *channel, uint16_t port);
void cm_make_qp(struct rdma_cm_id *id);
void cm_connect(struct rdma_cm_id *id);
void cm_accept(struct rdma_cm_id *id);
/* QP and id. */
void cm_destroy(struct rdma_cm_id *id);
/* The id of the next event, which must be of that type; acknowledged. */
struct rdma_cm_id *cm_expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* The next event within ms, acknowledged; -1: none. */
int cm_next(struct rdma_event_channel *channel, int ms, struct rdma_cm_id **id);

#endif
