/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OFI_SOCK_H
#define OFI_SOCK_H

#include <emu/config.h>

#include <sys/socket.h>

/* Any of the two families, port in it. */
union ofi_sockaddr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* IPv4 as mapped IPv6. */
struct in6_addr ofi_sockaddr_ip(const union ofi_sockaddr *addr);
void ofi_sockaddr_set(union ofi_sockaddr *addr, const struct in6_addr *ip, uint32_t scope,
		      uint16_t port);

/*
 * The provider keeps its descriptors to itself; they are found by what they are
 * bound and connected to (peer NULL: not compared). Tries from hint on first.
 * -1: not found.
 */
int ofi_sock_find(int hint, const union ofi_sockaddr *local, const union ofi_sockaddr *peer);
/* The descriptor that the next socket will probably get. */
int ofi_sock_next(void);
/* Not inherited by programs that this one starts. */
void ofi_sock_cloexec(int fd);
/*
 * For a listening socket: libfabric reads the request from an accepted socket
 * as if it had to be there. Who connects and says nothing must not stop us.
 */
void ofi_sock_impatient(int fd);
/*
 * For a socket that sends to this very host: there is no congestion to control,
 * and the default algorithm may be one that paces (BBR halves the bandwidth).
 */
void ofi_sock_unpace(int fd);
/*
 * For a listening socket: the kernel drops what does not come from this host or
 * one of the networks, so that not a byte of it reaches libfabric.
 */
void ofi_sock_restrict(int fd, const struct sv_net *allow, unsigned count);
/* For a socket that such a listener accepted. */
void ofi_sock_unrestrict(int fd);
/* The same rule for an address: this host's loopback, or in one of the networks. */
bool ofi_sock_allowed(const struct in6_addr *ip, const struct sv_net *allow, unsigned count);

#endif
