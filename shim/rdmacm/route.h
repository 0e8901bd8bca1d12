/* SPDX-License-Identifier: BSD-2-Clause */
/* The way from one end to the other, as the public fields of an id show it. */
#ifndef CS_ROUTE_H
#define CS_ROUTE_H

#include "id.h"

/* Addresses, device and path of an id that comes of a request. */
void cs_route_from_request(struct cs_id *id, const struct emu_cm_addr *src,
			   const struct emu_cm_addr *dst);
/* sgid, dgid and pkey, from src_addr and dst_addr. */
void cs_route_fill_gids(struct cs_id *id);
/* The path for a QP or an address handle: from the id's address to the other one. */
void cs_route_to_ah(const struct cs_id *id, struct ibv_ah_attr *attr);
/* The same with another destination. */
void cs_route_to_gid(const struct cs_id *id, const union ibv_gid *dgid, struct ibv_ah_attr *attr);

#endif
