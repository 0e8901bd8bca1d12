/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast by the kernel. A group has a socket of its own, bound to the group's
 * address so that it gets nothing else. IPv4 carries all groups, since not every
 * host has IPv6 and a route for it on the loopback interface: an IPv6 group
 * travels in one that is made from a hash of it, and the GID in the packet says
 * whose it is.
 */
#include "wire_mcast.h"

#include "ofi_sock.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAME_MAX (EMU_HDR_MAX + 4096)
#define BATCH 32
#define INTERFACES 16
/* BTH: opcodes of UD begin with 011 (IBTA 9.2.1), the destination QP is at byte 4. */
#define UD_CLASS 3
#define BTH_BYTES 12
/* No link of wire_ofi has this number: nobody may answer for a multicast peer. */
#define MULTICAST_HOST UINT32_MAX

struct wire_mcast {
	const struct sv_config *cfg;
	struct emu_dev *dev;
	/* [0] loops back to this host, on lo; [1] does not, for all other interfaces. -1: not open */
	int sender[2];
	unsigned interfaces; /* beside lo; index 0 is the first of them */
	int interface[INTERFACES];
	struct wire_peer *source; /* where received packets come from; never sent to */
	uint8_t frame[FRAME_MAX];
};

struct group {
	struct wire_peer peer;
	struct wire_mcast *mc;
	struct sockaddr_in addr;
};

static struct sockaddr_in address_of(const struct wire_mcast *mc, const struct emu_gid *mgid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(mc->cfg->port_base) };
	uint32_t hash = 2166136261u; /* FNV-1a */

	if (!memcmp(mgid->raw, mapped, sizeof(mapped))) {
		memcpy(&sin.sin_addr, mgid->raw + sizeof(mapped), 4);
		return sin;
	}
	for (unsigned i = 0; i < sizeof(mgid->raw); i++)
		hash = (hash ^ mgid->raw[i]) * 16777619u;
	/* 239.192.0.0/14 is for use within an organisation (RFC 2365). */
	sin.sin_addr.s_addr = htonl(0xefc00000u | (hash & 0x3ffffu));
	return sin;
}

/* ---- sending -------------------------------------------------------------------- */

static int open_sender(bool loop)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unsigned char looped = loop, ttl = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &looped, sizeof(looped));
	setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &ttl, sizeof(ttl));
	return fd;
}

static void send_on(int fd, int interface, const struct group *g, const void *frame, size_t len)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct in_pktinfo))];
	} control = { .room = { 0 } };
	struct in_pktinfo info = { .ipi_ifindex = interface };
	struct iovec iov = { (void *)(uintptr_t)frame, len };
	struct msghdr msg = {
		.msg_name = (void *)(uintptr_t)&g->addr,
		.msg_namelen = sizeof(g->addr),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = IPPROTO_IP;
	c->cmsg_type = IP_PKTINFO;
	c->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	/* Lost if there is no room: it is a datagram. */
	(void)sendmsg(fd, &msg, 0);
}

static enum wire_sent mcast_send(struct wire_peer *peer, struct emu_tx *tx)
{
	struct group *g = (struct group *)((char *)peer - offsetof(struct group, peer));
	struct wire_mcast *mc = g->mc;
	size_t len = tx->hdr_len + tx->payload;

	if (len > sizeof(mc->frame))
		return WIRE_DONE;
	if (emu_tx_copy(mc->dev, tx, mc->frame))
		return WIRE_FAULT;
	for (int i = 0; i < 2; i++)
		if (mc->sender[i] < 0)
			mc->sender[i] = open_sender(i == 0);
	send_on(mc->sender[0], (int)if_nametoindex("lo"), g, mc->frame, len);
	for (unsigned i = 0; i < mc->interfaces; i++)
		send_on(mc->sender[1], mc->interface[i], g, mc->frame, len);
	return WIRE_DONE;
}

static enum wire_probe mcast_probe(struct wire_peer *peer)
{
	return WIRE_PROBE_DOWN;
}

static void mcast_abort(struct wire_peer *peer)
{
	/* Nothing is ever held. */
}

static void mcast_put(struct wire_peer *peer)
{
	free((char *)peer - offsetof(struct group, peer));
}

static const struct wire_ops mcast_ops = {
	.send = mcast_send,
	.probe = mcast_probe,
	.abort = mcast_abort,
	.put = mcast_put,
};

struct wire_peer *wire_mcast_peer(struct wire_mcast *mc, const struct emu_gid *mgid)
{
	struct group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->peer.ops = &mcast_ops;
	g->peer.host = MULTICAST_HOST;
	g->peer.max_payload = 1;
	g->mc = mc;
	g->addr = address_of(mc, mgid);
	return &g->peer;
}

/* ---- receiving ------------------------------------------------------------------ */

static int join_on(int fd, const struct sockaddr_in *group, int interface)
{
	struct ip_mreqn req = { .imr_multiaddr = group->sin_addr, .imr_ifindex = interface };

	return setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &req, sizeof(req)) ? -errno : 0;
}

int wire_mcast_join(struct wire_mcast *mc, const struct emu_gid *mgid, int *fd_out)
{
	struct sockaddr_in group = address_of(mc, mgid);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	ofi_sock_restrict(fd, mc->cfg->allow, mc->cfg->allow_count);
	if (bind(fd, (struct sockaddr *)&group, sizeof(group)))
		err = -errno;
	else
		err = join_on(fd, &group, (int)if_nametoindex("lo"));
	for (unsigned i = 0; i < mc->interfaces && !err; i++)
		join_on(fd, &group, mc->interface[i]);
	if (err) {
		close(fd);
		return err;
	}
	*fd_out = fd;
	return 0;
}

void wire_mcast_leave(struct wire_mcast *mc, int fd)
{
	close(fd);
}

/* Whatever else is in it is hostile: no other packet is ever sent to a group. */
static bool is_multicast_datagram(const uint8_t *frame, ssize_t len)
{
	return len >= BTH_BYTES && len <= FRAME_MAX && frame[0] >> 5 == UD_CLASS && !frame[4] &&
	       frame[5] == 0xff && frame[6] == 0xff && frame[7] == 0xff;
}

void wire_mcast_input(struct wire_mcast *mc, int fd)
{
	for (int i = 0; i < BATCH; i++) {
		ssize_t len = recv(fd, mc->frame, sizeof(mc->frame), MSG_TRUNC);

		if (len < 0)
			return;
		if (is_multicast_datagram(mc->frame, len))
			emu_input(mc->dev, mc->source, mc->frame, (size_t)len);
	}
}

/* ---- life ----------------------------------------------------------------------- */

static void find_interfaces(struct wire_mcast *mc)
{
	struct ifaddrs *list;

	if (!mc->cfg->allow_count || getifaddrs(&list))
		return;
	for (const struct ifaddrs *i = list; i && mc->interfaces < INTERFACES; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
		    (i->ifa_flags & (IFF_UP | IFF_MULTICAST | IFF_LOOPBACK)) !=
			    (IFF_UP | IFF_MULTICAST))
			continue;
		mc->interface[mc->interfaces++] = (int)if_nametoindex(i->ifa_name);
	}
	freeifaddrs(list);
}

int wire_mcast_open(const struct sv_config *cfg, struct emu_dev *dev, struct wire_mcast **out)
{
	static const struct emu_gid none;
	struct wire_mcast *mc = calloc(1, sizeof(*mc));

	if (!mc)
		return -ENOMEM;
	mc->cfg = cfg;
	mc->dev = dev;
	mc->sender[0] = mc->sender[1] = -1;
	find_interfaces(mc);
	mc->source = wire_mcast_peer(mc, &none);
	if (!mc->source) {
		free(mc);
		return -ENOMEM;
	}
	*out = mc;
	return 0;
}

void wire_mcast_forget(struct wire_mcast *mc)
{
	for (int i = 0; i < 2; i++) {
		if (mc->sender[i] >= 0)
			close(mc->sender[i]);
		mc->sender[i] = -1;
	}
}

void wire_mcast_close(struct wire_mcast *mc)
{
	wire_mcast_forget(mc);
	mcast_put(mc->source);
	free(mc);
}
