/* SPDX-License-Identifier: BSD-2-Clause */
/* Socket addresses and the core's addresses. */
#ifndef CS_SOCKADDR_H
#define CS_SOCKADDR_H

#include <emu/cm.h>

#include <netinet/in.h>

/* Bytes of the address of that family; 0: none of ours. */
socklen_t cs_sockaddr_len(const struct sockaddr *sa);
/* sa of AF_INET or AF_INET6, as the two that follow. "Any" of both families becomes all zero. */
void cs_sockaddr_read(const struct sockaddr *sa, struct emu_cm_addr *addr);
bool cs_sockaddr_is_any(const struct sockaddr *sa);
bool cs_sockaddr_is_multicast(const struct sockaddr *sa);
/* Host order; 0 for other families. */
uint16_t cs_sockaddr_port(const struct sockaddr *sa);
void cs_sockaddr_set_port(struct sockaddr *sa, uint16_t port);
/* Room for sockaddr_in6; mapped IPv4 becomes AF_INET. */
void cs_sockaddr_write(const struct emu_cm_addr *addr, struct sockaddr *sa);
/* Without the port. */
bool cs_sockaddr_equal(const struct sockaddr *a, const struct sockaddr *b);

#endif
