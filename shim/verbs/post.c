/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_post_send, ibv_post_recv: the hot path. No allocation, no system call,
 * no look-up; a list is queued up to the first request that is refused.
 */
#include "post.h"

#include "ah.h"
#include "errno.h"
#include "qp.h"

/* wr.ud lies where wr.rdma does; the type of the QP says which it is. */
static void read_datagram(const struct ibv_send_wr *from, struct emu_send_wr *to)
{
	to->ah = from->wr.ud.ah ? vs_ah(from->wr.ud.ah)->emu : NULL;
	to->remote_qpn = from->wr.ud.remote_qpn;
	to->remote_qkey = from->wr.ud.remote_qkey;
}

static void read_send_wr(const struct ibv_send_wr *from, struct emu_send_wr *to)
{
	bool atomic = from->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	              from->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

	to->wr_id = from->wr_id;
	to->sg_list = (const struct emu_sge *)from->sg_list; /* same layout: values.c */
	to->num_sge = from->num_sge;
	to->opcode = from->opcode;
	to->flags = from->send_flags;
	to->imm_data = from->imm_data;
	to->remote_addr = from->wr.rdma.remote_addr; /* at the same place in wr.atomic */
	to->rkey = atomic ? from->wr.atomic.rkey : from->wr.rdma.rkey;
	to->compare_add = from->wr.atomic.compare_add;
	to->swap = from->wr.atomic.swap;
}

_Static_assert(offsetof(struct ibv_send_wr, wr.rdma.remote_addr) ==
                       offsetof(struct ibv_send_wr, wr.atomic.remote_addr),
               "remote_addr");

int vs_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct vs_qp *qp = vs_qp(ibqp);
	int err = 0;

	if (!nic_alive(qp->nic)) {
		*bad_wr = wr;
		return vs_status(-EIO);
	}
	vs_lock_take(&qp->sq_lock);
	for (; wr; wr = wr->next) {
		struct emu_send_wr emu;

		read_send_wr(wr, &emu);
		if (ibqp->qp_type == IBV_QPT_UD)
			read_datagram(wr, &emu);
		err = emu_post_send(qp->emu, &emu);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	vs_lock_drop(&qp->sq_lock);
	emu_qp_ring(qp->emu);
	nic_kick(qp->nic);
	return vs_status(err);
}

int vs_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vs_qp *qp = vs_qp(ibqp);
	int err = 0;

	if (!nic_alive(qp->nic)) {
		*bad_wr = wr;
		return vs_status(-EIO);
	}
	vs_lock_take(&qp->rq_lock);
	for (; wr; wr = wr->next) {
		struct emu_recv_wr emu = vs_recv_wr(wr);

		err = emu_post_recv(qp->emu, &emu);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	vs_lock_drop(&qp->rq_lock);
	/*
	 * Receives wait for their message, except in ERR, where they are flushed
	 * at once. The fence orders the posts before the look at the state: either
	 * we see ERR, or whoever sets it sees the posts.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	if (emu_qp_state(qp->emu) == EMU_QPS_ERR) {
		emu_qp_ring(qp->emu);
		nic_kick(qp->nic);
	}
	return vs_status(err);
}
