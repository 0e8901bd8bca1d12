/* SPDX-License-Identifier: BSD-2-Clause */
/* The multicast wire: opened at first use, its sockets watched while there are groups. */
#include "mcast.h"

#include "watch.h"

#include "wire_mcast.h"

#include <errno.h>
#include <stdlib.h>

struct nic_mcast {
	struct wire_mcast *wire;
	unsigned groups;
	struct nic_watch watch[WIRE_MCAST_FDS]; /* fd -1: not watched */
};

static int open_wire(struct nic *nic)
{
	int err;

	if (nic->mcast)
		return 0;
	nic->mcast = calloc(1, sizeof(*nic->mcast));
	if (!nic->mcast)
		return -ENOMEM;
	err = wire_mcast_open(nic->cfg, nic->dev, &nic->mcast->wire);
	if (err) {
		free(nic->mcast);
		nic->mcast = NULL;
	}
	return err;
}

struct wire_peer *nic_mcast_peer(struct nic *nic, const struct emu_gid *mgid)
{
	return open_wire(nic) ? NULL : wire_mcast_peer(nic->mcast->wire, mgid);
}

static void readable(struct nic *nic, struct nic_watch *watch)
{
	wire_mcast_input(nic->mcast->wire, watch->fd);
}

static void unwatch(struct nic *nic)
{
	for (int i = 0; i < WIRE_MCAST_FDS; i++) {
		struct nic_watch *w = &nic->mcast->watch[i];

		if (w->fd >= 0)
			nic_watch_remove(nic, w);
		w->fd = -1;
	}
}

static int watch(struct nic *nic)
{
	int fds[WIRE_MCAST_FDS], err = 0;

	wire_mcast_fds(nic->mcast->wire, fds);
	for (int i = 0; i < WIRE_MCAST_FDS; i++) {
		struct nic_watch *w = &nic->mcast->watch[i];

		w->readable = readable;
		w->fd = fds[i];
		if (w->fd >= 0 && !err)
			err = nic_watch_add(nic, w);
		if (err)
			w->fd = -1;
	}
	if (err)
		unwatch(nic);
	return err;
}

static int join_group(struct nic *nic, const struct emu_gid *mgid)
{
	int err = open_wire(nic);

	if (err)
		return err;
	err = wire_mcast_join(nic->mcast->wire, mgid);
	if (err)
		return err;
	if (!nic->mcast->groups)
		err = watch(nic);
	if (err) {
		wire_mcast_leave(nic->mcast->wire, mgid);
		return err;
	}
	nic->mcast->groups++;
	return 0;
}

int nic_mcast(void *host, const struct emu_gid *mgid, bool join)
{
	struct nic *nic = host;

	if (atomic_load(&nic->inert))
		return -EIO;
	if (join)
		return join_group(nic, mgid);
	if (--nic->mcast->groups == 0)
		unwatch(nic);
	wire_mcast_leave(nic->mcast->wire, mgid);
	return 0;
}

void nic_mcast_forget(struct nic *nic)
{
	if (nic->mcast)
		wire_mcast_forget(nic->mcast->wire);
}

void nic_mcast_close(struct nic *nic)
{
	if (!nic->mcast)
		return;
	unwatch(nic);
	wire_mcast_close(nic->mcast->wire);
	free(nic->mcast);
	nic->mcast = NULL;
}
