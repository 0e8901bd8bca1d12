/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting of work requests: slots of the context's table. */
#ifndef VS_POST_H
#define VS_POST_H

#include <emu/types.h>

#include <infiniband/verbs.h>

static inline struct emu_recv_wr vs_recv_wr(const struct ibv_recv_wr *wr)
{
	return (struct emu_recv_wr){
		.wr_id = wr->wr_id,
		.sg_list = (const struct emu_sge *)wr->sg_list, /* same layout: values.c */
		.num_sge = wr->num_sge,
	};
}

int vs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int vs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
