/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects of the libfabric wire: the wire itself, its peers (a process at
 * an address) and its links (a connected endpoint, one per peer and direction:
 * packets go out on links that we opened and come in on links that we accepted).
 */
#ifndef OFI_STATE_H
#define OFI_STATE_H

#include "wire_ofi.h"

#include "ofi_fabric.h"
#include "ofi_proof.h"
#include "ofi_sock.h"

#include <sys/queue.h>

#define OFI_MAX_PAYLOAD 65536u
/* Small packets that are ready together share a frame of up to this size. */
#define OFI_BATCH 16384u
/* A frame: records of a 32-bit length and that many bytes, padded to 4. */
#define OFI_RECORD 4u
#define OFI_FRAME_MAX (OFI_RECORD + EMU_HDR_MAX + OFI_MAX_PAYLOAD)
#define OFI_SENDS 16
#define OFI_HELD_MAX 8
#define OFI_RECVS 4
/* Incoming links of all peers together. */
#define OFI_INCOMING_MAX 4096u
/* Incoming links of one peer to one of our ports: an old one may still be there when it reconnects. */
#define OFI_INCOMING_PER_PEER 2
/* Frames without a completion of their own, until one with tells that they left. */
#define OFI_INJECTS 64

enum ofi_op_kind {
	OFI_OP_RECV,
	OFI_OP_FRAME, /* a batch, or a gathered packet */
	OFI_OP_HELD, /* a packet straight from user memory */
	OFI_OP_PONG,
};

/* One receive or send that libfabric works on; its context. */
struct ofi_op {
	struct fi_context2 context;
	struct ofi_link *link;
	enum ofi_op_kind kind;
	bool busy; /* libfabric has it */
	uint8_t *buf;
	size_t size, used;
	struct emu_tx *tx; /* OFI_OP_HELD */
	uint32_t confirms; /* injected frames that went before it */
	struct ofi_op *next; /* free list */
	uint8_t head[OFI_RECORD + EMU_HDR_MAX];
};

enum ofi_link_state {
	OFI_LINK_OPENING,
	OFI_LINK_UP,
	OFI_LINK_DEAD, /* closed; its memory goes when no completion can name it */
};

struct ofi_link {
	struct wire_ofi *ofi;
	struct ofi_peer *peer;
	struct fid_ep *ep;
	int fd; /* of the socket below, -1: not found */
	enum ofi_link_state state;
	bool outgoing;
	bool failed; /* to be broken at the next poll: not from within the core */
	bool stalled; /* libfabric said "try again" */
	bool dirty; /* on the list of those to flush */
	bool proven; /* the opener has shown that it knows the secret */
	uint64_t opened_ns;
	struct ofi_transcript transcript;

	/* Outgoing. */
	struct ofi_op send[OFI_SENDS];
	struct ofi_op *free_ops, *batch;
	unsigned held;
	uint32_t injected, confirmed;
	bool confirm_due; /* have a completion tell that what was injected has left */
	bool ping_due, ping_out, ping_again, ping_skipped;

	/* Incoming. */
	union ofi_sockaddr local; /* where it came in */
	bool pong_due;
	struct ofi_op pong;

	struct ofi_op recv[OFI_RECVS];
	uint8_t *recv_memory;

	TAILQ_ENTRY(ofi_link) entry; /* links or dead */
	TAILQ_ENTRY(ofi_link) dirty_entry;
};

struct ofi_peer {
	struct wire_peer wire;
	struct wire_ofi *ofi;
	struct wire_addr addr;
	unsigned refs; /* of the core and of incoming links */
	struct ofi_link *out;
	bool blocked; /* the core waits for emu_wire_writable */
	bool lose_next; /* could not be reached: the packet that waited is lost */
	bool probed; /* the core waits for an answer, though there is no connection yet */
	uint64_t retry_ns; /* no connect before */
	LIST_ENTRY(ofi_peer) entry;
};

TAILQ_HEAD(ofi_links, ofi_link);
LIST_HEAD(ofi_peers, ofi_peer);

#define OFI_PEER_BUCKETS 256
#define OFI_LISTENERS 32

struct ofi_listener {
	struct fid_pep *pep;
	int fd;
};

struct wire_ofi {
	const struct sv_config *cfg;
	struct emu_dev *dev;
	struct ofi_fabric fabric;
	bool muted;
	uint64_t now_ns;
	uint64_t eq_read_ns; /* when the event queue was looked at */
	bool eq_due;
	uint16_t primary_slot;
	struct ofi_listener listener[OFI_LISTENERS];
	unsigned listeners;
	struct ofi_links links, dead, dirty;
	unsigned opening; /* links that are */
	unsigned incoming; /* links that are */
	unsigned busy; /* sends that libfabric works on */
	bool any_failed, any_stalled;
	const char *notice; /* for the user, when the lock is free */
	bool noticed;
	struct ofi_peers peers[OFI_PEER_BUCKETS];
};

#endif
