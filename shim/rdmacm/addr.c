/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_bind_addr, rdma_resolve_addr, rdma_get_src_port, rdma_get_dst_port. */
#include "addr.h"

#include "route.h"
#include "sockaddr.h"
#include "sync.h"

#include <abi/rdmacm.h>
#include <verbs/errno.h>

#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* Linux's range of ephemeral ports. */
#define FIRST_EPHEMERAL 32768u
#define EPHEMERAL 28232u

static struct sockaddr *source(struct cs_id *id)
{
	return &id->id.route.addr.src_addr;
}

static struct sockaddr *destination(struct cs_id *id)
{
	return &id->id.route.addr.dst_addr;
}

/* 0, or what is wrong with an address of the program's. */
static int check(const struct sockaddr *sa)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;

	if (!sa)
		return -EINVAL;
	if (!cs_sockaddr_len(sa))
		return sa->sa_family == AF_UNSPEC ? -EINVAL : -EAFNOSUPPORT;
	if (sa->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) &&
	    !in6->sin6_scope_id)
		return -EINVAL;
	return 0;
}

/* The device with the address; -ENODEV if it came to this host after the device was opened. */
static int attach(struct cs_id *id)
{
	struct emu_cm_addr addr;

	cs_sockaddr_read(source(id), &addr);
	if (cs_device_gid_index(id->dev, &addr.ip) < 0)
		return -ENODEV;
	cs_id_attach(id);
	cs_route_fill_gids(id);
	return 0;
}

static unsigned bind_flags(const struct cs_id *id)
{
	return (id->options & CS_REUSE_ADDR ? NIC_CM_REUSE : 0) |
	       (id->options & CS_AF_ONLY ? NIC_CM_IPV6_ONLY : 0);
}

static int hold_port(struct cs_id *id, const struct sockaddr *addr)
{
	int err = nic_cm_bind(id->dev->nic, addr, bind_flags(id), &id->port);

	if (err)
		return err;
	memcpy(source(id), addr, cs_sockaddr_len(addr));
	cs_sockaddr_set_port(source(id), nic_cm_port_number(id->port));
	return 0;
}

static void let_port_go(struct cs_id *id)
{
	nic_cm_unbind(id->dev->nic, id->port);
	id->port = NULL;
	memset(source(id), 0, sizeof(id->id.route.addr.src_storage));
}

int cs_addr_bind(struct cs_id *id, const struct sockaddr *addr)
{
	int err = check(addr);

	if (err)
		return err;
	if (id->state != CS_IDLE)
		return -EINVAL;
	id->dev = cs_device_get();
	if (!id->dev)
		return -errno;
	err = hold_port(id, addr);
	if (err)
		return err;
	if (!cs_sockaddr_is_any(addr))
		err = attach(id);
	if (err) {
		let_port_go(id);
		return err;
	}
	id->state = CS_BOUND;
	return 0;
}

int cs_addr_own_port(struct cs_id *id)
{
	struct sockaddr_storage addr;
	int err;

	memcpy(&addr, source(id), sizeof(addr));
	let_port_go(id);
	id->options &= ~(unsigned)CS_REUSE_ADDR;
	err = hold_port(id, (struct sockaddr *)&addr);
	if (!err)
		return 0;
	id->options |= CS_REUSE_ADDR;
	return hold_port(id, (struct sockaddr *)&addr) ? -EADDRNOTAVAIL : err;
}

int cs_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	return vs_minus_one(cs_addr_bind(cs_id(id), addr));
}

/* ---- resolving -------------------------------------------------------------- */

/*
 * Nobody looks a client's port up, so it is a number and no socket: thousands
 * of connections need no descriptors.
 */
static uint16_t ephemeral_port(void)
{
	static atomic_uint last;
	unsigned zero = 0, start;

	if (!atomic_load(&last) && getrandom(&start, sizeof(start), GRND_NONBLOCK) > 0)
		atomic_compare_exchange_strong(&last, &zero, start | 1);
	return (uint16_t)(FIRST_EPHEMERAL + atomic_fetch_add(&last, 1) % EPHEMERAL);
}

/* The routing table's choice: ask the kernel with a socket that sends nothing. */
static int ask_route(const struct sockaddr *from, const struct sockaddr *to,
		     struct sockaddr_storage *local)
{
	struct sockaddr_storage target = { 0 };
	socklen_t len = sizeof(*local);
	int fd = socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	memcpy(local, from, cs_sockaddr_len(from));
	cs_sockaddr_set_port((struct sockaddr *)local, 0);
	memcpy(&target, to, cs_sockaddr_len(to));
	/* Port 0 cannot be connected to everywhere; which one does not matter. */
	cs_sockaddr_set_port((struct sockaddr *)&target, 1);
	if (bind(fd, (struct sockaddr *)local, cs_sockaddr_len(from)) ||
	    connect(fd, (struct sockaddr *)&target, cs_sockaddr_len(to)) ||
	    getsockname(fd, (struct sockaddr *)local, &len))
		err = -errno;
	close(fd);
	return err;
}

/* Where an id starts out from whose program has not said it. */
static void start_anywhere(struct cs_id *id, sa_family_t family)
{
	source(id)->sa_family = family;
	cs_sockaddr_set_port(source(id), ephemeral_port());
}

static int take_source(struct cs_id *id, const struct sockaddr *src, const struct sockaddr *dst)
{
	int err;

	if (id->state == CS_BOUND)
		return 0;
	if (src && src->sa_family != AF_UNSPEC) {
		err = check(src);
		if (err)
			return err;
		if (cs_sockaddr_port(src))
			return cs_addr_bind(id, src);
	}
	start_anywhere(id, dst->sa_family);
	if (src && src->sa_family == dst->sa_family) {
		uint16_t port = cs_sockaddr_port(source(id));

		memcpy(source(id), src, cs_sockaddr_len(src));
		cs_sockaddr_set_port(source(id), port);
	}
	return 0;
}

/* "Any" as a destination is this host. */
static void take_destination(struct cs_id *id, const struct sockaddr *dst)
{
	memcpy(destination(id), dst, cs_sockaddr_len(dst));
	if (!cs_sockaddr_is_any(dst))
		return;
	if (!cs_sockaddr_is_any(source(id))) {
		uint16_t port = cs_sockaddr_port(dst);

		memcpy(destination(id), source(id), cs_sockaddr_len(source(id)));
		cs_sockaddr_set_port(destination(id), port);
	} else if (dst->sa_family == AF_INET) {
		((struct sockaddr_in *)destination(id))->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	} else {
		((struct sockaddr_in6 *)destination(id))->sin6_addr = in6addr_loopback;
	}
}

static int find_source(struct cs_id *id)
{
	struct sockaddr_storage local = { 0 };
	uint16_t port = cs_sockaddr_port(source(id));
	int err;

	/* A group is reached from any address; there may be no route for it. */
	if (cs_sockaddr_is_multicast(destination(id)) && !cs_sockaddr_is_any(source(id)))
		return 0;
	err = ask_route(source(id), destination(id), &local);
	if (err)
		return err;
	memcpy(source(id), &local, cs_sockaddr_len((struct sockaddr *)&local));
	cs_sockaddr_set_port(source(id), port);
	return 0;
}

static int resolve(struct cs_id *id, const struct sockaddr *src, const struct sockaddr *dst)
{
	bool was_bound = id->state == CS_BOUND;
	int err = check(dst);

	if (err)
		return err;
	if (id->state != CS_IDLE && !was_bound)
		return -EINVAL;
	id->dev = cs_device_get();
	if (!id->dev)
		return -errno;
	err = take_source(id, src, dst);
	if (err)
		return err;
	if (source(id)->sa_family != dst->sa_family) {
		err = -EINVAL;
	} else {
		take_destination(id, dst);
		err = find_source(id);
	}
	if (!err)
		err = attach(id);
	if (!err) {
		id->state = CS_ADDR_RESOLVED;
		return 0;
	}
	if (id->state == CS_IDLE)
		memset(source(id), 0, sizeof(id->id.route.addr.src_storage));
	return err;
}

int cs_resolve_addr(struct rdma_cm_id *cm_id, struct sockaddr *src, struct sockaddr *dst,
		    int timeout_ms)
{
	struct cs_id *id = cs_id(cm_id);
	int err = resolve(id, src, dst);

	if (!err)
		err = cs_notice_say(id, RDMA_CM_EVENT_ADDR_RESOLVED);
	return err ? vs_minus_one(err) : cs_complete(id);
}

/* Network order. */
__be16 cs_get_src_port(struct rdma_cm_id *id)
{
	return htons(cs_sockaddr_port(source(cs_id(id))));
}

__be16 cs_get_dst_port(struct rdma_cm_id *id)
{
	return htons(cs_sockaddr_port(destination(cs_id(id))));
}
