/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OFI_RECV_H
#define OFI_RECV_H

#include "ofi_state.h"

/* Take in what the completion queue has, bounded. True when there may be more. */
bool ofi_read_completions(struct wire_ofi *ofi);

#endif
