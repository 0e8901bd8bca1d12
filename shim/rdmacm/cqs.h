/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CS_CQS_H
#define CS_CQS_H

#include "id.h"

/*
 * CQs of the id's own, with a channel each, for a QP or SRQ whose program brings
 * none: what rdma_get_send_comp and rdma_get_recv_comp wait on. Size 0: not that
 * one; nor one that is there. 0, -errno.
 */
int cs_cqs_create(struct cs_id *id, uint32_t send_size, uint32_t recv_size);
/* If nothing uses them any more. */
void cs_cqs_destroy(struct cs_id *id);

#endif
