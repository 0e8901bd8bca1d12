/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address handles and multicast groups: ibv_create_ah, ibv_destroy_ah,
 * ibv_init_ah_from_wc, ibv_create_ah_from_wc, ibv_attach_mcast, ibv_detach_mcast.
 */
#include "ah.h"

#include "context.h"
#include "errno.h"
#include "path.h"
#include "pd.h"
#include "qp.h"
#include "registry.h"

#include <abi/emulated.h>

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <stdlib.h>

struct ibv_ah *vs_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct emu_ah_attr path;
	struct vs_ah *ah;
	struct nic *nic;
	int err;

	if (!vs_registry_has(pd, VS_PD))
		return vs_null(-EINVAL);
	nic = vs_context(pd->context)->nic;
	if (!nic_alive(nic))
		return vs_null(-EIO);
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return vs_null(-ENOMEM);
	ah->ah.context = pd->context;
	ah->ah.pd = pd;
	vs_path_to_emu(attr, &path);
	nic_lock(nic);
	err = emu_ah_create(vs_pd(pd)->emu, &path, &ah->emu);
	nic_unlock(nic);
	if (err)
		goto err_free;
	err = vs_registry_add(&ah->ah, VS_AH, pd->context);
	if (err)
		goto err_emu;
	return &ah->ah;

err_emu:
	nic_lock(nic);
	emu_ah_destroy(ah->emu);
	nic_unlock(nic);
err_free:
	free(ah);
	return vs_null(err);
}

void vs_ah_release(struct ibv_ah *ah)
{
	struct nic *nic = vs_context(ah->context)->nic;

	if (nic_alive(nic)) {
		nic_lock(nic);
		emu_ah_destroy(vs_ah(ah)->emu);
		nic_unlock(nic);
	}
	free(vs_ah(ah));
}

int vs_destroy_ah(struct ibv_ah *ah)
{
	if (!vs_registry_remove(ah, VS_AH))
		return vs_status(-EINVAL);
	vs_ah_release(ah);
	return 0;
}

/* ---- the way back to who sent a datagram ------------------------------------ */

static int find_gid_index(struct ibv_context *context, const union ibv_gid *gid)
{
	const struct emu_port *port = &vs_context(context)->cfg->port;

	for (uint32_t i = 0; i < port->gid_tbl_len; i++) {
		if (!memcmp(&port->gid[i], gid, sizeof(*gid)))
			return (int)i;
	}
	return -EINVAL;
}

static void map_ipv4(uint32_t addr, union ibv_gid *gid)
{
	*gid = (union ibv_gid){.raw = {[10] = 0xff, [11] = 0xff}};
	memcpy(gid->raw + 12, &addr, sizeof(addr));
}

/*
 * Annex A17.4.5.2: the 40 bytes are an IPv6 header, or an IPv4 one stands in
 * the last 20. Returns the sgid_index of the address it was sent to.
 */
static int read_grh(struct ibv_context *context, const struct ibv_grh *grh,
                    struct ibv_global_route *back)
{
	const struct iphdr *ip4 = (const void *)((const char *)grh + sizeof(*grh) - sizeof(*ip4));
	uint32_t word = ntohl(grh->version_tclass_flow);
	union ibv_gid own = grh->dgid;

	if (word >> 28 == 6) {
		back->dgid = grh->sgid;
		back->flow_label = word & 0xfffff;
		back->traffic_class = word >> 20 & 0xff;
		back->hop_limit = grh->hop_limit;
	} else if (ip4->version == 4 && ip4->ihl == 5) {
		map_ipv4(ip4->saddr, &back->dgid);
		map_ipv4(ip4->daddr, &own);
		back->traffic_class = ip4->tos;
		back->hop_limit = ip4->ttl;
	} else {
		return -EINVAL;
	}
	return find_gid_index(context, &own);
}

int vs_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
                       struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	int index;

	if (!vs_registry_has(context, VS_CONTEXT) || port_num != VS_PORT)
		return vs_minus_one(-EINVAL);
	*attr = (struct ibv_ah_attr){
		.dlid = wc->slid,
		.sl = wc->sl,
		.src_path_bits = wc->dlid_path_bits,
		.port_num = port_num,
	};
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;
	attr->is_global = 1;
	index = read_grh(context, grh, &attr->grh);
	if (index < 0)
		return vs_minus_one(index);
	attr->grh.sgid_index = (uint8_t)index;
	return 0;
}

struct ibv_ah *vs_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
                                    uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (!vs_registry_has(pd, VS_PD))
		return vs_null(-EINVAL);
	if (vs_init_ah_from_wc(pd->context, port_num, wc, grh, &attr))
		return NULL;
	return vs_create_ah(pd, &attr);
}

/* ---- multicast -------------------------------------------------------------- */

static int change_group(struct ibv_qp *ibqp, const union ibv_gid *gid,
                        int (*change)(struct emu_qp *, const struct emu_gid *))
{
	struct vs_qp *qp = vs_qp(ibqp);
	struct emu_gid mgid;
	int err;

	if (!vs_registry_has(ibqp, VS_QP))
		return vs_status(-EINVAL);
	if (!nic_alive(qp->nic))
		return vs_status(-EIO);
	memcpy(&mgid, gid, sizeof(mgid));
	nic_lock(qp->nic);
	err = change(qp->emu, &mgid);
	nic_unlock(qp->nic);
	return vs_status(err);
}

int vs_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return change_group(qp, gid, emu_mcast_attach);
}

int vs_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return change_group(qp, gid, emu_mcast_detach);
}
