/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOST_FORK_H
#define HOST_FORK_H

/* Watch fork() and exit() for nic_current; once per process, nic_process_lock held. 0, -errno. */
int nic_watch_process(void);

#endif
