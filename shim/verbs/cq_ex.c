/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_create_cq_ex and its iterator: ibv_start_poll takes the CQ's lock and
 * ibv_end_poll gives it back, so that a batch belongs to one thread.
 */
#include "cq.h"

#include "errno.h"

static bool next(struct vs_cq *cq)
{
	if (emu_cq_poll(cq->emu, 1, &cq->current) < 1)
		return false;
	cq->ex.wr_id = cq->current.wr_id;
	cq->ex.status = (enum ibv_wc_status)cq->current.status;
	return true;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct vs_cq *cq = vs_cq_of_ex(ex);

	if (!nic_alive(cq->nic))
		return EIO;
	if (attr->comp_mask)
		return EINVAL;
	vs_lock_take(&cq->lock);
	if (next(cq))
		return 0;
	vs_lock_drop(&cq->lock);
	nic_poll(cq->nic);
	vs_lock_take(&cq->lock);
	if (next(cq))
		return 0;
	vs_lock_drop(&cq->lock);
	return ENOENT;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	return next(vs_cq_of_ex(ex)) ? 0 : ENOENT;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	vs_lock_drop(&vs_cq_of_ex(ex)->lock);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return (enum ibv_wc_opcode)vs_cq_of_ex(ex)->current.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return vs_cq_of_ex(ex)->current.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return vs_cq_of_ex(ex)->current.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return vs_cq_of_ex(ex)->current.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return vs_cq_of_ex(ex)->current.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return vs_cq_of_ex(ex)->current.src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return vs_cq_of_ex(ex)->current.wc_flags;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return vs_cq_of_ex(ex)->current.slid;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return vs_cq_of_ex(ex)->current.sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return vs_cq_of_ex(ex)->current.dlid_path_bits;
}

static void fill_reader(struct ibv_cq_ex *ex)
{
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_byte_len = read_byte_len;
	ex->read_imm_data = read_imm_data;
	ex->read_qp_num = read_qp_num;
	ex->read_src_qp = read_src_qp;
	ex->read_wc_flags = read_wc_flags;
	ex->read_slid = read_slid;
	ex->read_sl = read_sl;
	ex->read_dlid_path_bits = read_dlid_path_bits;
}

struct ibv_cq_ex *vs_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	struct vs_cq *cq;
	int err;

	if (attr->comp_mask & ~(uint32_t)IBV_CQ_INIT_ATTR_MASK_FLAGS)
		return vs_null(-EOPNOTSUPP);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return vs_null(-EOPNOTSUPP);
	if (attr->wc_flags & ~(uint64_t)IBV_WC_STANDARD_FLAGS)
		return vs_null(-EOPNOTSUPP);
	err = vs_cq_new(context, attr, &cq);
	if (err)
		return vs_null(err);
	fill_reader(&cq->ex);
	return &cq->ex;
}
