/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_modify_qp, ibv_query_qp: struct ibv_qp_attr to struct emu_qp_attr and
 * back. Which transitions and attributes are legal is the core's to say.
 */
#include "qp.h"

#include "errno.h"
#include "path.h"
#include "registry.h"

#include <abi/emulated.h>

/* ibv_query_qp refuses bits beyond these, as the kernel does. */
#define STANDARD_MASK (((uint32_t)IBV_QP_DEST_QPN << 1) - 1)

/*
 * Only what the mask names: programs leave the rest of the structure
 * uninitialised, and older ones have a shorter structure without rate_limit.
 */
static void attr_to_emu(const struct ibv_qp_attr *from, uint32_t mask, struct emu_qp_attr *to)
{
	to->qp_state = from->qp_state;
	to->cur_qp_state = from->cur_qp_state;
	to->path_mtu = from->path_mtu;
	to->path_mig_state = from->path_mig_state;
	to->qkey = from->qkey;
	to->rq_psn = from->rq_psn;
	to->sq_psn = from->sq_psn;
	to->dest_qp_num = from->dest_qp_num;
	to->access_flags = from->qp_access_flags;
	to->cap = (struct emu_qp_cap){
		.max_send_wr = from->cap.max_send_wr,
		.max_recv_wr = from->cap.max_recv_wr,
		.max_send_sge = from->cap.max_send_sge,
		.max_recv_sge = from->cap.max_recv_sge,
		.max_inline_data = from->cap.max_inline_data,
	};
	if (mask & IBV_QP_AV)
		vs_path_to_emu(&from->ah_attr, &to->ah);
	if (mask & IBV_QP_ALT_PATH)
		vs_path_to_emu(&from->alt_ah_attr, &to->alt_ah);
	to->pkey_index = from->pkey_index;
	to->alt_pkey_index = from->alt_pkey_index;
	to->en_sqd_async_notify = from->en_sqd_async_notify;
	to->max_rd_atomic = from->max_rd_atomic;
	to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	to->min_rnr_timer = from->min_rnr_timer;
	to->port_num = from->port_num;
	to->timeout = from->timeout;
	to->retry_cnt = from->retry_cnt;
	to->rnr_retry = from->rnr_retry;
	to->alt_port_num = from->alt_port_num;
	to->alt_timeout = from->alt_timeout;
	if (mask & IBV_QP_RATE_LIMIT)
		to->rate_limit = from->rate_limit;
}

static void attr_to_ibv(const struct emu_qp_attr *from, struct ibv_qp_attr *to)
{
	to->qp_state = (enum ibv_qp_state)from->qp_state;
	to->cur_qp_state = (enum ibv_qp_state)from->cur_qp_state;
	to->path_mtu = (enum ibv_mtu)from->path_mtu;
	to->path_mig_state = (enum ibv_mig_state)from->path_mig_state;
	to->qkey = from->qkey;
	to->rq_psn = from->rq_psn;
	to->sq_psn = from->sq_psn;
	to->dest_qp_num = from->dest_qp_num;
	to->qp_access_flags = from->access_flags;
	vs_path_to_ibv(&from->ah, &to->ah_attr);
	vs_path_to_ibv(&from->alt_ah, &to->alt_ah_attr);
	to->pkey_index = from->pkey_index;
	to->alt_pkey_index = from->alt_pkey_index;
	to->en_sqd_async_notify = from->en_sqd_async_notify;
	to->sq_draining = from->sq_draining;
	to->max_rd_atomic = from->max_rd_atomic;
	to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	to->min_rnr_timer = from->min_rnr_timer;
	to->port_num = from->port_num;
	to->timeout = from->timeout;
	to->retry_cnt = from->retry_cnt;
	to->rnr_retry = from->rnr_retry;
	to->alt_port_num = from->alt_port_num;
	to->alt_timeout = from->alt_timeout;
}

int vs_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct vs_qp *qp = vs_qp(ibqp);
	struct emu_qp_attr emu = {0};
	bool reset = mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET;
	int err;

	if (!vs_registry_has(ibqp, VS_QP))
		return vs_status(-EINVAL);
	if (!nic_alive(qp->nic))
		return vs_status(-EIO);
	attr_to_emu(attr, mask, &emu);
	if (reset) {
		vs_qp_lock_all(qp);
		err = emu_qp_modify(qp->emu, &emu, mask);
		vs_qp_unlock_all(qp);
	} else {
		nic_lock(qp->nic);
		err = emu_qp_modify(qp->emu, &emu, mask);
		nic_unlock(qp->nic);
	}
	if (!err && mask & IBV_QP_STATE)
		ibqp->state = attr->qp_state;
	return vs_status(err);
}

int vs_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
                struct ibv_qp_init_attr *init)
{
	struct vs_qp *qp = vs_qp(ibqp);
	struct emu_qp_attr emu;

	if (!vs_registry_has(ibqp, VS_QP))
		return vs_status(-EINVAL);
	if ((uint32_t)mask & ~STANDARD_MASK)
		return vs_status(-EOPNOTSUPP);
	if (!nic_alive(qp->nic))
		return vs_status(-EIO);
	nic_lock(qp->nic);
	emu_qp_query(qp->emu, &emu);
	nic_unlock(qp->nic);
	attr_to_ibv(&emu, attr);
	attr->cap = qp->cap;
	ibqp->state = attr->qp_state;

	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->qp_type = ibqp->qp_type;
	init->cap = qp->cap;
	init->sq_sig_all = qp->sq_sig_all;
	return 0;
}
