/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Look-ups of the connection manager: which process listens for an address and
 * port? Who holds a port holds the UDP port of the same number; a look-up is a
 * datagram to it, and the kernel itself says when there is none.
 */
#ifndef HOST_CM_PORT_H
#define HOST_CM_PORT_H

#include "nic_state.h"

/* emu_env.cm_lookup */
void nic_cm_lookup(void *host, const struct emu_cm_addr *dst, uint16_t ps, uint32_t cookie);
/* Give answers that were found without asking; ask again what is due. Device lock. */
void nic_cm_run(struct nic *nic);
/* When something will be due; UINT64_MAX: never. Device lock. */
uint64_t nic_cm_deadline(const struct nic *nic);
/* A line for the user, once; NULL: none. Device lock. */
const char *nic_cm_notice(struct nic *nic);
/* A datagram came to a port that this process holds. Device lock. */
void nic_cm_asked(struct nic *nic, int fd);
/* The sockets that look-ups go out from. Device lock. */
void nic_cm_close(struct nic *nic);

#endif
