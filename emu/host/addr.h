/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOST_ADDR_H
#define HOST_ADDR_H

#include "nic_state.h"

/* Where that GID is; true if it is one of this host's addresses. Device lock held. */
bool nic_address_of(struct nic *nic, const struct emu_gid *gid, struct wire_addr *addr);
/* The list of this host's addresses, at the end. */
void nic_addresses_forget(struct nic *nic);
/* emu_env.peer_get; host is the struct nic. */
struct wire_peer *nic_peer_get(void *host, const struct emu_gid *dgid, uint32_t qpn);
/* Take the next free slot of the host and add it to the device. 0, -errno. */
int nic_add_slot(struct nic *nic);

#endif
