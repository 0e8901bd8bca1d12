/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GID table: RoCE v2 GIDs are IP addresses, so it is this host's addresses
 * in a stable order: loopback, then the other interfaces, IPv4 before IPv6.
 */
#include <emu/config.h>

#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	struct emu_gid gid;
	char netdev[IF_NAMESIZE];
	int rank;
	unsigned order; /* as getifaddrs had it */
};

static bool gid_of_sockaddr(const struct sockaddr *sa, struct emu_gid *gid)
{
	if (!sa)
		return false;
	if (sa->sa_family == AF_INET) {
		memset(gid->raw, 0, 10);
		memset(gid->raw + 10, 0xff, 2);
		memcpy(gid->raw + 12, &((const struct sockaddr_in *)sa)->sin_addr, 4);
		return true;
	}
	if (sa->sa_family == AF_INET6) {
		memcpy(gid->raw, &((const struct sockaddr_in6 *)sa)->sin6_addr, 16);
		return true;
	}
	return false;
}

static int compare_entries(const void *va, const void *vb)
{
	const struct entry *a = va, *b = vb;

	if (a->rank != b->rank)
		return a->rank - b->rank;
	return a->order < b->order ? -1 : 1;
}

static bool known(const struct entry *e, unsigned n, const struct emu_gid *gid)
{
	for (unsigned i = 0; i < n; i++)
		if (!memcmp(e[i].gid.raw, gid->raw, sizeof(gid->raw)))
			return true;
	return false;
}

static unsigned collect(const struct ifaddrs *list, struct entry *e, unsigned max)
{
	const struct sockaddr_in loopback = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	unsigned n = 0;

	/* 127.0.0.1 always has index 0. */
	gid_of_sockaddr((const struct sockaddr *)&loopback, &e[n].gid);
	memcpy(e[n].netdev, "lo", 3);
	e[n].rank = -1;
	n++;
	for (const struct ifaddrs *i = list; i && n < max; i = i->ifa_next) {
		if (!(i->ifa_flags & IFF_UP) || !gid_of_sockaddr(i->ifa_addr, &e[n].gid) ||
		    known(e, n, &e[n].gid))
			continue;
		strncpy(e[n].netdev, i->ifa_name, IF_NAMESIZE - 1);
		e[n].netdev[IF_NAMESIZE - 1] = '\0';
		e[n].rank = (i->ifa_flags & IFF_LOOPBACK ? 0 : 2) +
			    (i->ifa_addr->sa_family == AF_INET6);
		e[n].order = n;
		n++;
	}
	return n;
}

unsigned sv_host_gids(struct emu_gid *gid, char (*netdev)[16], unsigned max)
{
	struct ifaddrs *list = NULL;
	struct entry *e;
	unsigned n, room = 256;

	_Static_assert(IF_NAMESIZE == 16, "netdev has IF_NAMESIZE bytes");
	memset(gid, 0, max * sizeof(*gid));
	if (netdev)
		memset(netdev, 0, max * sizeof(*netdev));
	e = calloc(room, sizeof(*e));
	if (!e)
		return 0;
	if (getifaddrs(&list))
		list = NULL;
	n = collect(list, e, room);
	if (list)
		freeifaddrs(list);
	qsort(e, n, sizeof(*e), compare_entries);
	if (n > max)
		n = max;
	for (unsigned i = 0; i < n; i++) {
		gid[i] = e[i].gid;
		if (netdev)
			memcpy(netdev[i], e[i].netdev, IF_NAMESIZE);
	}
	free(e);
	return n;
}
