/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_create_srq, rdma_create_srq_ex, rdma_destroy_srq. */
#include "cqs.h"

#include <abi/rdmacm.h>
#include <verbs/errno.h>

static int create(struct cs_id *id, struct ibv_srq_init_attr_ex *attr)
{
	bool xrc = attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC;
	int err = 0;

	if (id->id.srq || !id->id.verbs || attr->pd->context != id->id.verbs)
		return -EINVAL;
	if (xrc && !(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ && attr->cq)) {
		err = cs_cqs_create(id, 0, attr->attr.max_wr);
		attr->cq = id->id.recv_cq;
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_CQ;
	}
	if (err)
		return err;
	id->id.srq = ibv_create_srq_ex(id->id.verbs, attr);
	if (!id->id.srq) {
		err = -errno;
		cs_cqs_destroy(id);
		return err;
	}
	id->id.pd = attr->pd;
	return 0;
}

int cs_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD)) {
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
		attr->pd = id->pd;
	}
	return attr->pd ? vs_minus_one(create(cs_id(id), attr)) : vs_minus_one(-EINVAL);
}

int cs_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | (pd ? IBV_SRQ_INIT_ATTR_PD : 0),
		.srq_type = IBV_SRQT_BASIC,
		.pd = pd,
	};
	int ret = cs_create_srq_ex(id, &ex);

	if (!ret)
		attr->attr = ex.attr;
	return ret;
}

void cs_destroy_srq(struct rdma_cm_id *id)
{
	if (id->srq)
		ibv_destroy_srq(id->srq);
	id->srq = NULL;
	cs_cqs_destroy(cs_id(id));
}
