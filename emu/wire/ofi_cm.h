/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OFI_CM_H
#define OFI_CM_H

#include "ofi_state.h"

/* Listen on the port of a slot. 0, -EADDRINUSE, other -errno. */
int ofi_listen(struct wire_ofi *ofi, uint32_t slot);
/* Begin to open a link to the peer; failure shows as that of the link. */
void ofi_connect(struct ofi_peer *peer);
/* Take in what the event queue has: requests, connections, ends of connections. */
void ofi_read_events(struct wire_ofi *ofi);
/* Links whose opening takes too long. */
void ofi_expire(struct wire_ofi *ofi);
/* When ofi_expire has something to do; UINT64_MAX: never. */
uint64_t ofi_expiry(const struct wire_ofi *ofi);

#endif
