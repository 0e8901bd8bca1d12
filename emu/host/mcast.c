/* SPDX-License-Identifier: BSD-2-Clause */
/* The multicast wire: opened at first use, its sockets watched. */
#include "mcast.h"

#include "watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct nic_group {
	struct nic_watch watch;
	struct emu_gid mgid;
	struct nic_group *next;
};

static int open_wire(struct nic *nic)
{
	return nic->mcast ? 0 : wire_mcast_open(nic->cfg, nic->dev, &nic->mcast);
}

struct wire_peer *nic_mcast_peer(struct nic *nic, const struct emu_gid *mgid)
{
	return open_wire(nic) ? NULL : wire_mcast_peer(nic->mcast, mgid);
}

static void readable(struct nic *nic, struct nic_watch *watch)
{
	wire_mcast_input(nic->mcast, watch->fd);
}

static int join_group(struct nic *nic, const struct emu_gid *mgid)
{
	struct nic_group *g;
	int err = open_wire(nic);

	if (err)
		return err;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->mgid = *mgid;
	g->watch.readable = readable;
	err = wire_mcast_join(nic->mcast, mgid, &g->watch.fd);
	if (err)
		goto err_free;
	err = nic_watch_add(nic, &g->watch);
	if (err)
		goto err_leave;
	g->next = nic->groups;
	nic->groups = g;
	return 0;

err_leave:
	wire_mcast_leave(nic->mcast, g->watch.fd);
err_free:
	free(g);
	return err;
}

static void leave_group(struct nic *nic, const struct emu_gid *mgid)
{
	struct nic_group **link = &nic->groups, *g;

	while (*link && memcmp(&(*link)->mgid, mgid, sizeof(*mgid)))
		link = &(*link)->next;
	g = *link;
	if (!g)
		return;
	*link = g->next;
	nic_watch_remove(nic, &g->watch);
	wire_mcast_leave(nic->mcast, g->watch.fd);
	free(g);
}

int nic_mcast(void *host, const struct emu_gid *mgid, bool join)
{
	struct nic *nic = host;

	if (atomic_load(&nic->inert))
		return -EIO;
	if (join)
		return join_group(nic, mgid);
	leave_group(nic, mgid);
	return 0;
}

void nic_mcast_close(struct nic *nic)
{
	struct nic_group *g;

	while ((g = nic->groups)) {
		nic->groups = g->next;
		free(g);
	}
	if (nic->mcast)
		wire_mcast_close(nic->mcast);
	nic->mcast = NULL;
}
