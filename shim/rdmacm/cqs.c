/* SPDX-License-Identifier: BSD-2-Clause */
#include "cqs.h"

#include <errno.h>

static int create(struct cs_id *id, uint32_t size, struct ibv_comp_channel **channel,
		  struct ibv_cq **cq)
{
	if (!size || *cq)
		return 0;
	*channel = ibv_create_comp_channel(id->id.verbs);
	if (!*channel)
		return -errno;
	*cq = ibv_create_cq(id->id.verbs, (int)size, id, *channel, 0);
	return *cq ? 0 : -errno;
}

static void destroy(struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
	if (*cq && !ibv_destroy_cq(*cq))
		*cq = NULL;
	if (!*cq && *channel && !ibv_destroy_comp_channel(*channel))
		*channel = NULL;
}

int cs_cqs_create(struct cs_id *id, uint32_t send_size, uint32_t recv_size)
{
	int err = create(id, recv_size, &id->id.recv_cq_channel, &id->id.recv_cq);

	if (!err)
		err = create(id, send_size, &id->id.send_cq_channel, &id->id.send_cq);
	if (err)
		cs_cqs_destroy(id);
	return err;
}

void cs_cqs_destroy(struct cs_id *id)
{
	destroy(&id->id.recv_cq_channel, &id->id.recv_cq);
	destroy(&id->id.send_cq_channel, &id->id.send_cq);
}
