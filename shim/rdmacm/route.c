/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_resolve_route, and the path that it finds. */
#include "route.h"

#include "sockaddr.h"
#include "sync.h"

#include <abi/rdmacm.h>
#include <verbs/errno.h>

#include <stdlib.h>
#include <string.h>

#define DEFAULT_PKEY 0xffff
/* What Linux gives RoCE packets, and what it takes for the life time of one (IBTA 12.7.34). */
#define HOP_LIMIT 64
#define PACKET_LIFE 18
/* struct ibv_sa_path_rec: "exactly" */
#define SELECTOR_EQUAL 2

static void gid_of(const struct sockaddr *sa, union ibv_gid *gid)
{
	struct emu_cm_addr addr;

	cs_sockaddr_read(sa, &addr);
	memcpy(gid->raw, addr.ip.raw, sizeof(gid->raw));
}

void cs_route_fill_gids(struct cs_id *id)
{
	struct rdma_addr *addr = &id->id.route.addr;

	if (cs_sockaddr_len(&addr->src_addr))
		gid_of(&addr->src_addr, &addr->addr.ibaddr.sgid);
	if (cs_sockaddr_len(&addr->dst_addr))
		gid_of(&addr->dst_addr, &addr->addr.ibaddr.dgid);
	addr->addr.ibaddr.pkey = htons(DEFAULT_PKEY);
}

void cs_route_to_gid(const struct cs_id *id, const union ibv_gid *dgid, struct ibv_ah_attr *attr)
{
	struct emu_gid sgid;
	int index;

	memcpy(sgid.raw, id->id.route.addr.addr.ibaddr.sgid.raw, sizeof(sgid.raw));
	index = cs_device_gid_index(id->dev, &sgid);
	*attr = (struct ibv_ah_attr){
		.grh =
			{
				.dgid = *dgid,
				.sgid_index = index < 0 ? 0 : (uint8_t)index,
				.hop_limit = HOP_LIMIT,
				.traffic_class = id->traffic_class,
			},
		.is_global = 1,
		.port_num = CS_PORT,
	};
}

void cs_route_to_ah(const struct cs_id *id, struct ibv_ah_attr *attr)
{
	cs_route_to_gid(id, &id->id.route.addr.addr.ibaddr.dgid, attr);
}

/* No memory: the route has no path record, which nothing of ours needs. */
static void fill_path(struct cs_id *id)
{
	const struct rdma_ib_addr *ib = &id->id.route.addr.addr.ibaddr;
	struct ibv_sa_path_rec *path = calloc(1, sizeof(*path));

	if (!path)
		return;
	*path = (struct ibv_sa_path_rec){
		.dgid = ib->dgid,
		.sgid = ib->sgid,
		.hop_limit = HOP_LIMIT,
		.traffic_class = id->traffic_class,
		.reversible = htonl(1),
		.numb_path = 1,
		.pkey = ib->pkey,
		.mtu_selector = SELECTOR_EQUAL,
		.mtu = (uint8_t)id->dev->port->active_mtu,
		.rate_selector = SELECTOR_EQUAL,
		.rate = IBV_RATE_100_GBPS,
		.packet_life_time_selector = SELECTOR_EQUAL,
		.packet_life_time = PACKET_LIFE,
	};
	free(id->id.route.path_rec);
	id->id.route.path_rec = path;
	id->id.route.num_paths = 1;
}

void cs_route_from_request(struct cs_id *id, const struct emu_cm_addr *src,
			   const struct emu_cm_addr *dst)
{
	cs_sockaddr_write(src, &id->id.route.addr.src_addr);
	cs_sockaddr_write(dst, &id->id.route.addr.dst_addr);
	cs_id_attach(id);
	cs_route_fill_gids(id);
	fill_path(id);
}

int cs_resolve_route(struct rdma_cm_id *cm_id, int timeout_ms)
{
	struct cs_id *id = cs_id(cm_id);
	int err;

	if (id->state != CS_ADDR_RESOLVED)
		return vs_minus_one(-EINVAL);
	fill_path(id);
	id->state = CS_ROUTE_RESOLVED;
	err = cs_notice_say(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
	return err ? vs_minus_one(err) : cs_complete(id);
}
