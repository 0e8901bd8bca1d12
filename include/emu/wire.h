/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A wire carries packets between engines. The core sends through the ops of a
 * peer and never asks which wire that is; a wire hands what arrives to
 * emu_input() and reports the rest through the emu_wire_* doors of emu.h.
 *
 * All of it runs under the device lock.
 */
#ifndef EMU_WIRE_H
#define EMU_WIRE_H

#include <emu/types.h>

/* Headers of a packet: BTH and every extended header that may follow it. */
#define EMU_HDR_MAX 64
/* A payload up to this size is always taken by send() before it returns. */
#define EMU_TX_COPY_MAX 4096u
#define EMU_TX_IOV_MAX 33

struct emu_iov {
	void *base;
	size_t len;
};

/*
 * A packet on its way out: header bytes and pieces of user memory. The core
 * fills it; a wire only reads it, through emu_tx_copy() when it wants one
 * piece, and must not touch it after it has given it back.
 */
struct emu_tx {
	uint32_t hdr_len;
	uint32_t niov;
	size_t payload; /* bytes, the sum of iov[].len */
	uint8_t hdr[EMU_HDR_MAX];
	struct emu_iov iov[EMU_TX_IOV_MAX];
	struct emu_mr *mr[EMU_TX_IOV_MAX]; /* held while the wire has it; NULL: not a region */
	struct wire_peer *peer; /* core: where it went */
	struct emu_qp *qp; /* core: who is told when it comes back, or NULL … */
	uint32_t wqe; /* … and which WQE of its SQ it belongs to */
	struct emu_tx *next, **link; /* core: its lists */
};

enum wire_sent {
	WIRE_DONE = 0, /* taken, or lost as a wire may lose it; the tx is free again */
	WIRE_HELD = 1, /* the wire still reads user memory; it will call emu_wire_tx_done() */
	WIRE_BUSY = 2, /* not taken; the wire will call emu_wire_writable() */
	WIRE_FAULT = 3, /* not taken: user memory of the tx is not readable any more */
};

enum wire_probe {
	WIRE_PROBE_STARTED, /* the answer comes as emu_wire_answered() or emu_wire_gone() */
	WIRE_PROBE_DOWN, /* nobody there, or a wire without memory (lossy): count a timeout now */
};

struct wire_ops {
	/*
	 * Send one packet. If the peer is not connected yet the wire starts to
	 * connect and answers WIRE_BUSY. If it cannot be reached the packet is
	 * lost (WIRE_DONE): the core's retry timer finds out, as on hardware.
	 */
	enum wire_sent (*send)(struct wire_peer *peer, struct emu_tx *tx);
	/*
	 * Has the peer's engine seen everything that was sent so far? A slow but
	 * living peer must not use up a QP's retries, as the card of a slow host
	 * would still answer.
	 */
	enum wire_probe (*probe)(struct wire_peer *peer);
	/* Give up packets that are held (WIRE_HELD): the link is cut, tx_done follows at once. */
	void (*abort)(struct wire_peer *peer);
	/* The core drops its reference (see emu_env.peer_get). */
	void (*put)(struct wire_peer *peer);
};

/*
 * Whom a packet can be from. Hosts that SOFTVERBS_ALLOW lets in are one: which
 * of its addresses such a host sends from is its kernel's choice, not its GID's.
 */
enum wire_host {
	WIRE_THIS_HOST = 1,
	WIRE_OTHER_HOSTS = 2,
};

/* The part of a peer that the core sees; a wire embeds it in its own. */
struct wire_peer {
	const struct wire_ops *ops;
	uint32_t host; /* enum wire_host or the wire's own: who may answer for whom */
	uint32_t max_payload; /* bytes of payload in one frame, at least 4096 (one MTU); 1 = one MTU packet a frame */
};

#endif
