/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Within this host every engine that has joined any group gets the packets of
 * all groups, and the core drops what is not its own: Linux takes no multicast
 * from a loopback address, but a broadcast, and needs neither IPv6 nor a network
 * interface for it. To other hosts IPv4 carries all groups: an IPv6 group travels
 * in one that is made from a hash of it, and the GID in the packet says whose it
 * is.
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
/* BTH: opcodes of UD begin with 011 (IBTA 9.2.1), the destination QP is at byte 5. */
#define UD_CLASS 3
#define BTH_BYTES 12
/* No link of wire_ofi has this number: nobody may answer for a multicast peer. */
#define MULTICAST_HOST UINT32_MAX
/* 127.255.255.255, the broadcast address of the loopback network */
#define LOOPBACK_BROADCAST (INADDR_LOOPBACK | 0xffffffu)

enum reach {
	HERE,
	ELSEWHERE,
};

struct wire_mcast {
	const struct sv_config *cfg;
	struct emu_dev *dev;
	int sender[WIRE_MCAST_FDS], receiver[WIRE_MCAST_FDS]; /* by enum reach; -1: not open */
	unsigned groups; /* joined */
	unsigned interfaces; /* that lead elsewhere */
	int interface[INTERFACES];
	struct wire_peer *source; /* where received packets come from; never sent to */
	uint8_t frame[FRAME_MAX];
};

struct group {
	struct wire_peer peer;
	struct wire_mcast *mc;
	struct emu_gid mgid;
};

/* Two ports, so that nobody gets a packet twice. */
static struct sockaddr_in address(const struct wire_mcast *mc, enum reach reach, uint32_t ip)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(mc->cfg->port_base + reach),
		.sin_addr.s_addr = htonl(ip),
	};
}

static struct sockaddr_in group_address(const struct wire_mcast *mc, const struct emu_gid *mgid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct sockaddr_in sin = address(mc, ELSEWHERE, 0);
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

/* A UDP socket bound to addr, or -1 and errno. */
static int open_bound(const struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, err;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
	if (!bind(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

/* ---- sending -------------------------------------------------------------------- */

static int open_sender(enum reach reach)
{
	const struct sockaddr_in any = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(reach == HERE ? INADDR_LOOPBACK : INADDR_ANY),
	};
	unsigned char off = 0;
	int fd = open_bound(&any);

	if (fd >= 0)
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &off, sizeof(off));
	return fd;
}

static void send_on(int fd, int interface, const struct sockaddr_in *to, struct iovec iov)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct in_pktinfo))];
	} control = { .room = { 0 } };
	struct in_pktinfo info = { .ipi_ifindex = interface };
	struct msghdr msg = {
		.msg_name = (void *)(uintptr_t)to,
		.msg_namelen = sizeof(*to),
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
	struct iovec iov = { mc->frame, tx->hdr_len + tx->payload };
	struct sockaddr_in here = address(mc, HERE, LOOPBACK_BROADCAST);
	struct sockaddr_in elsewhere = group_address(mc, &g->mgid);

	if (iov.iov_len > sizeof(mc->frame))
		return WIRE_DONE;
	if (emu_tx_copy(mc->dev, tx, mc->frame))
		return WIRE_FAULT;
	for (int i = 0; i < WIRE_MCAST_FDS; i++)
		if (mc->sender[i] < 0 && (i == HERE || mc->interfaces))
			mc->sender[i] = open_sender(i);
	(void)sendto(mc->sender[HERE], iov.iov_base, iov.iov_len, 0, (struct sockaddr *)&here,
		     sizeof(here));
	for (unsigned i = 0; i < mc->interfaces; i++)
		send_on(mc->sender[ELSEWHERE], mc->interface[i], &elsewhere, iov);
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
	g->mgid = *mgid;
	return &g->peer;
}

/* ---- receiving ------------------------------------------------------------------ */

static void close_receivers(struct wire_mcast *mc)
{
	for (int i = 0; i < WIRE_MCAST_FDS; i++) {
		if (mc->receiver[i] >= 0)
			close(mc->receiver[i]);
		mc->receiver[i] = -1;
	}
}

static int open_receivers(struct wire_mcast *mc)
{
	struct sockaddr_in here = address(mc, HERE, LOOPBACK_BROADCAST);
	struct sockaddr_in elsewhere = address(mc, ELSEWHERE, INADDR_ANY);
	int off = 0;

	mc->receiver[HERE] = open_bound(&here);
	if (mc->receiver[HERE] < 0)
		return -errno;
	if (!mc->interfaces)
		return 0;
	mc->receiver[ELSEWHERE] = open_bound(&elsewhere);
	if (mc->receiver[ELSEWHERE] < 0) {
		int err = -errno;

		close_receivers(mc);
		return err;
	}
	ofi_sock_restrict(mc->receiver[ELSEWHERE], mc->cfg->allow, mc->cfg->allow_count);
	/* Only groups that were joined through this socket. */
	setsockopt(mc->receiver[ELSEWHERE], IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof(off));
	return 0;
}

/* What a kernel does not let one join is lost, as on a network that does not carry it. */
static void change_membership(struct wire_mcast *mc, const struct emu_gid *mgid, int option)
{
	struct sockaddr_in group = group_address(mc, mgid);

	for (unsigned i = 0; i < mc->interfaces; i++) {
		struct ip_mreqn req = {
			.imr_multiaddr = group.sin_addr,
			.imr_ifindex = mc->interface[i],
		};

		setsockopt(mc->receiver[ELSEWHERE], IPPROTO_IP, option, &req, sizeof(req));
	}
}

int wire_mcast_join(struct wire_mcast *mc, const struct emu_gid *mgid)
{
	int err = mc->groups ? 0 : open_receivers(mc);

	if (err)
		return err;
	mc->groups++;
	change_membership(mc, mgid, IP_ADD_MEMBERSHIP);
	return 0;
}

void wire_mcast_leave(struct wire_mcast *mc, const struct emu_gid *mgid)
{
	change_membership(mc, mgid, IP_DROP_MEMBERSHIP);
	if (--mc->groups == 0)
		close_receivers(mc);
}

void wire_mcast_fds(const struct wire_mcast *mc, int fds[WIRE_MCAST_FDS])
{
	memcpy(fds, mc->receiver, sizeof(mc->receiver));
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
	for (int i = 0; i < WIRE_MCAST_FDS; i++)
		mc->sender[i] = mc->receiver[i] = -1;
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
	close_receivers(mc);
	for (int i = 0; i < WIRE_MCAST_FDS; i++) {
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
