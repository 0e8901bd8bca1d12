/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses without a registry: a process owns slots, a slot is a TCP port, a
 * QP number begins with its slot, a GID is an IP address. So (GID, QPN) names
 * a process by arithmetic.
 */
#include "addr.h"

#include "mcast.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOST_SLOTS 4096u
#define QPN_SLOT_SHIFT 12

/* The interface of a link-local address: its own one, else the first that has any. */
static uint32_t link_local_scope(const struct in6_addr *ip)
{
	struct ifaddrs *list, *i;
	uint32_t scope = 0, first = 0;

	if (!IN6_IS_ADDR_LINKLOCAL(ip) || getifaddrs(&list))
		return 0;
	for (i = list; i && !scope; i = i->ifa_next) {
		const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)i->ifa_addr;

		if (!sin6 || sin6->sin6_family != AF_INET6 || !(i->ifa_flags & IFF_UP) ||
		    !IN6_IS_ADDR_LINKLOCAL(&sin6->sin6_addr))
			continue;
		if (!first)
			first = sin6->sin6_scope_id;
		if (IN6_ARE_ADDR_EQUAL(&sin6->sin6_addr, ip))
			scope = sin6->sin6_scope_id;
	}
	freeifaddrs(list);
	return scope ? scope : first;
}

/* The kernel knows best which addresses are this host's: only those can be bound. */
static bool is_own_address(const struct wire_addr *addr)
{
	struct sockaddr_in6 sin6 = {
		.sin6_family = AF_INET6,
		.sin6_addr = addr->ip,
		.sin6_scope_id = addr->scope,
	};
	struct sockaddr_in sin = { .sin_family = AF_INET };
	bool v4 = IN6_IS_ADDR_V4MAPPED(&addr->ip), own;
	int fd;

	if (IN6_IS_ADDR_UNSPECIFIED(&addr->ip) || IN6_IS_ADDR_LOOPBACK(&addr->ip))
		return true;
	memcpy(&sin.sin_addr, addr->ip.s6_addr + 12, 4);
	fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	own = !(v4 ? bind(fd, (struct sockaddr *)&sin, sizeof(sin)) :
		     bind(fd, (struct sockaddr *)&sin6, sizeof(sin6)));
	close(fd);
	return own;
}

static bool is_own_slot(const struct nic *nic, uint32_t slot)
{
	for (unsigned i = 0; i < nic->slots; i++)
		if (nic->slot[i] == slot)
			return true;
	return false;
}

bool nic_address_of(const struct emu_gid *gid, struct wire_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	memcpy(&addr->ip, gid->raw, sizeof(addr->ip));
	addr->scope = link_local_scope(&addr->ip);
	return is_own_address(addr);
}

struct wire_peer *nic_peer_get(void *host, const struct emu_gid *dgid, uint32_t qpn)
{
	static const uint8_t loopback[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };
	struct nic *nic = host;
	struct wire_addr addr;
	bool own;

	if (emu_gid_is_multicast(dgid))
		return nic_mcast_peer(nic, dgid);
	own = nic_address_of(dgid, &addr);
	addr.slot = qpn >> QPN_SLOT_SHIFT;
	if (own) {
		if (is_own_slot(nic, addr.slot))
			return wire_loop_peer(nic->loop);
		/* Whatever address was meant, this host's processes listen there. */
		memcpy(&addr.ip, loopback, sizeof(addr.ip));
		addr.scope = 0;
	}
	return wire_ofi_peer(nic->ofi, &addr);
}

int nic_add_slot(struct nic *nic)
{
	uint32_t slot = nic->slots ? nic->slot[nic->slots - 1] + 1 : 0;
	int ret;

	if (nic->slots == NIC_SLOTS)
		return -ENOSPC;
	for (; slot < HOST_SLOTS; slot++) {
		ret = wire_ofi_listen(nic->ofi, slot);
		if (ret == -EADDRINUSE)
			continue;
		if (ret)
			return ret;
		nic->slot[nic->slots++] = slot;
		return emu_dev_add_slot(nic->dev, slot);
	}
	return -EADDRINUSE;
}
