/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOST_INSIDE_H
#define HOST_INSIDE_H

#include <stdbool.h>

/* Around calls into libfabric that may look for verbs devices: see nic_inside_engine(). */
void nic_inside_set(bool inside);

#endif
