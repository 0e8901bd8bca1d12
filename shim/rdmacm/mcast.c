/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_join_multicast, rdma_join_multicast_ex, rdma_leave_multicast */
#include "mcast.h"

#include "route.h"
#include "sockaddr.h"
#include "sync.h"

#include <abi/rdmacm.h>
#include <verbs/errno.h>

#include <stdlib.h>
#include <string.h>

#define MULTICAST_QPN 0xffffff

struct cs_group {
	struct cs_group *next;
	struct sockaddr_storage addr;
	union ibv_gid mgid;
	void *context;
	bool send_only;
	bool told, acked; /* its one event: fetched, acknowledged; id's lock */
	struct ibv_qp *attached;
};

/* A RoCE v2 multicast GID is the address itself (IBTA annex A17). */
static void find_mgid(struct cs_group *g)
{
	struct emu_cm_addr addr;

	cs_sockaddr_read((struct sockaddr *)&g->addr, &addr);
	memcpy(g->mgid.raw, addr.ip.raw, sizeof(g->mgid.raw));
}

static struct cs_group *make_group(const struct sockaddr *addr, bool send_only, void *context)
{
	struct cs_group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	memcpy(&g->addr, addr, cs_sockaddr_len(addr));
	g->send_only = send_only;
	g->context = context;
	find_mgid(g);
	return g;
}

static int tell(struct cs_id *id, struct cs_group *g)
{
	struct cs_notice *n = cs_notice_new(id, RDMA_CM_EVENT_MULTICAST_JOIN, 0);

	if (!n)
		return -ENOMEM;
	n->group = g;
	n->event.param.ud.private_data = g->context;
	n->event.param.ud.qp_num = MULTICAST_QPN;
	n->event.param.ud.qkey = RDMA_UDP_QKEY;
	cs_route_to_gid(id, &g->mgid, &n->event.param.ud.ah_attr);
	cs_notice_post(n);
	return 0;
}

/* Takes the group out of the id's list; NULL: it is not there. */
static struct cs_group *unlink_group(struct cs_id *id, const struct sockaddr *addr)
{
	struct cs_group **link, *g;

	pthread_mutex_lock(&id->lock);
	for (link = &id->groups; *link; link = &(*link)->next)
		if (cs_sockaddr_equal((struct sockaddr *)&(*link)->addr, addr))
			break;
	g = *link;
	if (g)
		*link = g->next;
	pthread_mutex_unlock(&id->lock);
	return g;
}

static int join(struct cs_id *id, const struct sockaddr *addr, bool send_only, void *context)
{
	struct cs_group *g;
	int err;

	if (!addr || !cs_sockaddr_len(addr) || !id->id.verbs || id->id.qp_type != IBV_QPT_UD)
		return -EINVAL;
	g = make_group(addr, send_only, context);
	if (!g)
		return -ENOMEM;
	/* Before the event is there to be read, so that its reader can leave. */
	pthread_mutex_lock(&id->lock);
	g->next = id->groups;
	id->groups = g;
	pthread_mutex_unlock(&id->lock);
	err = tell(id, g);
	if (err) {
		unlink_group(id, (struct sockaddr *)&g->addr);
		free(g);
	}
	return err;
}

int cs_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	int err = join(cs_id(id), addr, false, context);

	return err ? vs_minus_one(err) : cs_complete(cs_id(id));
}

int cs_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr,
			 void *context)
{
	static const uint32_t needed = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	int err;

	if (attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED)
		return vs_minus_one(-ENOTSUP);
	if (attr->comp_mask != needed || attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return vs_minus_one(-EINVAL);
	err = join(cs_id(id), attr->addr,
		   attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, context);
	return err ? vs_minus_one(err) : cs_complete(cs_id(id));
}

bool cs_group_joined(struct cs_notice *n)
{
	struct cs_group *g = n->group;
	struct ibv_qp *qp = n->id->id.qp;
	int err;

	if (!qp || g->send_only)
		return true;
	err = ibv_attach_mcast(qp, &g->mgid, 0);
	if (err) {
		n->event.event = RDMA_CM_EVENT_MULTICAST_ERROR;
		n->event.status = -err;
	} else {
		g->attached = qp;
	}
	return true;
}

void cs_group_fetched(struct cs_group *group)
{
	group->told = true;
}

void cs_group_acked(struct cs_group *group)
{
	group->acked = true;
}

/* rdma_leave_multicast(3): what waits of the group is dropped, what was fetched must be acked. */
int cs_leave_multicast(struct rdma_cm_id *cm_id, struct sockaddr *addr)
{
	struct cs_id *id = cs_id(cm_id);
	struct cs_group *g = unlink_group(id, addr);

	if (!g)
		return vs_minus_one(-EADDRNOTAVAIL);
	cs_notices_cancel_group(id, g);
	pthread_mutex_lock(&id->lock);
	while (g->told && !g->acked)
		pthread_cond_wait(&id->changed, &id->lock);
	pthread_mutex_unlock(&id->lock);
	/* Only now: who delivered the event attached the QP. */
	if (g->attached && g->attached == cm_id->qp)
		ibv_detach_mcast(g->attached, &g->mgid, 0);
	free(g);
	return 0;
}

void cs_groups_free(struct cs_id *id)
{
	struct cs_group *g;

	while ((g = id->groups)) {
		id->groups = g->next;
		free(g);
	}
}
