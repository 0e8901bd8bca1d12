/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_create_qp, rdma_create_qp_ex, rdma_destroy_qp, rdma_init_qp_attr. */
#include "qp.h"

#include "cqs.h"
#include "route.h"

#include <abi/rdmacm.h>
#include <verbs/errno.h>

#include <string.h>

/* 655 ms: what rdma_cm has always set, and what surprises users in production. */
#define MIN_RNR_TIMER 0

static bool is_ud(const struct cs_id *id)
{
	return id->id.qp_type == IBV_QPT_UD;
}

static enum ibv_qp_type type_of(const struct cs_id *id)
{
	return id->id.qp ? id->id.qp->qp_type : id->id.qp_type;
}

/* Who answers for reliability, and who asks for it: an RC QP does both. */
static bool is_reliable_responder(const struct cs_id *id)
{
	return type_of(id) == IBV_QPT_RC || type_of(id) == IBV_QPT_XRC_RECV;
}

static bool is_reliable_requester(const struct cs_id *id)
{
	return type_of(id) == IBV_QPT_RC || type_of(id) == IBV_QPT_XRC_SEND;
}

/* ---- attributes ---------------------------------------------------------------- */

static int attr_init(const struct cs_id *id, struct ibv_qp_attr *attr)
{
	attr->pkey_index = 0;
	attr->port_num = id->id.port_num;
	if (is_ud(id)) {
		attr->qkey = RDMA_UDP_QKEY;
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	}
	attr->qp_access_flags =
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
}

static int attr_rtr(const struct cs_id *id, struct ibv_qp_attr *attr)
{
	if (is_ud(id))
		return IBV_QP_STATE;
	if (!id->cm)
		return -EINVAL;
	cs_route_to_ah(id, &attr->ah_attr);
	attr->path_mtu = (enum ibv_mtu)id->local.path_mtu;
	attr->dest_qp_num = id->remote.qpn;
	attr->rq_psn = id->remote.psn;
	attr->max_dest_rd_atomic = id->responder_resources;
	attr->min_rnr_timer = MIN_RNR_TIMER;
	return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	       (is_reliable_responder(id) ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
}

static int attr_rts(const struct cs_id *id, struct ibv_qp_attr *attr)
{
	attr->sq_psn = id->local.psn;
	if (is_ud(id))
		return IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (!id->cm)
		return -EINVAL;
	attr->timeout = id->local.ack_timeout;
	attr->retry_cnt = id->local.retry_count;
	attr->rnr_retry = id->remote.rnr_retry_count;
	attr->max_rd_atomic = id->initiator_depth;
	if (is_reliable_requester(id))
		return IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	return IBV_QP_STATE | IBV_QP_SQ_PSN | (is_reliable_responder(id) ? IBV_QP_TIMEOUT : 0);
}

int cs_qp_attr(const struct cs_id *id, struct ibv_qp_attr *attr, int *mask)
{
	static int (*const fill[])(const struct cs_id *, struct ibv_qp_attr *) = {
		[IBV_QPS_INIT] = attr_init,
		[IBV_QPS_RTR] = attr_rtr,
		[IBV_QPS_RTS] = attr_rts,
	};
	unsigned state = attr->qp_state;
	int bits;

	if (!id->id.verbs || state >= sizeof(fill) / sizeof(fill[0]) || !fill[state])
		return -EINVAL;
	bits = fill[state](id, attr);
	if (bits < 0)
		return bits;
	*mask = bits;
	return 0;
}

int cs_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	return vs_minus_one(cs_qp_attr(cs_id(id), attr, mask));
}

/* ---- states ---------------------------------------------------------------------- */

static int move(struct cs_id *id, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask, err;

	err = cs_qp_attr(id, &attr, &mask);
	return err ? err : -ibv_modify_qp(id->id.qp, &attr, mask);
}

int cs_qp_to_rts(struct cs_id *id)
{
	int err = move(id, IBV_QPS_RTR);

	return err ? err : move(id, IBV_QPS_RTS);
}

int cs_qp_to_error(struct cs_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (!id->id.qp || is_ud(id))
		return 0;
	return -ibv_modify_qp(id->id.qp, &attr, IBV_QP_STATE);
}

/* A new QP can receive; an unconnected one can send too. */
static int start(struct cs_id *id)
{
	int err = move(id, IBV_QPS_INIT);

	return err || !is_ud(id) ? err : cs_qp_to_rts(id);
}

/*
 * Every real device grants some inline room beside its descriptors, asked for or
 * not, and rdma_xclient relies on it.
 */
#define MIN_INLINE 32

/* ---- life -------------------------------------------------------------------------- */

static bool conflict(const void *have, const void *want)
{
	return have && want && have != want;
}

static int check(const struct cs_id *id, const struct ibv_qp_init_attr_ex *attr)
{
	if (id->id.qp || !id->id.verbs)
		return -EINVAL;
	if (!attr->pd || attr->pd->context != id->id.verbs)
		return -EINVAL;
	if (conflict(id->id.send_cq, attr->send_cq) || conflict(id->id.recv_cq, attr->recv_cq) ||
	    conflict(id->id.srq, attr->srq))
		return -EINVAL;
	return 0;
}

static int create(struct cs_id *id, struct ibv_qp_init_attr_ex *attr)
{
	int err = check(id, attr);

	if (err)
		return err;
	err = cs_cqs_create(id, attr->send_cq ? 0 : attr->cap.max_send_wr,
			    attr->recv_cq ? 0 : attr->cap.max_recv_wr);
	if (err)
		return err;
	if (!attr->send_cq)
		attr->send_cq = id->id.send_cq;
	if (!attr->recv_cq)
		attr->recv_cq = id->id.recv_cq;
	if (id->id.srq && !attr->srq)
		attr->srq = id->id.srq;
	if (attr->cap.max_send_wr && attr->cap.max_inline_data < MIN_INLINE)
		attr->cap.max_inline_data = MIN_INLINE;
	id->id.qp = ibv_create_qp_ex(id->id.verbs, attr);
	if (!id->id.qp) {
		err = -errno;
		goto err_cqs;
	}
	err = start(id);
	if (err)
		goto err_qp;
	id->id.pd = id->id.qp->pd;
	return 0;

err_qp:
	ibv_destroy_qp(id->id.qp);
	id->id.qp = NULL;
err_cqs:
	cs_cqs_destroy(id);
	return err;
}

int cs_create_qp_ex(struct rdma_cm_id *cm_id, struct ibv_qp_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD)) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = cm_id->pd;
	}
	return vs_minus_one(create(cs_id(cm_id), attr));
}

int cs_create_qp(struct rdma_cm_id *cm_id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd ? pd : cm_id->pd,
	};
	int err = create(cs_id(cm_id), &ex);

	if (err)
		return vs_minus_one(err);
	attr->send_cq = ex.send_cq;
	attr->recv_cq = ex.recv_cq;
	attr->srq = ex.srq;
	attr->cap = ex.cap;
	return 0;
}

void cs_destroy_qp(struct rdma_cm_id *id)
{
	if (id->qp)
		ibv_destroy_qp(id->qp);
	id->qp = NULL;
	cs_cqs_destroy(cs_id(id));
}
