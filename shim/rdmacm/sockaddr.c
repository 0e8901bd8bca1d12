/* SPDX-License-Identifier: BSD-2-Clause */
#include "sockaddr.h"

#include <rdma/rdma_cma.h>

#include <string.h>

static const struct sockaddr_in *v4(const struct sockaddr *sa)
{
	return (const struct sockaddr_in *)sa;
}

static const struct sockaddr_in6 *v6(const struct sockaddr *sa)
{
	return (const struct sockaddr_in6 *)sa;
}

socklen_t cs_sockaddr_len(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET)
		return sizeof(struct sockaddr_in);
	return sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : 0;
}

bool cs_sockaddr_is_any(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET)
		return v4(sa)->sin_addr.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&v6(sa)->sin6_addr);
}

bool cs_sockaddr_is_multicast(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET)
		return IN_MULTICAST(ntohl(v4(sa)->sin_addr.s_addr));
	return IN6_IS_ADDR_MULTICAST(&v6(sa)->sin6_addr);
}

uint16_t cs_sockaddr_port(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET)
		return ntohs(v4(sa)->sin_port);
	return sa->sa_family == AF_INET6 ? ntohs(v6(sa)->sin6_port) : 0;
}

void cs_sockaddr_set_port(struct sockaddr *sa, uint16_t port)
{
	if (sa->sa_family == AF_INET)
		((struct sockaddr_in *)sa)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)sa)->sin6_port = htons(port);
}

void cs_sockaddr_read(const struct sockaddr *sa, struct emu_cm_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->port = cs_sockaddr_port(sa);
	if (cs_sockaddr_is_any(sa))
		return;
	if (sa->sa_family == AF_INET) {
		memset(addr->ip.raw + 10, 0xff, 2);
		memcpy(addr->ip.raw + 12, &v4(sa)->sin_addr, 4);
	} else {
		memcpy(addr->ip.raw, &v6(sa)->sin6_addr, sizeof(addr->ip.raw));
	}
}

void cs_sockaddr_write(const struct emu_cm_addr *addr, struct sockaddr *sa)
{
	struct in6_addr ip;

	memcpy(&ip, addr->ip.raw, sizeof(ip));
	if (IN6_IS_ADDR_V4MAPPED(&ip)) {
		struct sockaddr_in *in = (struct sockaddr_in *)sa;

		memset(in, 0, sizeof(*in));
		in->sin_family = AF_INET;
		memcpy(&in->sin_addr, ip.s6_addr + 12, 4);
	} else {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)sa;

		memset(in6, 0, sizeof(*in6));
		in6->sin6_family = AF_INET6;
		in6->sin6_addr = ip;
	}
	cs_sockaddr_set_port(sa, addr->port);
}

bool cs_sockaddr_equal(const struct sockaddr *a, const struct sockaddr *b)
{
	struct emu_cm_addr x, y;

	if (a->sa_family != b->sa_family)
		return false;
	cs_sockaddr_read(a, &x);
	cs_sockaddr_read(b, &y);
	return !memcmp(&x.ip, &y.ip, sizeof(x.ip));
}
