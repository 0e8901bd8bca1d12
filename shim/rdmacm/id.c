/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_create_id, rdma_destroy_id, rdma_migrate_id. */
#include "id.h"

#include "mcast.h"
#include "sync.h"

#include <abi/rdmacm.h>
#include <verbs/errno.h>

#include <stdlib.h>

int cs_id_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
	      enum ibv_qp_type qp_type, struct cs_id **out)
{
	struct cs_id *id = calloc(1, sizeof(*id));
	struct cs_channel *ch = cs_channel(channel);

	if (!id)
		return -ENOMEM;
	if (ch)
		cs_channel_ref(ch);
	else
		ch = cs_channel_new();
	if (!ch) {
		free(id);
		return -errno;
	}
	id->sync = !channel;
	id->id.channel = &ch->channel;
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = qp_type;
	id->last_notice = &id->notices;
	pthread_mutex_init(&id->lock, NULL);
	pthread_cond_init(&id->changed, NULL);
	*out = id;
	return 0;
}

/* The channel of a synchronous id goes with it. */
static void drop_channel(struct cs_id *id)
{
	if (id->sync)
		cs_destroy_event_channel(id->id.channel);
	else
		cs_channel_unref(cs_channel(id->id.channel));
}

void cs_id_free(struct cs_id *id)
{
	drop_channel(id);
	pthread_cond_destroy(&id->changed);
	pthread_mutex_destroy(&id->lock);
	free(id->id.route.path_rec);
	free(id->connect_data);
	free(id->request_qp);
	free(id);
}

void cs_id_attach(struct cs_id *id)
{
	id->id.verbs = id->dev->verbs;
	id->id.port_num = CS_PORT;
	if (!id->id.pd)
		id->id.pd = id->dev->pd;
}

int cs_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **out, void *context,
		 enum rdma_port_space ps)
{
	bool datagrams = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;
	struct cs_id *id;
	int err;

	if (!datagrams && ps != RDMA_PS_TCP && ps != RDMA_PS_IB)
		return vs_minus_one(-EINVAL);
	err = cs_id_new(channel, context, ps, datagrams ? IBV_QPT_UD : IBV_QPT_RC, &id);
	if (err)
		return vs_minus_one(err);
	*out = &id->id;
	return 0;
}

/* The core tells the other side what there is to tell. */
static void let_go(struct cs_id *id)
{
	struct nic *nic = id->dev->nic;

	nic_lock(nic);
	if (nic_alive(nic)) {
		if (id->listener)
			emu_cm_unlisten(id->listener);
		if (id->cm)
			emu_cm_destroy(id->cm);
	}
	/* Under the lock: who delivers an event of this id right now must not use them any more. */
	id->listener = NULL;
	id->cm = NULL;
	cs_notices_cancel(id);
	nic_unlock(nic);
	if (id->port)
		nic_cm_unbind(nic, id->port);
	id->port = NULL;
}

int cs_destroy_id(struct rdma_cm_id *cm_id)
{
	struct cs_id *id = cs_id(cm_id);

	if (!id)
		return vs_minus_one(-EINVAL);
	if (id->dev)
		let_go(id);
	if (cm_id->event)
		cs_ack_cm_event(cm_id->event);
	cs_notices_wait_acked(id);
	cs_groups_free(id);
	cs_id_free(id);
	return 0;
}

int cs_migrate_id(struct rdma_cm_id *cm_id, struct rdma_event_channel *channel)
{
	struct cs_id *id = cs_id(cm_id);
	struct rdma_event_channel *old = cm_id->channel;
	bool was_sync = id->sync;
	struct cs_channel *own = NULL;

	if (was_sync && !channel)
		return vs_minus_one(-EINVAL);
	if (!channel) {
		own = cs_channel_new();
		if (!own)
			return -1;
		channel = &own->channel;
	}
	if (was_sync)
		cs_drop_event(id);
	id->sync = own;
	if (was_sync)
		cs_channel_ref(cs_channel(old));
	cs_notices_move(id, channel);
	if (was_sync)
		cs_destroy_event_channel(old);
	if (own)
		cs_channel_unref(own);
	return 0;
}
