/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_wr_start … ibv_wr_complete. Requests are collected in the batch, with
 * their SGEs and inline data, and reach the send queue only in ibv_wr_complete:
 * so ibv_wr_abort and a failed batch leave nothing behind, as ibv_wr_post(3)
 * says. ibv_wr_start takes the SQ's lock; complete or abort give it back.
 */
#include "wr.h"

#include "ah.h"
#include "errno.h"

#include <stdlib.h>

struct vs_batch {
	uint32_t count;
	int err;                            /* of the first builder that failed; 0 or -errno */
	uint32_t sge_stride, inline_stride; /* room for each request */
	struct emu_send_wr *wr;             /* cap.max_send_wr of each of these */
	struct emu_sge *sge;
	uint8_t *data;
	struct emu_send_wr scratch; /* what setters write to after a failure */
};

static void fail(struct vs_batch *b, int err)
{
	if (!b->err)
		b->err = err;
}

/* The request being built: the last one begun. A setter before that fails the batch. */
static struct emu_send_wr *current(struct vs_batch *b)
{
	if (!b->count)
		fail(b, -EINVAL);
	return b->err ? &b->scratch : &b->wr[b->count - 1];
}

static struct emu_send_wr *begin(struct ibv_qp_ex *ex, enum emu_wr_opcode opcode)
{
	struct vs_qp *qp = vs_qp_of_ex(ex);
	struct vs_batch *b = qp->batch;
	struct emu_send_wr *wr;

	if (b->count == qp->cap.max_send_wr)
		fail(b, -ENOMEM);
	if (!b->err)
		b->count++;
	wr = current(b);
	*wr = (struct emu_send_wr){
		.wr_id = ex->wr_id,
		.opcode = opcode,
		.flags = ex->wr_flags & ~(unsigned int)IBV_SEND_INLINE,
	};
	return wr;
}

static void build_send(struct ibv_qp_ex *ex)
{
	begin(ex, EMU_WR_SEND);
}

static void build_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	begin(ex, EMU_WR_SEND_WITH_IMM)->imm_data = imm_data;
}

static void build_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	begin(ex, EMU_WR_SEND_WITH_INV)->imm_data = invalidate_rkey;
}

static struct emu_send_wr *begin_remote(struct ibv_qp_ex *ex, enum emu_wr_opcode opcode,
                                        uint32_t rkey, uint64_t remote_addr)
{
	struct emu_send_wr *wr = begin(ex, opcode);

	wr->rkey = rkey;
	wr->remote_addr = remote_addr;
	return wr;
}

static void build_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_remote(ex, EMU_WR_RDMA_WRITE, rkey, remote_addr);
}

static void build_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
                            __be32 imm_data)
{
	begin_remote(ex, EMU_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr)->imm_data = imm_data;
}

static void build_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_remote(ex, EMU_WR_RDMA_READ, rkey, remote_addr);
}

static void build_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
                          uint64_t compare, uint64_t swap)
{
	struct emu_send_wr *wr = begin_remote(ex, EMU_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr);

	wr->compare_add = compare;
	wr->swap = swap;
}

static void build_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	begin_remote(ex, EMU_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr)->compare_add = add;
}

static void build_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	begin(ex, EMU_WR_LOCAL_INV)->imm_data = invalidate_rkey;
}

static void set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn,
                        uint32_t remote_qkey)
{
	struct emu_send_wr *wr = current(vs_qp_of_ex(ex)->batch);

	wr->ah = ah ? vs_ah(ah)->emu : NULL;
	wr->remote_qpn = remote_qpn;
	wr->remote_qkey = remote_qkey;
}

/* The SGEs of the request being built. NULL: no room, or the batch has failed. */
static struct emu_sge *sge_room(struct vs_qp *qp, size_t n, size_t limit)
{
	struct vs_batch *b = qp->batch;

	if (n > limit || !b->count)
		fail(b, -EINVAL);
	return b->err ? NULL : &b->sge[(size_t)(b->count - 1) * b->sge_stride];
}

static void set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct vs_qp *qp = vs_qp_of_ex(ex);
	struct emu_sge *sge = sge_room(qp, 1, qp->cap.max_send_sge);

	if (!sge)
		return;
	*sge = (struct emu_sge){.addr = addr, .length = length, .lkey = lkey};
	current(qp->batch)->sg_list = sge;
	current(qp->batch)->num_sge = 1;
}

static void set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct vs_qp *qp = vs_qp_of_ex(ex);
	struct emu_sge *sge = sge_room(qp, num_sge, qp->cap.max_send_sge);

	if (!sge)
		return;
	if (num_sge)
		memcpy(sge, sg_list, num_sge * sizeof(*sge)); /* same layout: values.c */
	current(qp->batch)->sg_list = sge;
	current(qp->batch)->num_sge = num_sge;
}

static void set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
                                 const struct ibv_data_buf *buf_list)
{
	struct vs_qp *qp = vs_qp_of_ex(ex);
	struct emu_sge *sge = sge_room(qp, 1, 1);
	uint8_t *data;
	size_t len = 0;

	if (!sge)
		return;
	data = &qp->batch->data[(size_t)(qp->batch->count - 1) * qp->batch->inline_stride];
	for (size_t i = 0; i < num_buf; i++) {
		if (buf_list[i].length > qp->cap.max_inline_data - len) {
			fail(qp->batch, -EINVAL);
			return;
		}
		if (buf_list[i].length)
			memcpy(data + len, buf_list[i].addr, buf_list[i].length);
		len += buf_list[i].length;
	}
	*sge = (struct emu_sge){.addr = (uintptr_t)data, .length = len};
	current(qp->batch)->sg_list = sge;
	current(qp->batch)->num_sge = 1;
	current(qp->batch)->flags |= EMU_SEND_INLINE;
}

static void set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = {.addr = addr, .length = length};

	set_inline_data_list(ex, 1, &buf);
}

static void start(struct ibv_qp_ex *ex)
{
	struct vs_qp *qp = vs_qp_of_ex(ex);

	vs_lock_take(&qp->sq_lock);
	qp->batch->count = 0;
	qp->batch->err = 0;
}

static int post_batch(struct vs_qp *qp)
{
	struct vs_batch *b = qp->batch;

	if (!nic_alive(qp->nic))
		return -EIO;
	return emu_post_send_all(qp->emu, b->wr, b->count);
}

static int complete(struct ibv_qp_ex *ex)
{
	struct vs_qp *qp = vs_qp_of_ex(ex);
	int err = qp->batch->err ? qp->batch->err : post_batch(qp);

	vs_lock_drop(&qp->sq_lock);
	if (!err) {
		emu_qp_ring(qp->emu);
		nic_kick(qp->nic);
	}
	return vs_status(err);
}

static void cancel(struct ibv_qp_ex *ex)
{
	vs_lock_drop(&vs_qp_of_ex(ex)->sq_lock);
}

#define RC_OPS                                                                                     \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |    \
	 IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |                                 \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |                 \
	 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV)

#define UC_OPS                                                                                     \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |    \
	 IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_LOCAL_INV)

#define UD_OPS (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)

bool vs_batch_can(const struct ibv_qp_init_attr_ex *attr)
{
	static const uint64_t possible[] = {
		[IBV_QPT_RC] = RC_OPS,
		[IBV_QPT_UC] = UC_OPS,
		[IBV_QPT_UD] = UD_OPS,
	};

	return attr->qp_type < sizeof(possible) / sizeof(possible[0]) &&
	       !(attr->send_ops_flags & ~possible[attr->qp_type]);
}

static void fill_builders(struct ibv_qp_ex *ex)
{
	ex->wr_atomic_cmp_swp = build_cmp_swp;
	ex->wr_atomic_fetch_add = build_fetch_add;
	ex->wr_local_inv = build_local_inv;
	ex->wr_rdma_read = build_read;
	ex->wr_rdma_write = build_write;
	ex->wr_rdma_write_imm = build_write_imm;
	ex->wr_send = build_send;
	ex->wr_send_imm = build_send_imm;
	ex->wr_send_inv = build_send_inv;
	ex->wr_set_ud_addr = set_ud_addr;
	ex->wr_set_sge = set_sge;
	ex->wr_set_sge_list = set_sge_list;
	ex->wr_set_inline_data = set_inline_data;
	ex->wr_set_inline_data_list = set_inline_data_list;
	ex->wr_start = start;
	ex->wr_complete = complete;
	ex->wr_abort = cancel;
}

int vs_batch_attach(struct vs_qp *qp)
{
	const struct ibv_qp_cap *cap = &qp->cap;
	struct vs_batch *b = calloc(1, sizeof(*b));

	qp->batch = b;
	if (!b)
		return -ENOMEM;
	b->sge_stride = cap->max_send_sge ? cap->max_send_sge : 1;
	b->inline_stride = cap->max_inline_data;
	b->wr = calloc((size_t)cap->max_send_wr + 1, sizeof(*b->wr));
	b->sge = calloc((size_t)cap->max_send_wr + 1, b->sge_stride * sizeof(*b->sge));
	b->data = calloc((size_t)cap->max_send_wr + 1, (size_t)b->inline_stride + 1);
	if (!b->wr || !b->sge || !b->data)
		return -ENOMEM;
	fill_builders(&qp->ex);
	return 0;
}

void vs_batch_free(struct vs_batch *b)
{
	if (!b)
		return;
	free(b->data);
	free(b->sge);
	free(b->wr);
	free(b);
}
