/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CS_ADDR_H
#define CS_ADDR_H

#include "id.h"

/* rdma_bind_addr; 0, -errno. */
int cs_addr_bind(struct cs_id *id, const struct sockaddr *addr);
/* A port that was shared (REUSEADDR) must be the id's alone before it listens. 0, -EADDRINUSE. */
int cs_addr_own_port(struct cs_id *id);

#endif
