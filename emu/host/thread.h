/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOST_THREAD_H
#define HOST_THREAD_H

#include "nic_state.h"

/* 0, -errno. */
int nic_thread_start(struct nic *nic);
/* Without the device lock; returns when it has ended. */
void nic_thread_stop(struct nic *nic);

#endif
