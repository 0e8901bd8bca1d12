/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SYSFS_MODE_H
#define SYSFS_MODE_H

#include <emu/config.h>

/*
 * What this process uses: SV_MODE_EMULATE or SV_MODE_REAL. Decided once, from
 * SOFTVERBS_MODE and, for auto, from what the kernel shows of RDMA devices.
 * why (may be NULL) gets the reason in words, static. Any thread.
 */
enum sv_mode vs_mode(const char **why);

#endif
