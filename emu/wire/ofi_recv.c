/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completions, and the one door where frames are taken apart. A frame comes
 * from another process and is hostile until its records have been found to
 * lie inside it; what is in a packet is for emu_input to judge.
 */
#include "ofi_recv.h"

#include "ofi_link.h"
#include "ofi_send.h"

#include <endian.h>
#include <rdma/fi_errno.h>
#include <string.h>

#define BATCH 16
#define BATCHES_PER_READ 4

static bool take_control(struct ofi_link *link, const uint8_t *data, size_t len)
{
	uint8_t kind = data[0];

	if (link->outgoing) {
		if (kind != OFI_PONG || len != OFI_CONTROL_HEAD || !link->ping_out)
			return false;
		ofi_pong_received(link);
		return true;
	}
	if (kind == OFI_PING && len == OFI_CONTROL_HEAD && link->proven) {
		link->pong_due = true;
		ofi_link_dirty(link);
		return true;
	}
	if (kind == OFI_PROOF && len == OFI_CONTROL_HEAD + OFI_PROOF_SIZE && !link->proven) {
		link->proven = ofi_proven(link->ofi->cfg->secret, true, &link->transcript,
					  data + OFI_CONTROL_HEAD);
		if (link->proven)
			ofi_link_up(link);
		else
			link->ofi->notice = "a peer was refused: it has another SOFTVERBS_SECRET";
		return link->proven;
	}
	return false;
}

/* False: not made by one of us, or not entitled. */
static bool take_record(struct ofi_link *link, const uint8_t *data, size_t len, bool control)
{
	if (control)
		return len >= OFI_CONTROL_HEAD && take_control(link, data, len);
	if (link->outgoing || !link->proven)
		return false;
	emu_input(link->ofi->dev, &link->peer->wire, data, len);
	return true;
}

static bool take_frame(struct ofi_link *link, const uint8_t *frame, size_t len)
{
	size_t at = 0, size;
	uint32_t word;

	while (at < len) {
		if (len - at < OFI_RECORD)
			return false;
		memcpy(&word, frame + at, sizeof(word));
		word = le32toh(word);
		size = word & ~OFI_CONTROL_FLAG;
		at += OFI_RECORD;
		if (!size || size > len - at)
			return false;
		if (!take_record(link, frame + at, size, word & OFI_CONTROL_FLAG))
			return false;
		/* What a record sets off may end the link, whose memory stays until later. */
		if (link->state == OFI_LINK_DEAD)
			return true;
		/* The last record of a frame need not be padded. */
		at += (size + 3) & ~(size_t)3;
	}
	return true;
}

static void received(struct ofi_op *op, size_t len)
{
	struct ofi_link *link = op->link;

	op->busy = false;
	if (link->state == OFI_LINK_DEAD)
		return;
	if (len > op->size || !take_frame(link, op->buf, len))
		ofi_link_break(link);
	else
		ofi_link_repost(op);
}

static void complete(const struct fi_cq_msg_entry *entry)
{
	struct ofi_op *op = entry->op_context;

	if (op->kind == OFI_OP_RECV)
		received(op, entry->len);
	else
		ofi_send_done(op);
}

/* A cancelled or failed operation: its link is done for. */
static void complete_error(struct wire_ofi *ofi)
{
	struct fi_cq_err_entry err = { 0 };
	struct ofi_op *op;

	if (fi_cq_readerr(ofi->fabric.cq, &err, 0) <= 0 || !err.op_context)
		return;
	op = err.op_context;
	ofi_link_break(op->link);
}

bool ofi_read_completions(struct wire_ofi *ofi)
{
	struct fi_cq_msg_entry entry[BATCH];
	ssize_t n;

	for (int i = 0; i < BATCHES_PER_READ; i++) {
		n = fi_cq_read(ofi->fabric.cq, entry, BATCH);
		if (n == -FI_EAVAIL) {
			complete_error(ofi);
			continue;
		}
		if (n <= 0) {
			ofi_link_reap(ofi);
			return false;
		}
		for (ssize_t k = 0; k < n; k++)
			complete(&entry[k]);
		/* What is still in the sockets, their descriptors tell. */
		if (n < BATCH && TAILQ_EMPTY(&ofi->dead))
			return false;
	}
	return true;
}
