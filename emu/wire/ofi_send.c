/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets on their way out. Small ones are copied into the batch of their link,
 * which leaves as one frame at the end of the pass, or earlier when it is full;
 * big ones go straight from user memory in a frame of their own. Order is that
 * of the calls. Nothing here calls back into the core while it is in send().
 */
#include "ofi_send.h"

#include "ofi_cm.h"
#include "ofi_link.h"

#include <endian.h>
#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

static struct ofi_peer *peer_of(struct wire_peer *wire)
{
	return (struct ofi_peer *)((char *)wire - offsetof(struct ofi_peer, wire));
}

static void put_record(uint8_t *at, uint32_t word)
{
	word = htole32(word);
	memcpy(at, &word, sizeof(word));
}

static size_t padded(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

static void stall(struct ofi_link *link)
{
	link->stalled = true;
	link->ofi->any_stalled = true;
}

/* ---- the sends of a link ------------------------------------------------------ */

static struct ofi_op *take_op(struct ofi_link *link)
{
	struct ofi_op *op = link->free_ops;

	if (op)
		link->free_ops = op->next;
	return op;
}

static void give_op(struct ofi_op *op)
{
	op->used = 0;
	op->next = op->link->free_ops;
	op->link->free_ops = op;
}

/* True when libfabric has taken it. */
static bool start(struct ofi_op *op, const struct iovec *iov, size_t count)
{
	struct ofi_link *link = op->link;
	struct fi_msg msg = {
		.msg_iov = iov,
		.iov_count = count,
		.addr = FI_ADDR_UNSPEC,
		.context = op,
	};
	ssize_t ret = fi_sendmsg(link->ep, &msg, FI_COMPLETION);

	if (ret) {
		if (ret == -FI_EAGAIN)
			stall(link);
		else
			ofi_link_fail(link);
		return false;
	}
	op->busy = true;
	op->confirms = link->injected;
	link->ofi->busy++;
	return true;
}

static bool inject(struct ofi_link *link, const struct ofi_op *op)
{
	if (op->used > link->ofi->fabric.inject_max ||
	    link->injected - link->confirmed >= OFI_INJECTS ||
	    fi_inject(link->ep, op->buf, op->used, FI_ADDR_UNSPEC))
		return false;
	link->injected++;
	return true;
}

/* True when the batch is empty afterwards. */
static bool push_batch(struct ofi_link *link)
{
	struct ofi_op *op = link->batch;
	struct iovec iov;

	if (!op || !op->used)
		return true;
	if (inject(link, op)) {
		op->used = 0;
		return true;
	}
	iov = (struct iovec){ .iov_base = op->buf, .iov_len = op->used };
	op->kind = OFI_OP_FRAME;
	if (!start(op, &iov, 1))
		return false;
	link->batch = NULL;
	return true;
}

/* Room for a record of len bytes in the batch, or NULL. */
static uint8_t *batch_room(struct ofi_link *link, size_t len)
{
	struct ofi_op *op = link->batch;

	if (op && op->used + OFI_RECORD + padded(len) > OFI_BATCH) {
		if (!push_batch(link))
			return NULL;
		op = link->batch;
	}
	if (!op) {
		op = take_op(link);
		if (!op)
			return NULL;
		if (op->buf && op->size < OFI_BATCH) {
			free(op->buf);
			op->buf = NULL;
		}
		if (!op->buf) {
			op->buf = malloc(OFI_BATCH);
			op->size = OFI_BATCH;
		}
		if (!op->buf) {
			give_op(op);
			stall(link);
			return NULL;
		}
		link->batch = op;
	}
	return op->buf + op->used + OFI_RECORD;
}

static void batch_add(struct ofi_link *link, size_t len, uint32_t flag)
{
	struct ofi_op *op = link->batch;

	put_record(op->buf + op->used, (uint32_t)len | flag);
	memset(op->buf + op->used + OFI_RECORD + len, 0, padded(len) - len);
	op->used += OFI_RECORD + padded(len);
	ofi_link_dirty(link);
}

static bool batch_control(struct ofi_link *link, enum ofi_control kind, const void *data,
			  size_t len)
{
	uint8_t *at = batch_room(link, OFI_CONTROL_HEAD + len);

	if (!at)
		return false;
	memset(at, 0, OFI_CONTROL_HEAD);
	at[0] = (uint8_t)kind;
	if (len)
		memcpy(at + OFI_CONTROL_HEAD, data, len);
	batch_add(link, OFI_CONTROL_HEAD + len, OFI_CONTROL_FLAG);
	return true;
}

/* ---- packets of the core --------------------------------------------------------- */

static enum wire_sent send_copied(struct ofi_link *link, struct emu_tx *tx)
{
	size_t len = tx->hdr_len + tx->payload;
	uint8_t *at = batch_room(link, len);

	if (!at)
		return WIRE_BUSY;
	if (emu_tx_copy(link->ofi->dev, tx, at))
		return WIRE_FAULT;
	batch_add(link, len, 0);
	return WIRE_DONE;
}

/* More pieces than the provider takes: one copy into a buffer of ours. */
static enum wire_sent send_gathered(struct ofi_link *link, struct ofi_op *op, struct emu_tx *tx)
{
	size_t len = tx->hdr_len + tx->payload;
	struct iovec iov;

	if (op->size < OFI_RECORD + len) {
		free(op->buf);
		op->size = OFI_FRAME_MAX;
		op->buf = malloc(op->size);
	}
	if (!op->buf) {
		op->size = 0;
		give_op(op);
		stall(link);
		return WIRE_BUSY;
	}
	if (emu_tx_copy(link->ofi->dev, tx, op->buf + OFI_RECORD)) {
		give_op(op);
		return WIRE_FAULT;
	}
	put_record(op->buf, (uint32_t)len);
	iov = (struct iovec){ .iov_base = op->buf, .iov_len = OFI_RECORD + len };
	op->kind = OFI_OP_FRAME;
	if (!start(op, &iov, 1)) {
		give_op(op);
		return WIRE_BUSY;
	}
	return WIRE_DONE;
}

static enum wire_sent send_straight(struct ofi_link *link, struct ofi_op *op, struct emu_tx *tx)
{
	struct iovec iov[EMU_TX_IOV_MAX + 1];

	put_record(op->head, (uint32_t)(tx->hdr_len + tx->payload));
	memcpy(op->head + OFI_RECORD, tx->hdr, tx->hdr_len);
	iov[0] = (struct iovec){ .iov_base = op->head, .iov_len = OFI_RECORD + tx->hdr_len };
	for (uint32_t i = 0; i < tx->niov; i++)
		iov[i + 1] = (struct iovec){ tx->iov[i].base, tx->iov[i].len };
	op->kind = OFI_OP_HELD;
	op->tx = tx;
	if (!start(op, iov, tx->niov + 1)) {
		give_op(op);
		return WIRE_BUSY;
	}
	link->held++;
	return WIRE_HELD;
}

static enum wire_sent send_big(struct ofi_link *link, struct emu_tx *tx)
{
	struct ofi_op *op;

	if (link->held == OFI_HELD_MAX || !push_batch(link))
		return WIRE_BUSY;
	if (emu_tx_probe(link->ofi->dev, tx))
		return WIRE_FAULT;
	op = take_op(link);
	if (!op)
		return WIRE_BUSY;
	return tx->niov < link->ofi->fabric.iov_max ? send_straight(link, op, tx) :
						      send_gathered(link, op, tx);
}

static enum wire_sent ofi_send(struct wire_peer *wire, struct emu_tx *tx)
{
	struct ofi_peer *peer = peer_of(wire);
	struct wire_ofi *ofi = peer->ofi;
	enum wire_sent sent = WIRE_BUSY;

	if (ofi->muted)
		return WIRE_DONE;
	if (!peer->out) {
		if (peer->lose_next || ofi->now_ns < peer->retry_ns) {
			peer->lose_next = false;
			return WIRE_DONE;
		}
		ofi_connect(peer);
		/* No link for want of memory, so nobody to tell when it is writable: lost. */
		if (!peer->out)
			return WIRE_DONE;
	} else if (peer->out->failed) {
		return WIRE_DONE;
	} else if (peer->out->state == OFI_LINK_UP) {
		sent = tx->payload <= EMU_TX_COPY_MAX ? send_copied(peer->out, tx) :
							send_big(peer->out, tx);
	}
	if (sent == WIRE_BUSY)
		peer->blocked = true;
	return sent;
}

/* ---- probes -------------------------------------------------------------------- */

static void send_ping(struct ofi_link *link)
{
	link->ping_due = !batch_control(link, OFI_PING, NULL, 0);
	link->ping_out = true;
}

static enum wire_probe ofi_probe(struct wire_peer *wire)
{
	struct ofi_peer *peer = peer_of(wire);
	struct ofi_link *link = peer->out;

	if (!link || link->failed || peer->ofi->muted)
		return WIRE_PROBE_DOWN;
	if (link->state == OFI_LINK_OPENING)
		peer->probed = true;
	else if (link->ping_out)
		link->ping_again = true;
	else
		send_ping(link);
	return WIRE_PROBE_STARTED;
}

void ofi_pong_received(struct ofi_link *link)
{
	bool again = link->ping_again;

	link->ping_out = false;
	link->ping_again = false;
	/*
	 * A probe that came while this PING was out asks about later packets, so it
	 * gets a PING of its own, and the core one answer for both. But not for
	 * ever: at the second time in a row the earlier ones have waited enough.
	 */
	if (again)
		send_ping(link);
	if (!again || link->ping_skipped)
		emu_wire_answered(link->ofi->dev, &link->peer->wire);
	link->ping_skipped = again && !link->ping_skipped;
}

/*
 * A PONG says that the answers to all before it are under way too: it waits
 * while our own link to the peer is opening or full.
 */
static void send_pong(struct ofi_link *link)
{
	struct ofi_op *op = &link->pong;
	struct iovec iov = { .iov_base = op->head, .iov_len = OFI_RECORD + OFI_CONTROL_HEAD };

	/* One at a time, so that a peer that asks and never reads costs nothing. */
	if (op->busy || link->peer->blocked)
		return;
	put_record(op->head, OFI_CONTROL_HEAD | OFI_CONTROL_FLAG);
	memset(op->head + OFI_RECORD, 0, OFI_CONTROL_HEAD);
	op->head[OFI_RECORD] = OFI_PONG;
	link->pong_due = !start(op, &iov, 1);
}

void ofi_pong_peer(struct ofi_peer *peer)
{
	struct ofi_link *link;

	TAILQ_FOREACH(link, &peer->ofi->links, entry)
		if (link->peer == peer && link->pong_due)
			ofi_link_dirty(link);
}

/* An empty frame: it says nothing, but that it has left is told. */
static void send_confirmer(struct ofi_link *link)
{
	struct ofi_op *op = take_op(link);
	struct iovec iov = { 0 };

	/* Without a free one those that are out will tell; then it is looked at again. */
	if (!op)
		return;
	iov.iov_base = op->head;
	op->kind = OFI_OP_FRAME;
	if (start(op, &iov, 1))
		link->confirm_due = false;
	else
		give_op(op);
}

/* ---- the rest ------------------------------------------------------------------- */

void ofi_link_flush(struct ofi_link *link)
{
	if (link->failed)
		return;
	if (link->pong_due)
		send_pong(link);
	if (link->ping_due)
		send_ping(link);
	if (push_batch(link) && link->confirm_due)
		send_confirmer(link);
}

void ofi_link_ready(struct ofi_link *link)
{
	const char *secret = link->ofi->cfg->secret;
	uint8_t proof[OFI_PROOF_SIZE];

	if (*secret) {
		ofi_prove(secret, true, &link->transcript, proof);
		if (!batch_control(link, OFI_PROOF, proof, sizeof(proof))) {
			ofi_link_fail(link);
			return;
		}
	}
	if (link->peer->probed) {
		link->peer->probed = false;
		send_ping(link);
	}
	ofi_peer_unblock(link->peer);
}

void ofi_send_done(struct ofi_op *op)
{
	struct ofi_link *link = op->link;

	if (!op->busy)
		return;
	op->busy = false;
	link->ofi->busy--;
	if (op->kind == OFI_OP_PONG) {
		if (link->pong_due)
			ofi_link_dirty(link);
		return;
	}
	if ((int32_t)(op->confirms - link->confirmed) > 0)
		link->confirmed = op->confirms;
	if (op->kind == OFI_OP_HELD) {
		link->held--;
		emu_wire_tx_done(link->ofi->dev, op->tx);
	}
	give_op(op);
	if (link->ping_due || link->confirm_due)
		ofi_link_dirty(link);
	ofi_peer_unblock(link->peer);
}

static void ofi_abort(struct wire_peer *wire)
{
	struct ofi_peer *peer = peer_of(wire);

	if (peer->out)
		ofi_link_break(peer->out);
}

static void ofi_put(struct wire_peer *wire)
{
	ofi_peer_put(peer_of(wire));
}

const struct wire_ops ofi_wire_ops = {
	.send = ofi_send,
	.probe = ofi_probe,
	.abort = ofi_abort,
	.put = ofi_put,
};
