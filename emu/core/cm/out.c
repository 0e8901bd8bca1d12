// SPDX-License-Identifier: BSD-2-Clause
#include "cm/out.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cm/door.h"
#include "cm/verify.h"
#include "pkt.h"

#define HOP_LIMIT 64
/* MADs queued at most; more are lost. */
#define OUT_MAX 65536u
/* Sent by one emu_run at most. */
#define SENDS_PER_RUN 64

struct emu_cm_out {
	struct emu_cm_route route; /* with a reference of its own */
	uint32_t probe_id; /* the id that wants to know whether the peer lives; 0: none */
	struct emu_cm_out *next;
	uint8_t mad[EMU_MAD_BYTES];
};

/* The core has no call for a second reference; the peer is known, so this finds it again. */
static bool hold_peer(struct emu_cm *cm, struct emu_cm_out *out)
{
	struct emu_dev *dev = cm->dev;

	out->route.peer = dev->env->peer_get(dev->host, &out->route.remote, out->route.qpn);
	return out->route.peer;
}

static struct emu_cm_out *enqueue(struct emu_cm *cm, const struct emu_cm_route *route)
{
	struct emu_cm_out *out;

	if (cm->nout == OUT_MAX || !(out = calloc(1, sizeof(*out))))
		return NULL;
	out->route = *route;
	if (!hold_peer(cm, out)) {
		free(out);
		return NULL;
	}
	*cm->out_end = out;
	cm->out_end = &out->next;
	cm->nout++;
	return out;
}

static void free_out(struct emu_cm *cm, struct emu_cm_out *out)
{
	out->route.peer->ops->put(out->route.peer);
	cm->nout--;
	free(out);
}

static void enqueue_id(struct emu_cm_id *id, uint32_t probe_id)
{
	struct emu_cm_out *out = id->route.peer ? enqueue(id->cm, &id->route) : NULL;

	if (!out)
		return;
	memcpy(out->mad, id->mad, sizeof(out->mad));
	out->probe_id = probe_id;
}

void emu_cm_out_id(struct emu_cm_id *id)
{
	enqueue_id(id, 0);
}

void emu_cm_out_probe(struct emu_cm_id *id)
{
	enqueue_id(id, id->local_id);
}

void emu_cm_out_msg(struct emu_cm *cm, const struct emu_cm_route *route,
		    const struct emu_cm_msg *msg)
{
	struct emu_cm_out *out = enqueue(cm, route);

	if (out)
		emu_cm_pack(msg, out->mad);
}

/* ---- sending ------------------------------------------------------------------------ */

static enum wire_sent send_out(struct emu_cm *cm, struct emu_cm_out *out)
{
	struct emu_dev *dev = cm->dev;
	struct emu_tx *tx = emu_dev_tx(dev);
	const struct emu_pkt pkt = {
		.op = emu_opcode(EMU_PKT_UD_SEND_ONLY),
		.dqpn = out->route.qpn,
		.qkey = EMU_CM_QKEY,
		.src_qpn = dev->slot[0].number << EMU_SLOT_SHIFT | EMU_CM_QP,
		.grh = {
			.hop_limit = HOP_LIMIT,
			.sgid = out->route.local,
			.dgid = out->route.remote,
		},
	};

	tx->hdr_len = emu_pkt_pack(&pkt, tx->hdr);
	tx->niov = 1;
	tx->payload = sizeof(out->mad);
	tx->iov[0] = (struct emu_iov){ out->mad, sizeof(out->mad) };
	tx->mr[0] = NULL;
	return emu_dev_send(dev, out->route.peer);
}

static void block(struct emu_cm *cm, struct emu_cm_out *out)
{
	struct wire_peer *peer = out->route.peer;

	out->next = NULL;
	*cm->blocked_end = out;
	cm->blocked_end = &out->next;
	/* Tells us when the connection that is being made fails: nobody is there any more. */
	peer->ops->probe(peer);
}

static void send_first(struct emu_cm *cm)
{
	struct emu_cm_out *out = cm->out;
	struct emu_cm_id *asking = NULL;
	enum wire_sent sent;

	cm->out = out->next;
	if (!cm->out)
		cm->out_end = &cm->out;
	sent = send_out(cm, out);
	if (out->probe_id)
		asking = emu_cm_id_get(cm, out->probe_id);
	out->probe_id = 0;
	if (asking)
		emu_cm_probe(asking);
	if (sent == WIRE_BUSY)
		block(cm, out);
	else
		free_out(cm, out);
}

bool emu_cm_sending(const struct emu_dev *dev)
{
	return dev->cm->nout;
}

bool emu_cm_pending(const struct emu_dev *dev)
{
	return dev->cm->out;
}

void emu_cm_run(struct emu_dev *dev)
{
	for (int i = 0; i < SENDS_PER_RUN && dev->cm->out; i++)
		send_first(dev->cm);
}

void emu_cm_writable(struct emu_dev *dev, const struct wire_peer *peer)
{
	struct emu_cm *cm = dev->cm;
	struct emu_cm_out **link = &cm->blocked, *out;

	while ((out = *link)) {
		if (out->route.peer != peer) {
			link = &out->next;
			continue;
		}
		*link = out->next;
		out->next = NULL;
		*cm->out_end = out;
		cm->out_end = &out->next;
	}
	cm->blocked_end = link;
}

static void free_list(struct emu_cm *cm, struct emu_cm_out *out)
{
	struct emu_cm_out *next;

	for (; out; out = next) {
		next = out->next;
		free_out(cm, out);
	}
}

void emu_cm_out_free_all(struct emu_cm *cm)
{
	free_list(cm, cm->out);
	free_list(cm, cm->blocked);
	assert(!cm->nout);
}
