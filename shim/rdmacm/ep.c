/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_create_ep, rdma_destroy_ep */
#include "id.h"

#include <abi/rdmacm.h>
#include <verbs/errno.h>

#include <stdlib.h>
#include <string.h>

#define RESOLVE_MS 2000

static int copy(void **to, const void *from, size_t len)
{
	*to = malloc(len);
	if (!*to)
		return -ENOMEM;
	memcpy(*to, from, len);
	return 0;
}

/* The QP is for the ids of requests: rdma_get_request(3) makes them. */
static int make_listener(struct cs_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
			 const struct ibv_qp_init_attr *attr)
{
	void *qp;
	int err;

	if (cs_bind_addr(&id->id, res->ai_src_addr))
		return -errno;
	if (!attr)
		return 0;
	err = copy(&qp, attr, sizeof(*attr));
	if (err)
		return err;
	id->request_qp = qp;
	id->request_qp->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	id->request_pd = pd;
	return 0;
}

static int make_connector(struct cs_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
			  struct ibv_qp_init_attr *attr)
{
	if (cs_resolve_addr(&id->id, res->ai_src_addr, res->ai_dst_addr, RESOLVE_MS) ||
	    cs_resolve_route(&id->id, RESOLVE_MS))
		return -errno;
	if (attr) {
		attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
		if (cs_create_qp(&id->id, pd, attr))
			return -errno;
	}
	if (!res->ai_connect_len)
		return 0;
	if (res->ai_connect_len > UINT8_MAX)
		return -EINVAL;
	id->connect_len = (uint8_t)res->ai_connect_len;
	return copy(&id->connect_data, res->ai_connect, res->ai_connect_len);
}

int cs_create_ep(struct rdma_cm_id **out, struct rdma_addrinfo *res, struct ibv_pd *pd,
		 struct ibv_qp_init_attr *attr)
{
	struct cs_id *id;
	int err;

	err = cs_id_new(NULL, NULL, (enum rdma_port_space)res->ai_port_space,
			(enum ibv_qp_type)res->ai_qp_type, &id);
	if (err)
		return vs_minus_one(err);
	if (res->ai_flags & RAI_PASSIVE)
		err = make_listener(id, res, pd, attr);
	else
		err = make_connector(id, res, pd, attr);
	if (err) {
		cs_destroy_ep(&id->id);
		return vs_minus_one(err);
	}
	*out = &id->id;
	return 0;
}

void cs_destroy_ep(struct rdma_cm_id *id)
{
	if (id->qp)
		cs_destroy_qp(id);
	if (id->srq)
		cs_destroy_srq(id);
	cs_destroy_id(id);
}
