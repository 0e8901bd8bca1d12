/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_MCAST_H
#define WIRE_MCAST_H

#include <emu/config.h>
#include <emu/emu.h>

/*
 * The wire to everybody who listens to a multicast GID: one UDP datagram a
 * packet, multicast by the kernel, on the loopback interface and, when other
 * hosts are allowed, on every other one. Lossy. Device lock, like every wire.
 */
struct wire_mcast;

/* 0, -errno. Opens no socket yet. */
int wire_mcast_open(const struct sv_config *cfg, struct emu_dev *dev, struct wire_mcast **out);
/* Peers must have been put. */
void wire_mcast_close(struct wire_mcast *mc);
/* In a forked child: close its copies of the sockets. */
void wire_mcast_forget(struct wire_mcast *mc);

/* Receive what is sent to mgid: a socket more, *fd, readable when wire_mcast_input has work. 0, -errno. */
int wire_mcast_join(struct wire_mcast *mc, const struct emu_gid *mgid, int *fd);
/* Closes the socket. */
void wire_mcast_leave(struct wire_mcast *mc, int fd);
/* Take in what arrived at the socket (bounded). */
void wire_mcast_input(struct wire_mcast *mc, int fd);
/* The peer that sends to the group; a reference for ops->put(). NULL: no memory. */
struct wire_peer *wire_mcast_peer(struct wire_mcast *mc, const struct emu_gid *mgid);

#endif
