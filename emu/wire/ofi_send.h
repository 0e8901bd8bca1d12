/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OFI_SEND_H
#define OFI_SEND_H

#include "ofi_state.h"

extern const struct wire_ops ofi_wire_ops;

/* The kinds of control records: what the links say to each other, never the core's business. */
enum ofi_control {
	OFI_PING = 1, /* opener: all before this been seen? */
	OFI_PROOF = 2, /* opener, first of all: proof of the secret */
	OFI_PONG = 3, /* accepter: answers PING */
};

#define OFI_CONTROL_FLAG 0x80000000u
/* Kind in the first byte, three zero bytes. */
#define OFI_CONTROL_HEAD 4

/* Send what the link has collected. */
void ofi_link_flush(struct ofi_link *link);
/* A link that we opened is up: show that we know the secret, send what waits. */
void ofi_link_ready(struct ofi_link *link);
/* libfabric is done with a send. */
void ofi_send_done(struct ofi_op *op);
/* The answer to our PING. */
void ofi_pong_received(struct ofi_link *link);
/* Our link to the peer can send again: so can PONGs that waited for it. */
void ofi_pong_peer(struct ofi_peer *peer);

#endif
