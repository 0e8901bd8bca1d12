// SPDX-License-Identifier: BSD-2-Clause
/* MADs from the wire: whose they are. */
#include <stdlib.h>
#include <string.h>

#include "cm/conn.h"
#include "cm/door.h"
#include "cm/listen.h"
#include "cm/out.h"
#include "err.h"

#define IDS_MAX 65536u

static const struct emu_cm_config defaults = {
	.response_timeout = 20,
	.packet_life = 18,
	.max_retries = 15,
};

static uint8_t or_default(uint8_t value, uint8_t def)
{
	return value ? value : def;
}

int emu_cm_init(struct emu_dev *dev)
{
	struct emu_cm_config *cfg = &dev->cfg.cm;
	struct emu_cm *cm = calloc(1, sizeof(*cm));

	if (!cm)
		return -EMU_ENOMEM;
	cfg->response_timeout = or_default(cfg->response_timeout, defaults.response_timeout);
	cfg->packet_life = or_default(cfg->packet_life, defaults.packet_life);
	cfg->max_retries = or_default(cfg->max_retries, defaults.max_retries);
	cm->dev = dev;
	cm->rng = dev->cfg.seed;
	cm->guid = (uint64_t)dev->cfg.seed << 32 | 1;
	cm->out_end = &cm->out;
	cm->blocked_end = &cm->blocked;
	emu_idtab_init(&cm->ids, 1, IDS_MAX);
	dev->cm = cm;
	return 0;
}

void emu_cm_fini(struct emu_dev *dev)
{
	struct emu_cm *cm = dev->cm;
	struct emu_cm_listener *l;

	for (uint32_t i = cm->ids.first; i < cm->ids.high; i++)
		if (emu_cm_id_at(cm, i))
			emu_cm_id_free(emu_cm_id_at(cm, i));
	while ((l = cm->listeners)) {
		cm->listeners = l->next;
		free(l);
	}
	emu_cm_out_free_all(cm);
	emu_idtab_fini(&cm->ids);
	free(cm);
}

/* ---- messages of a conversation ------------------------------------------------------- */

static const uint8_t on_message[EMU_CM_KINDS] = {
	[EMU_CM_MSG_REQ] = EMU_CM_ON_REQ,
	[EMU_CM_MSG_MRA] = EMU_CM_ON_MRA,
	[EMU_CM_MSG_REJ] = EMU_CM_ON_REJ,
	[EMU_CM_MSG_REP] = EMU_CM_ON_REP,
	[EMU_CM_MSG_RTU] = EMU_CM_ON_RTU,
	[EMU_CM_MSG_DREQ] = EMU_CM_ON_DREQ,
	[EMU_CM_MSG_DREP] = EMU_CM_ON_DREP,
	[EMU_CM_MSG_SIDR_REQ] = EMU_CM_ON_SIDR_REQ,
	[EMU_CM_MSG_SIDR_REP] = EMU_CM_ON_SIDR_REP,
};

static enum emu_cm_on on_of(const struct emu_cm_msg *msg)
{
	if (msg->kind == EMU_CM_MSG_SIDR_REP && msg->reason != EMU_CM_SIDR_SUCCESS)
		return EMU_CM_ON_SIDR_REFUSAL;
	return (enum emu_cm_on)on_message[msg->kind];
}

/* Who withdraws a request never learned what we call ourselves. */
static struct emu_cm_id *find_id(const struct emu_cm *cm, const struct emu_cm_route *back,
				 const struct emu_cm_msg *msg)
{
	if (msg->kind == EMU_CM_MSG_REJ && !msg->remote_id)
		return emu_cm_find_remote(cm, back->peer, msg->local_id, 0);
	return emu_cm_id_get(cm, msg->remote_id);
}

static bool remote_known(const struct emu_cm_id *id)
{
	return id->remote_id && id->state != EMU_CM_ST_REQ_SENT &&
	       id->state != EMU_CM_ST_MRA_REQ_RCVD;
}

/* Is the message from the other side of this conversation? */
static bool belongs(const struct emu_cm_id *id, const struct emu_cm_route *back,
		    const struct emu_cm_msg *msg)
{
	if (!id->route.peer || id->route.peer->host != back->peer->host ||
	    memcmp(&back->remote, &id->route.remote, sizeof(back->remote)) != 0 ||
	    memcmp(&back->local, &id->route.local, sizeof(back->local)) != 0)
		return false;
	if (msg->kind == EMU_CM_MSG_SIDR_REP)
		return true;
	if (msg->kind == EMU_CM_MSG_DREQ && msg->qpn != id->local_qpn)
		return false;
	return !remote_known(id) || msg->local_id == id->remote_id;
}

/* A REP whose QP is in another connection already (IBTA 12.9.8.3.1). */
static bool refuse_stale(struct emu_cm_id *id, const struct emu_cm_msg *msg)
{
	if (!emu_cm_can(id, EMU_CM_ON_REP) || remote_known(id) ||
	    !emu_cm_find_qpn(id->cm, id, id->route.peer, msg->qpn))
		return false;
	emu_cm_answer(id->cm, &id->route, msg, EMU_CM_MSG_REJ, EMU_CM_REJ_STALE_CONN);
	return true;
}

static void take(struct emu_cm_id *id, const struct emu_cm_msg *msg)
{
	const struct emu_cm_in in = { .msg = msg };

	if (msg->kind == EMU_CM_MSG_REP) {
		if (refuse_stale(id, msg)) {
			id->cm->dev->counters.cm_dropped++;
			return;
		}
		if (!remote_known(id))
			emu_cm_id_set_remote(id, msg);
	}
	emu_cm_do(id, on_of(msg), &in);
}

/* Nothing is known of the conversation: so that the other side does not go on with it. */
static void answer_unknown(struct emu_cm *cm, const struct emu_cm_route *back,
			   const struct emu_cm_msg *msg)
{
	if (msg->kind == EMU_CM_MSG_REP || msg->kind == EMU_CM_MSG_RTU)
		emu_cm_answer(cm, back, msg, EMU_CM_MSG_REJ, EMU_CM_REJ_INVALID_COMM_ID);
	else if (msg->kind == EMU_CM_MSG_DREQ)
		emu_cm_answer(cm, back, msg, EMU_CM_MSG_DREP, 0);
}

static void take_message(struct emu_cm *cm, struct emu_cm_route *back,
			 const struct emu_cm_msg *msg)
{
	struct emu_cm_id *id;

	if (msg->kind == EMU_CM_MSG_REQ || msg->kind == EMU_CM_MSG_SIDR_REQ) {
		emu_cm_take_request(cm, back, msg);
		return;
	}
	id = find_id(cm, back, msg);
	if (id && belongs(id, back, msg)) {
		take(id, msg);
		return;
	}
	cm->dev->counters.cm_dropped++;
	if (!id)
		answer_unknown(cm, back, msg);
}

/*
 * Where answers go; its peer is a reference. False: not from a CM, or it names
 * another host than the one that sent it.
 */
static bool route_back(struct emu_dev *dev, const struct wire_peer *src,
		       const struct emu_pkt *pkt, struct emu_cm_route *back)
{
	if ((pkt->src_qpn & (EMU_SLOT_QPNS - 1)) != EMU_CM_QP)
		return false;
	*back = (struct emu_cm_route){
		.peer = dev->env->peer_get(dev->host, &pkt->grh.sgid, pkt->src_qpn),
		.local = pkt->grh.dgid,
		.remote = pkt->grh.sgid,
		.qpn = pkt->src_qpn,
	};
	if (back->peer && back->peer->host == src->host)
		return true;
	if (back->peer)
		back->peer->ops->put(back->peer);
	return false;
}

void emu_cm_input(struct emu_dev *dev, const struct wire_peer *src, const struct emu_pkt *pkt)
{
	struct emu_cm_route back;
	struct emu_cm_msg msg;

	if (pkt->qkey != EMU_CM_QKEY || !emu_cm_parse(pkt->payload, pkt->payload_len, &msg)) {
		dev->counters.cm_malformed++;
		return;
	}
	dev->counters.rx_packets++;
	dev->counters.rx_bytes += pkt->payload_len;
	if (!route_back(dev, src, pkt, &back)) {
		dev->counters.cm_dropped++;
		return;
	}
	take_message(dev->cm, &back, &msg);
	if (back.peer)
		back.peer->ops->put(back.peer);
}
