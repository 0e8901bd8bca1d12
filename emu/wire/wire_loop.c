/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The wire of QPs that are connected to QPs of the same process. Packets are
 * copied into one of two buffers; a poll swaps them and delivers the full one,
 * so that what the core sends while it receives goes into the other one and
 * nothing is ever delivered recursively.
 */
#include "wire_loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PAYLOAD 65536u
#define QUEUE_SIZE (4u * (MAX_PAYLOAD + EMU_HDR_MAX + 8))

struct queue {
	uint8_t *data;
	size_t used;
	bool probed; /* a probe was sent behind what is in here */
};

struct wire_loop {
	struct wire_peer peer;
	struct emu_dev *dev;
	struct queue queue[2];
	unsigned filling; /* the one that send() appends to */
	bool blocked; /* somebody got WIRE_BUSY */
	bool delivering;
};

/* Packets are kept as a 32-bit length, padding, the bytes; each starts 8-byte aligned. */
static size_t room_of(size_t len)
{
	return (8 + len + 7) & ~(size_t)7;
}

static struct wire_loop *loop_of(struct wire_peer *peer)
{
	return (struct wire_loop *)((char *)peer - offsetof(struct wire_loop, peer));
}

static enum wire_sent loop_send(struct wire_peer *peer, struct emu_tx *tx)
{
	struct wire_loop *loop = loop_of(peer);
	struct queue *q = &loop->queue[loop->filling];
	uint32_t len = (uint32_t)(tx->hdr_len + tx->payload);
	size_t room = room_of(len);

	assert(tx->payload <= MAX_PAYLOAD);
	if (q->used + room > QUEUE_SIZE) {
		loop->blocked = true;
		return WIRE_BUSY;
	}
	if (emu_tx_copy(loop->dev, tx, q->data + q->used + 8))
		return WIRE_FAULT;
	memcpy(q->data + q->used, &len, sizeof(len));
	q->used += room;
	return WIRE_DONE;
}

static enum wire_probe loop_probe(struct wire_peer *peer)
{
	struct wire_loop *loop = loop_of(peer);

	loop->queue[loop->filling].probed = true;
	return WIRE_PROBE_STARTED;
}

static void loop_abort(struct wire_peer *peer)
{
	/* Nothing is ever held: payload is copied when it is sent. */
}

static void loop_put(struct wire_peer *peer)
{
	/* Lives as long as the wire. */
}

static const struct wire_ops loop_ops = {
	.send = loop_send,
	.probe = loop_probe,
	.abort = loop_abort,
	.put = loop_put,
};

int wire_loop_open(struct emu_dev *dev, struct wire_loop **out)
{
	struct wire_loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return -ENOMEM;
	loop->peer.ops = &loop_ops;
	loop->peer.max_payload = MAX_PAYLOAD;
	loop->peer.host = WIRE_THIS_HOST;
	loop->dev = dev;
	for (int i = 0; i < 2; i++) {
		loop->queue[i].data = malloc(QUEUE_SIZE);
		if (!loop->queue[i].data) {
			wire_loop_close(loop);
			return -ENOMEM;
		}
	}
	*out = loop;
	return 0;
}

void wire_loop_close(struct wire_loop *loop)
{
	if (!loop)
		return;
	free(loop->queue[0].data);
	free(loop->queue[1].data);
	free(loop);
}

struct wire_peer *wire_loop_peer(struct wire_loop *loop)
{
	return &loop->peer;
}

bool wire_loop_pending(const struct wire_loop *loop)
{
	const struct queue *q = &loop->queue[loop->filling];

	return q->used || q->probed;
}

bool wire_loop_poll(struct wire_loop *loop)
{
	struct queue *q = &loop->queue[loop->filling];
	size_t at = 0;
	uint32_t len;

	if (!wire_loop_pending(loop))
		return false;
	assert(!loop->delivering);
	loop->delivering = true;
	loop->filling ^= 1;
	while (at < q->used) {
		memcpy(&len, q->data + at, sizeof(len));
		emu_input(loop->dev, &loop->peer, q->data + at + 8, len);
		at += room_of(len);
	}
	q->used = 0;
	if (q->probed) {
		q->probed = false;
		emu_wire_answered(loop->dev, &loop->peer);
	}
	if (loop->blocked) {
		loop->blocked = false;
		emu_wire_writable(loop->dev, &loop->peer);
	}
	loop->delivering = false;
	return wire_loop_pending(loop);
}
