/* SPDX-License-Identifier: BSD-2-Clause */
/* The device as rdma_cm uses it: opened once in a process, shared by its ids, never closed. */
#ifndef CS_DEVICE_H
#define CS_DEVICE_H

#include <emu/nic.h>

#include <infiniband/verbs.h>

#define CS_PORT 1

struct cs_device {
	struct ibv_context *verbs;
	struct ibv_pd *pd; /* of ids whose program brings none */
	struct nic *nic;
	const struct emu_port *port;
	uint8_t max_rd_atom; /* initiator and responder depth */
};

/*
 * Opened at the first call; again in a forked child, whose copy is inert.
 * NULL and errno (ENODEV…). Any thread.
 */
struct cs_device *cs_device_get(void);
/* Index in the GID table, or -ENODEV. */
int cs_device_gid_index(const struct cs_device *dev, const struct emu_gid *gid);

#endif
