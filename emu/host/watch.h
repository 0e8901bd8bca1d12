/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Descriptors beside the wires, of which there are many and seldom news: look-ups
 * of the connection manager, multicast. Who sleeps, sleeps on the one epoll
 * descriptor of all of them (nic->watch_fd); who spins looks now and then.
 */
#ifndef HOST_WATCH_H
#define HOST_WATCH_H

#include "nic_state.h"

struct nic_watch {
	int fd;
	/* Level-triggered, under the device lock. May add and remove watches. */
	void (*readable)(struct nic *nic, struct nic_watch *watch);
	struct nic_watch *next;
};

/* All under the device lock. */

/* w is the caller's and stays until nic_watch_remove. 0, -errno. */
int nic_watch_add(struct nic *nic, struct nic_watch *w);
/* Closes nothing. */
void nic_watch_remove(struct nic *nic, struct nic_watch *w);
/* Look for news, unless that was done a moment ago. */
void nic_watch_poll(struct nic *nic);
/* End of the NIC, or of its copy in a forked child: closes every watched descriptor. */
void nic_watch_close(struct nic *nic);

#endif
