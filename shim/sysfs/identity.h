/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who the emulated device says it is, to verbs and to /sys/class/infiniband alike.
 */
#ifndef SYSFS_IDENTITY_H
#define SYSFS_IDENTITY_H

#include <stdint.h>

#define VS_FW_VER PACKAGE_VERSION
#define VS_BOARD_ID "SOFTVERBS"
#define VS_UVERBS_ABI 1
#define VS_LID 1 /* InfiniBand link layer */

/* Host byte order, never 0: the same for this name on this host at any time. Any thread. */
uint64_t vs_node_guid(const char *device);

#endif
