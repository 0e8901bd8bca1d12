// SPDX-License-Identifier: BSD-2-Clause
#include "cm/send.h"

#include <string.h>

#include "cm/out.h"

/* What an MRA asks for: 69 s, as Linux does. */
#define MRA_SERVICE_TIMEOUT 24
#define HOP_LIMIT 64
#define DEFAULT_PKEY 0xffff
#define QPN_MAX 0xffffffu

/* ---- params to message ------------------------------------------------------------ */

static bool data_sane(enum emu_cm_kind kind, const void *data, uint32_t len)
{
	return len <= emu_cm_data_size(kind) && (data || !len);
}

bool emu_cm_params_sane(enum emu_cm_kind kind, const struct emu_cm_params *params)
{
	if (!data_sane(kind, params->private_data, params->private_data_len) ||
	    params->qpn > QPN_MAX || params->psn > QPN_MAX || params->ece_vendor > QPN_MAX ||
	    params->rnr_retry_count > 7)
		return false;
	if (kind != EMU_CM_MSG_REQ)
		return true;
	return params->retry_count <= 7 && params->ack_timeout <= 31 && params->path_mtu >= 1 &&
	       params->path_mtu <= 5;
}

static void put_data(struct emu_cm_msg *msg, const void *data, uint32_t len)
{
	if (len)
		memcpy(msg->data, data, len);
	msg->data_len = len;
}

static void put_params(struct emu_cm_msg *msg, const struct emu_cm_params *params)
{
	msg->qpn = params->qpn;
	msg->psn = params->psn;
	msg->qkey = params->qkey;
	msg->responder_resources = params->responder_resources;
	msg->initiator_depth = params->initiator_depth;
	msg->flow_control = params->flow_control ? 1 : 0;
	msg->retry_count = params->retry_count;
	msg->rnr_retry = params->rnr_retry_count;
	msg->srq = params->srq ? 1 : 0;
	msg->mtu = params->path_mtu;
	msg->ack_timeout = params->ack_timeout;
	msg->traffic_class = params->traffic_class;
	msg->ece_vendor = params->ece_vendor;
	msg->ece_options = params->ece_options;
	put_data(msg, params->private_data, params->private_data_len);
}

static struct emu_cm_msg start(const struct emu_cm_id *id, enum emu_cm_kind kind)
{
	return (struct emu_cm_msg){
		.kind = kind,
		.tid = id->tid,
		.local_id = id->local_id,
		.remote_id = id->remote_id,
		.ca_guid = id->cm->guid,
		.service_id = (uint64_t)id->ps << 16 | id->dst.port,
		.pkey = DEFAULT_PKEY,
		.src = id->src,
		.dst = id->dst,
	};
}

bool emu_cm_prepare(struct emu_cm_id *id, enum emu_cm_kind kind,
		    const struct emu_cm_params *params)
{
	const struct emu_cm_config *cfg = &id->cm->dev->cfg.cm;
	struct emu_cm_msg msg = start(id, kind);

	if (kind == EMU_CM_MSG_REQ) {
		put_params(&msg, params);
		if (!emu_cm_transport_of(params->qp_type, &msg))
			return false;
		msg.hop_limit = HOP_LIMIT;
		msg.remote_response_timeout = msg.local_response_timeout = cfg->response_timeout;
		msg.max_retries = cfg->max_retries & 0xf;
	} else {
		put_data(&msg, params->private_data, params->private_data_len);
	}
	emu_cm_pack(&msg, id->mad);
	return true;
}

/* ---- the rows' words ------------------------------------------------------------------ */

static void send(struct emu_cm_id *id, const struct emu_cm_msg *msg)
{
	emu_cm_pack(msg, id->mad);
	emu_cm_out_id(id);
}

static void look_up(struct emu_cm_id *id, const struct emu_cm_in *in)
{
	struct emu_dev *dev = id->cm->dev;

	dev->env->cm_lookup(dev->host, &id->dst, id->ps, id->local_id);
}

/* REQ and SIDR_REQ were written by emu_cm_prepare, and go out again after each look-up. */
static void send_again(struct emu_cm_id *id, const struct emu_cm_in *in)
{
	emu_cm_out_id(id);
}

static uint64_t about(const struct emu_cm_id *id)
{
	switch (id->state) {
	case EMU_CM_ST_REQ_RCVD:
		return EMU_CM_ABOUT_REQ;
	case EMU_CM_ST_REP_RCVD:
		return EMU_CM_ABOUT_REP;
	default:
		return EMU_CM_ABOUT_OTHER;
	}
}

static void send_mra(struct emu_cm_id *id, const struct emu_cm_in *in)
{
	struct emu_cm_msg msg = start(id, EMU_CM_MSG_MRA);

	msg.about = about(id);
	msg.service_timeout = MRA_SERVICE_TIMEOUT;
	send(id, &msg);
}

static void send_rep(struct emu_cm_id *id, const struct emu_cm_in *in)
{
	struct emu_cm_msg msg = start(id, EMU_CM_MSG_REP);

	put_params(&msg, in->params);
	id->local_qpn = in->params->qpn;
	id->retries = id->cm->dev->cfg.cm.max_retries;
	send(id, &msg);
}

static void send_plain(struct emu_cm_id *id, enum emu_cm_kind kind)
{
	struct emu_cm_msg msg = start(id, kind);

	msg.qpn = id->remote_qpn;
	send(id, &msg);
}

static void send_rtu(struct emu_cm_id *id, const struct emu_cm_in *in)
{
	send_plain(id, EMU_CM_MSG_RTU);
}

static void send_dreq(struct emu_cm_id *id, const struct emu_cm_in *in)
{
	id->retries = id->cm->dev->cfg.cm.max_retries;
	send_plain(id, EMU_CM_MSG_DREQ);
}

static void send_drep(struct emu_cm_id *id, const struct emu_cm_in *in)
{
	send_plain(id, EMU_CM_MSG_DREP);
}

static void reject_for(struct emu_cm_id *id, uint32_t reason, const struct emu_cm_in *in)
{
	struct emu_cm_msg msg = start(id, EMU_CM_MSG_REJ);

	msg.about = reason == EMU_CM_REJ_TIMEOUT ? EMU_CM_ABOUT_OTHER : EMU_CM_ABOUT_REQ;
	msg.reason = reason;
	put_data(&msg, in->data, in->len);
	send(id, &msg);
}

static void send_rej(struct emu_cm_id *id, const struct emu_cm_in *in)
{
	reject_for(id, in->reason, in);
}

static void send_rej_timeout(struct emu_cm_id *id, const struct emu_cm_in *in)
{
	reject_for(id, EMU_CM_REJ_TIMEOUT, in);
}

static void send_rej_consumer(struct emu_cm_id *id, const struct emu_cm_in *in)
{
	reject_for(id, EMU_CM_REJ_CONSUMER_DEFINED, in);
}

static void send_sidr_rep(struct emu_cm_id *id, const struct emu_cm_in *in)
{
	struct emu_cm_msg msg = start(id, EMU_CM_MSG_SIDR_REP);

	msg.reason = in->reason;
	msg.service_id = (uint64_t)id->ps << 16 | id->src.port;
	if (in->reason == EMU_CM_SIDR_SUCCESS) {
		msg.qpn = in->params->qpn;
		msg.qkey = in->params->qkey;
	}
	put_data(&msg, in->params->private_data, in->params->private_data_len);
	send(id, &msg);
}

static void send_sidr_reject(struct emu_cm_id *id, const struct emu_cm_in *in)
{
	const struct emu_cm_params none = { 0 };
	const struct emu_cm_in refusal = { .params = &none, .reason = EMU_CM_SIDR_REJECT };

	send_sidr_rep(id, &refusal);
}

typedef void (*send_fn)(struct emu_cm_id *id, const struct emu_cm_in *in);

static const send_fn senders[EMU_CM_SENDS] = {
	[EMU_CM_SEND_LOOK_UP] = look_up,
	[EMU_CM_SEND_REQ] = send_again,
	[EMU_CM_SEND_MRA] = send_mra,
	[EMU_CM_SEND_REP] = send_rep,
	[EMU_CM_SEND_RTU] = send_rtu,
	[EMU_CM_SEND_REJ] = send_rej,
	[EMU_CM_SEND_REJ_TIMEOUT] = send_rej_timeout,
	[EMU_CM_SEND_REJ_CONSUMER] = send_rej_consumer,
	[EMU_CM_SEND_DREQ] = send_dreq,
	[EMU_CM_SEND_DREP] = send_drep,
	[EMU_CM_SEND_SIDR_REQ] = send_again,
	[EMU_CM_SEND_SIDR_REP] = send_sidr_rep,
	[EMU_CM_SEND_SIDR_REJECT] = send_sidr_reject,
	[EMU_CM_SEND_AGAIN] = send_again,
};

void emu_cm_send(struct emu_cm_id *id, enum emu_cm_send what, const struct emu_cm_in *in)
{
	if (senders[what])
		senders[what](id, in);
}
