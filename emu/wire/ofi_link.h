/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OFI_LINK_H
#define OFI_LINK_H

#include "ofi_state.h"

/*
 * A link in state OPENING, with receives posted, from info. 0, -errno. After a
 * failure *out is NULL if no endpoint has been made, so that info->handle is
 * still the caller's; else the link, which has failed.
 */
int ofi_link_open(struct wire_ofi *ofi, struct ofi_peer *peer, bool outgoing,
		  struct fi_info *info, struct ofi_link **out);
/*
 * Incoming: break the oldest one of its peer, port and state if there are too many
 * of them. By state, so that who has proven nothing displaces nobody who has.
 */
void ofi_link_displace(const struct ofi_link *link);
/* It is open: connected, and whoever opened it has proven what he had to. */
void ofi_link_up(struct ofi_link *link);
/*
 * Close the endpoint, tell the core what that means for it, and bury the link.
 * Not from within a call of the core: there, ofi_link_fail().
 */
void ofi_link_break(struct ofi_link *link);
void ofi_link_fail(struct ofi_link *link);
/* A completion queue that was just found empty names no dead link any more. */
void ofi_link_reap(struct wire_ofi *ofi);
/* Give a receive back to libfabric. */
void ofi_link_repost(struct ofi_op *op);
/* Have it looked at by the next flush. */
void ofi_link_dirty(struct ofi_link *link);

/* A reference to the peer at addr. NULL: no memory. */
struct ofi_peer *ofi_peer_get(struct wire_ofi *ofi, const struct wire_addr *addr);
void ofi_peer_put(struct ofi_peer *peer);
/* Tell the core that it may send again, if it waits for that. */
void ofi_peer_unblock(struct ofi_peer *peer);

#endif
