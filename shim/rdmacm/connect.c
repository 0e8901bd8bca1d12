/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdma_connect, rdma_accept, rdma_establish, rdma_reject, rdma_disconnect,
 * rdma_notify. Which of them is possible when is the core's to say; here the
 * QP is moved along, and parameters are filled in.
 */
#include "connect.h"

#include "qp.h"
#include "sockaddr.h"
#include "sync.h"

#include <abi/rdmacm.h>
#include <verbs/errno.h>

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* rdma_cm's local ACK timeout for RoCE: 4.096 us * 2^19, 2.1 s. */
#define ACK_TIMEOUT 19
#define MAX_RETRIES 7
#define PSN_MASK 0xffffffu

struct message {
	uint8_t data[EMU_CM_REP_DATA + UINT8_MAX];
	uint32_t len;
};

static bool is_ud(const struct cs_id *id)
{
	return id->id.qp_type == IBV_QPT_UD;
}

static uint8_t at_most(uint8_t value, uint8_t max)
{
	return value < max ? value : max;
}

static uint32_t random_psn(void)
{
	uint32_t psn = 0;

	if (getrandom(&psn, sizeof(psn), GRND_NONBLOCK) < 0)
		psn = (uint32_t)(uintptr_t)&psn;
	return psn & PSN_MASK;
}

static uint8_t ack_timeout(const struct cs_id *id)
{
	return id->ack_timeout ? id->ack_timeout : ACK_TIMEOUT;
}

/* ---- parameters ------------------------------------------------------------------ */

static bool valid_depth(const struct cs_id *id, uint8_t depth)
{
	return depth == UINT8_MAX || depth <= id->dev->max_rd_atom;
}

/* rdma_connect(3): more than the device can is refused, "as many as possible" is not. */
static int check(const struct cs_id *id, const struct rdma_conn_param *param)
{
	if (is_ud(id))
		return 0;
	if (!param)
		return id->id.qp ? 0 : -EINVAL;
	return valid_depth(id, param->responder_resources) &&
			       valid_depth(id, param->initiator_depth) ?
		       0 :
		       -EINVAL;
}

/* What goes out: the QP's own facts first, then what the program wants. */
static void fill_params(struct cs_id *id, const struct rdma_conn_param *param)
{
	struct emu_cm_params *p = &id->local;
	const struct ibv_qp *qp = id->id.qp;

	p->qpn = qp ? qp->qp_num : param ? param->qp_num : 0;
	p->srq = qp ? !!qp->srq : param && param->srq;
	p->qp_type = (uint8_t)(qp ? qp->qp_type : id->id.qp_type);
	p->qkey = RDMA_UDP_QKEY;
	p->traffic_class = id->traffic_class;
	p->responder_resources = id->responder_resources;
	p->initiator_depth = id->initiator_depth;
	p->flow_control = param ? param->flow_control : 0;
	p->rnr_retry_count = param ? at_most(param->rnr_retry_count, MAX_RETRIES) : MAX_RETRIES;
	p->ece_vendor = qp ? 0 : id->local_ece.vendor_id;
	p->ece_options = qp ? 0 : id->local_ece.options;
}

/* Private data of rdma_getaddrinfo's (ai_connect) goes before the program's. */
static int fill_message(const struct cs_id *id, const struct rdma_conn_param *param, uint32_t max,
			struct message *m)
{
	m->len = 0;
	if (id->connect_len)
		memcpy(m->data, id->connect_data, id->connect_len);
	m->len = id->connect_len;
	if (param && param->private_data && param->private_data_len) {
		if (m->len + param->private_data_len > sizeof(m->data))
			return -EINVAL;
		memcpy(m->data + m->len, param->private_data, param->private_data_len);
		m->len += param->private_data_len;
	}
	return m->len <= max ? 0 : -EINVAL;
}

static void drop_connect_data(struct cs_id *id)
{
	free(id->connect_data);
	id->connect_data = NULL;
	id->connect_len = 0;
}

/* ---- the asking side --------------------------------------------------------------- */

static uint8_t wanted(uint8_t depth, const struct cs_id *id)
{
	return at_most(depth, id->dev->max_rd_atom);
}

static int ask(struct cs_id *id, const struct message *m)
{
	struct emu_cm_connect connect = { .ps = (uint16_t)id->id.ps, .params = id->local };
	struct emu_dev *dev = nic_lock(id->dev->nic);
	int err = -EIO;

	connect.params.private_data = m->data;
	connect.params.private_data_len = m->len;
	cs_sockaddr_read(&id->id.route.addr.src_addr, &connect.src);
	cs_sockaddr_read(&id->id.route.addr.dst_addr, &connect.dst);
	if (nic_alive(id->dev->nic))
		err = is_ud(id) ? emu_cm_sidr_connect(dev, &connect, id, &id->cm) :
				  emu_cm_connect(dev, &connect, id, &id->cm);
	if (!err)
		id->state = CS_CONNECTING;
	nic_unlock(id->dev->nic);
	return err;
}

static int connect_id(struct cs_id *id, const struct rdma_conn_param *param)
{
	struct message m;
	int err;

	if (id->state != CS_ROUTE_RESOLVED)
		return -EINVAL;
	err = check(id, param);
	if (!err)
		err = fill_message(id, param, is_ud(id) ? EMU_CM_SIDR_REQ_DATA : EMU_CM_REQ_DATA, &m);
	if (err)
		return err;
	id->responder_resources = wanted(param ? param->responder_resources : UINT8_MAX, id);
	id->initiator_depth = wanted(param ? param->initiator_depth : UINT8_MAX, id);
	fill_params(id, param);
	id->local.psn = random_psn();
	id->local.retry_count = param ? at_most(param->retry_count, MAX_RETRIES) : MAX_RETRIES;
	id->local.path_mtu = (uint8_t)id->dev->port->active_mtu;
	id->local.ack_timeout = ack_timeout(id);
	return ask(id, &m);
}

int cs_connect(struct rdma_cm_id *cm_id, struct rdma_conn_param *param)
{
	struct cs_id *id = cs_id(cm_id);
	int err = connect_id(id, param);

	if (err)
		return vs_minus_one(err);
	drop_connect_data(id);
	return cs_complete(id);
}

int cs_establish(struct rdma_cm_id *cm_id)
{
	struct cs_id *id = cs_id(cm_id);
	int err;

	/* rdma_establish(3): not for an id whose QP is its own. */
	if (cm_id->qp || !id->cm)
		return vs_minus_one(-EINVAL);
	nic_lock(id->dev->nic);
	err = nic_alive(id->dev->nic) ? emu_cm_establish(id->cm) : -EIO;
	nic_unlock(id->dev->nic);
	return vs_minus_one(err);
}

/* ---- the side that is asked ---------------------------------------------------------- */

void cs_connect_prepare(struct cs_id *id)
{
	id->passive = true;
	id->local.psn = random_psn();
	id->local.retry_count = at_most(id->remote.retry_count, MAX_RETRIES);
	id->local.path_mtu = at_most(id->remote.path_mtu, (uint8_t)id->dev->port->active_mtu);
	id->local.ack_timeout = id->remote.ack_timeout;
	id->responder_resources = wanted(id->remote.responder_resources, id);
	id->initiator_depth = wanted(id->remote.initiator_depth, id);
}

/* rdma_accept(3): without a word about them, the depths are what was asked for. */
static void agree(struct cs_id *id, const struct rdma_conn_param *param)
{
	if (param && param->responder_resources != RDMA_MAX_RESP_RES)
		id->responder_resources = param->responder_resources;
	if (param && param->initiator_depth != RDMA_MAX_INIT_DEPTH)
		id->initiator_depth = param->initiator_depth;
}

static int refuse(struct cs_id *id, enum emu_cm_reason reason, const void *data, uint32_t len)
{
	struct emu_cm_params params = { .private_data = data, .private_data_len = len };
	int err = -EIO;

	nic_lock(id->dev->nic);
	if (nic_alive(id->dev->nic))
		err = is_ud(id) ? emu_cm_sidr_reply(id->cm, EMU_CM_SIDR_REJECT, &params) :
				  emu_cm_reject(id->cm, reason, data, len);
	nic_unlock(id->dev->nic);
	return err;
}

static int answer(struct cs_id *id, const struct message *m)
{
	struct emu_cm_params params = id->local;
	int err = -EIO;

	params.private_data = m->data;
	params.private_data_len = m->len;
	nic_lock(id->dev->nic);
	if (nic_alive(id->dev->nic))
		err = is_ud(id) ? emu_cm_sidr_reply(id->cm, EMU_CM_SIDR_SUCCESS, &params) :
				  emu_cm_accept(id->cm, &params);
	nic_unlock(id->dev->nic);
	return err;
}

/* As the kernel does it: what cannot be accepted is rejected, and the QP is lost. */
static int accept_id(struct cs_id *id, const struct rdma_conn_param *param)
{
	uint32_t max = is_ud(id) ? EMU_CM_SIDR_REP_DATA : EMU_CM_REP_DATA;
	struct message m;
	int err = 0;

	if (!id->passive || !id->cm)
		return -EINVAL;
	err = check(id, param);
	if (err)
		return err;
	agree(id, param);
	if (id->id.qp && !is_ud(id))
		err = cs_qp_to_rts(id);
	if (err)
		return err;
	fill_params(id, param);
	err = fill_message(id, param, max, &m);
	if (err)
		refuse(id, EMU_CM_REJ_CONSUMER_DEFINED, NULL, 0);
	else
		err = answer(id, &m);
	if (err)
		cs_qp_to_error(id);
	return err;
}

int cs_accept(struct rdma_cm_id *cm_id, struct rdma_conn_param *param)
{
	struct cs_id *id = cs_id(cm_id);
	int err = accept_id(id, param);

	if (err)
		return vs_minus_one(err);
	return is_ud(id) ? 0 : cs_complete(id);
}

/* Often the last thing a program does: it must not end before the message has left. */
static int reject(struct cs_id *id, enum emu_cm_reason reason, const void *data, uint8_t len)
{
	uint32_t max = is_ud(id) ? EMU_CM_SIDR_REP_DATA : EMU_CM_REJ_DATA;
	int err;

	if (!id->passive || !id->cm || len > max)
		return -EINVAL;
	err = refuse(id, reason, data, data ? len : 0);
	if (!err)
		nic_cm_flush(id->dev->nic);
	return err;
}

int cs_reject(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	return vs_minus_one(reject(cs_id(id), EMU_CM_REJ_CONSUMER_DEFINED, data, len));
}

int cs_reject_ece(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	return vs_minus_one(reject(cs_id(id), EMU_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED, data, len));
}

/* ---- both ------------------------------------------------------------------------------ */

int cs_disconnect(struct rdma_cm_id *cm_id)
{
	struct cs_id *id = cs_id(cm_id);
	int err;

	if (!id->cm)
		return vs_minus_one(-EINVAL);
	err = cs_qp_to_error(id);
	if (err)
		return vs_minus_one(err);
	if (is_ud(id))
		return 0;
	/* In a state without a connection there is nothing to end, which is no error. */
	nic_lock(id->dev->nic);
	if (nic_alive(id->dev->nic))
		emu_cm_disconnect(id->cm);
	nic_unlock(id->dev->nic);
	return cs_complete(id);
}

int cs_notify(struct rdma_cm_id *cm_id, enum ibv_event_type event)
{
	struct cs_id *id = cs_id(cm_id);
	int err = -EIO;

	if (!id->cm || event != IBV_EVENT_COMM_EST)
		return vs_minus_one(-EINVAL);
	nic_lock(id->dev->nic);
	if (nic_alive(id->dev->nic))
		err = emu_cm_notify(id->cm);
	nic_unlock(id->dev->nic);
	return vs_minus_one(err);
}
