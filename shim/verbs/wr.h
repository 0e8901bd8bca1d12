/* SPDX-License-Identifier: BSD-2-Clause */
/* The ibv_wr_* posting API of a queue pair made with IBV_QP_INIT_ATTR_SEND_OPS_FLAGS. */
#ifndef VS_WR_H
#define VS_WR_H

#include "qp.h"

/* Can every operation in attr->send_ops_flags be offered on a QP of that type? */
bool vs_batch_can(const struct ibv_qp_init_attr_ex *attr);
/* Room for the QP's batches, and the functions of struct ibv_qp_ex. 0, -ENOMEM. */
int vs_batch_attach(struct vs_qp *qp);
/* batch may be NULL. */
void vs_batch_free(struct vs_batch *batch);

#endif
