/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_MCAST_H
#define WIRE_MCAST_H

#include <emu/config.h>
#include <emu/emu.h>

/*
 * The wire to everybody who listens to a multicast GID, one UDP datagram a
 * packet: a broadcast on the loopback network for this host and, when other
 * hosts are allowed, a multicast on every other interface. Lossy. Device lock,
 * like every wire.
 */
struct wire_mcast;

#define WIRE_MCAST_FDS 2

/* 0, -errno. Opens no socket yet. */
int wire_mcast_open(const struct sv_config *cfg, struct emu_dev *dev, struct wire_mcast **out);
/* Peers must have been put. */
void wire_mcast_close(struct wire_mcast *mc);
/* In a forked child: close its copies of the sockets. */
void wire_mcast_forget(struct wire_mcast *mc);

/* Packets to mgid shall come in; once for a group. 0, -errno. */
int wire_mcast_join(struct wire_mcast *mc, const struct emu_gid *mgid);
void wire_mcast_leave(struct wire_mcast *mc, const struct emu_gid *mgid);
/* Readable when packets are there; -1: none such. They change when the first joins, the last leaves. */
void wire_mcast_fds(const struct wire_mcast *mc, int fds[WIRE_MCAST_FDS]);
/* Take in what arrived at a descriptor (bounded). */
void wire_mcast_input(struct wire_mcast *mc, int fd);
/* The peer that sends to the group; a reference for ops->put(). NULL: no memory. */
struct wire_peer *wire_mcast_peer(struct wire_mcast *mc, const struct emu_gid *mgid);

#endif
