/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting of work requests: slots of the context's table. */
#ifndef VS_POST_H
#define VS_POST_H

#include <infiniband/verbs.h>

int vs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int vs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
