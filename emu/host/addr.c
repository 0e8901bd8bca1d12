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

#define HOST_SLOTS 4096u
#define QPN_SLOT_SHIFT 12

/* How long the list of this host's addresses is believed. */
#define BELIEVE_NS 1000000000u

/* A system call or several, and datagrams to many destinations ask each time. */
static const struct ifaddrs *host_addresses(struct nic *nic)
{
	if (nic->addresses && nic->now_ns - nic->addresses_ns < BELIEVE_NS)
		return nic->addresses;
	nic_addresses_forget(nic);
	if (getifaddrs(&nic->addresses))
		nic->addresses = NULL;
	nic->addresses_ns = nic->now_ns;
	return nic->addresses;
}

void nic_addresses_forget(struct nic *nic)
{
	if (nic->addresses)
		freeifaddrs(nic->addresses);
	nic->addresses = NULL;
}

static bool is_at(const struct ifaddrs *i, const struct in6_addr *ip)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)i->ifa_addr;
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)i->ifa_addr;

	if (!i->ifa_addr || !(i->ifa_flags & IFF_UP))
		return false;
	if (i->ifa_addr->sa_family == AF_INET)
		return IN6_IS_ADDR_V4MAPPED(ip) && !memcmp(&sin->sin_addr, ip->s6_addr + 12, 4);
	return i->ifa_addr->sa_family == AF_INET6 && IN6_ARE_ADDR_EQUAL(&sin6->sin6_addr, ip);
}

/* The interface of a link-local address: its own one, else the first that has any. */
static uint32_t link_local_scope(const struct ifaddrs *list, const struct in6_addr *ip)
{
	uint32_t first = 0;

	if (!IN6_IS_ADDR_LINKLOCAL(ip))
		return 0;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
		const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)i->ifa_addr;

		if (is_at(i, ip))
			return sin6->sin6_scope_id;
		if (!first && sin6 && sin6->sin6_family == AF_INET6 && i->ifa_flags & IFF_UP &&
		    IN6_IS_ADDR_LINKLOCAL(&sin6->sin6_addr))
			first = sin6->sin6_scope_id;
	}
	return first;
}

/* To bind it says nothing: with ip_nonlocal_bind every address can be bound. */
static bool is_own_address(const struct ifaddrs *list, const struct in6_addr *ip)
{
	if (IN6_IS_ADDR_UNSPECIFIED(ip) || IN6_IS_ADDR_LOOPBACK(ip) ||
	    (IN6_IS_ADDR_V4MAPPED(ip) && ip->s6_addr[12] == 127))
		return true;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next)
		if (is_at(i, ip))
			return true;
	return false;
}

static bool is_own_slot(const struct nic *nic, uint32_t slot)
{
	for (unsigned i = 0; i < nic->slots; i++)
		if (nic->slot[i] == slot)
			return true;
	return false;
}

bool nic_address_of(struct nic *nic, const struct emu_gid *gid, struct wire_addr *addr)
{
	const struct ifaddrs *list = host_addresses(nic);

	memset(addr, 0, sizeof(*addr));
	memcpy(&addr->ip, gid->raw, sizeof(addr->ip));
	addr->scope = link_local_scope(list, &addr->ip);
	return is_own_address(list, &addr->ip);
}

struct wire_peer *nic_peer_get(void *host, const struct emu_gid *dgid, uint32_t qpn)
{
	static const uint8_t loopback[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };
	struct nic *nic = host;
	struct wire_addr addr;
	bool own;

	if (emu_gid_is_multicast(dgid))
		return nic_mcast_peer(nic, dgid);
	own = nic_address_of(nic, dgid, &addr);
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
