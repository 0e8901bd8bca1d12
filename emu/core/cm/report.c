// SPDX-License-Identifier: BSD-2-Clause
#include "cm/report.h"

/* Private data that nobody sent. */
static const uint8_t zeros[EMU_CM_DATA_MAX];

/* Which message's private data an event shows, though it may come without one; -1: none. */
static const int8_t data_of[] = {
	[EMU_CM_REQUEST] = EMU_CM_MSG_REQ,
	[EMU_CM_RESPONSE] = EMU_CM_MSG_REP,
	[EMU_CM_ESTABLISHED] = -1,
	[EMU_CM_REJECTED] = EMU_CM_MSG_REJ,
	[EMU_CM_UNREACHABLE] = EMU_CM_MSG_SIDR_REP,
	[EMU_CM_DISCONNECTED] = -1,
	[EMU_CM_TIMEWAIT_EXIT] = -1,
	[EMU_CM_SIDR_REQUEST] = EMU_CM_MSG_SIDR_REQ,
	[EMU_CM_SIDR_RESPONSE] = EMU_CM_MSG_SIDR_REP,
};

static void get_data(struct emu_cm_params *params, int kind, const struct emu_cm_msg *msg)
{
	if (kind < 0)
		return;
	params->private_data = msg && msg->kind == (enum emu_cm_kind)kind ? msg->data : zeros;
	params->private_data_len = emu_cm_data_size((enum emu_cm_kind)kind);
}

/* What the sender reads at most, the receiver must have resources for, and the other way round. */
static void get_params(struct emu_cm_params *params, const struct emu_cm_msg *msg)
{
	params->qpn = (uint32_t)msg->qpn;
	params->psn = (uint32_t)msg->psn;
	params->qkey = (uint32_t)msg->qkey;
	params->qp_type = msg->kind == EMU_CM_MSG_REQ ? emu_cm_qp_type_of(msg) : 0;
	params->responder_resources = (uint8_t)msg->initiator_depth;
	params->initiator_depth = (uint8_t)msg->responder_resources;
	params->flow_control = (uint8_t)msg->flow_control;
	params->retry_count = (uint8_t)msg->retry_count;
	params->rnr_retry_count = (uint8_t)msg->rnr_retry;
	params->srq = (uint8_t)msg->srq;
	params->path_mtu = (uint8_t)msg->mtu;
	params->ack_timeout = (uint8_t)msg->ack_timeout;
	params->traffic_class = (uint8_t)msg->traffic_class;
	params->ece_vendor = (uint32_t)msg->ece_vendor;
	params->ece_options = (uint32_t)msg->ece_options;
}

static bool tells_params(enum emu_cm_event_type type)
{
	return type == EMU_CM_REQUEST || type == EMU_CM_RESPONSE || type == EMU_CM_SIDR_RESPONSE;
}

void emu_cm_report(struct emu_cm_id *id, enum emu_cm_event_type type, int status,
		   const struct emu_cm_msg *msg)
{
	struct emu_dev *dev = id->cm->dev;
	bool request = type == EMU_CM_REQUEST || type == EMU_CM_SIDR_REQUEST;
	struct emu_cm_event event = {
		.type = type,
		.status = status,
		.id = id,
		.listener = request ? id->listener : NULL,
		.user = request ? id->listener->args.user : id->user,
		.ps = id->ps,
		.src = id->src,
		.dst = id->dst,
	};

	if (msg && tells_params(type))
		get_params(&event.params, msg);
	get_data(&event.params, data_of[type], msg);
	dev->env->cm_event(dev->host, &event);
}
