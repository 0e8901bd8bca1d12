/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOST_FLUSH_H
#define HOST_FLUSH_H

#include "nic_state.h"

/* Make passes until all is sent, a short time at most. Without the device lock. */
void nic_flush(struct nic *nic);

#endif
