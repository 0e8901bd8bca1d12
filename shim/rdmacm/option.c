/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_set_option, rdma_set_local_ece, rdma_get_remote_ece */
#include "id.h"

#include <abi/rdmacm.h>
#include <verbs/errno.h>

#include <string.h>

/* A local ACK timeout is a code of 5 bits. */
#define MAX_TIMEOUT 31

static int set_tos(struct cs_id *id, const void *value)
{
	memcpy(&id->traffic_class, value, sizeof(uint8_t));
	return 0;
}

static int set_flag(struct cs_id *id, const void *value, unsigned flag)
{
	int on;

	if (id->state != CS_IDLE)
		return -EINVAL;
	memcpy(&on, value, sizeof(on));
	id->options = on ? id->options | flag : id->options & ~flag;
	return 0;
}

static int set_reuse(struct cs_id *id, const void *value)
{
	return set_flag(id, value, CS_REUSE_ADDR);
}

static int set_af_only(struct cs_id *id, const void *value)
{
	return set_flag(id, value, CS_AF_ONLY);
}

/* Only a connection that is not made yet can still have it. */
static int set_ack_timeout(struct cs_id *id, const void *value)
{
	uint8_t timeout;

	memcpy(&timeout, value, sizeof(timeout));
	if (id->id.qp_type == IBV_QPT_UD || timeout > MAX_TIMEOUT)
		return -EINVAL;
	id->ack_timeout = timeout;
	if (id->passive)
		id->local.ack_timeout = timeout;
	return 0;
}

static const struct {
	size_t len;
	int (*set)(struct cs_id *id, const void *value);
} options[] = {
	[RDMA_OPTION_ID_TOS] = { sizeof(uint8_t), set_tos },
	[RDMA_OPTION_ID_REUSEADDR] = { sizeof(int), set_reuse },
	[RDMA_OPTION_ID_AFONLY] = { sizeof(int), set_af_only },
	[RDMA_OPTION_ID_ACK_TIMEOUT] = { sizeof(uint8_t), set_ack_timeout },
};

/* The paths of InfiniBand's subnet manager: the one there is needs no words. */
static int set_path(const struct cs_id *id, int optname, size_t len)
{
	if (optname != RDMA_OPTION_IB_PATH)
		return -ENOSYS;
	if (!len || len % sizeof(struct ibv_path_data) || id->state < CS_ADDR_RESOLVED)
		return -EINVAL;
	return 0;
}

int cs_set_option(struct rdma_cm_id *cm_id, int level, int optname, void *value, size_t len)
{
	struct cs_id *id = cs_id(cm_id);

	if (level == RDMA_OPTION_IB)
		return vs_minus_one(set_path(id, optname, len));
	if (level != RDMA_OPTION_ID || optname < 0 ||
	    (size_t)optname >= sizeof(options) / sizeof(options[0]))
		return vs_minus_one(-ENOSYS);
	if (!value || len != options[optname].len)
		return vs_minus_one(-EINVAL);
	return vs_minus_one(options[optname].set(id, value));
}

/* rdma_set_local_ece(3): for QPs that are not the id's. */
int cs_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (!ece || id->qp || ece->comp_mask)
		return vs_minus_one(-EINVAL);
	cs_id(id)->local_ece = *ece;
	return 0;
}

int cs_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (!ece || id->qp)
		return vs_minus_one(-EINVAL);
	*ece = (struct ibv_ece){
		.vendor_id = cs_id(id)->remote.ece_vendor,
		.options = cs_id(id)->remote.ece_options,
	};
	return 0;
}
