/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOST_MCAST_H
#define HOST_MCAST_H

#include "nic_state.h"

/* emu_env.mcast */
int nic_mcast(void *host, const struct emu_gid *mgid, bool join);
/* The peer that sends to a group; NULL: cannot be had. Device lock. */
struct wire_peer *nic_mcast_peer(struct nic *nic, const struct emu_gid *mgid);
/* In a forked child. */
void nic_mcast_forget(struct nic *nic);
/* End of the NIC, before nic_watch_close. */
void nic_mcast_close(struct nic *nic);

#endif
