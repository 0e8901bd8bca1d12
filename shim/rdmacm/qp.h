/* SPDX-License-Identifier: BSD-2-Clause */
/* The QP of an id, moved through its states as the connection goes. */
#ifndef CS_QP_H
#define CS_QP_H

#include "id.h"

/* What rdma_init_qp_attr(3) answers for attr->qp_state. 0, -EINVAL. */
int cs_qp_attr(const struct cs_id *id, struct ibv_qp_attr *attr, int *mask);
/* A connected QP, with the other side's parameters and the agreed depths: to RTS. 0, -errno. */
int cs_qp_to_rts(struct cs_id *id);
/* To ERR, if there is a QP of a connection. 0, -errno. */
int cs_qp_to_error(struct cs_id *id);

#endif
