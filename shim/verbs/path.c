/* SPDX-License-Identifier: BSD-2-Clause */
#include "path.h"

/* Without is_global the GRH counts for nothing: programs leave anything in it. */
static void grh_to_emu(const struct ibv_global_route *from, struct emu_ah_attr *to)
{
	memcpy(to->dgid.raw, from->dgid.raw, sizeof(to->dgid.raw));
	to->flow_label = from->flow_label;
	to->sgid_index = from->sgid_index;
	to->hop_limit = from->hop_limit;
	to->traffic_class = from->traffic_class;
}

void vs_path_to_emu(const struct ibv_ah_attr *from, struct emu_ah_attr *to)
{
	*to = (struct emu_ah_attr){0};
	if (from->is_global)
		grh_to_emu(&from->grh, to);
	to->dlid = from->dlid;
	to->sl = from->sl;
	to->src_path_bits = from->src_path_bits;
	to->static_rate = from->static_rate;
	to->is_global = from->is_global;
	to->port_num = from->port_num;
}

void vs_path_to_ibv(const struct emu_ah_attr *from, struct ibv_ah_attr *to)
{
	memcpy(to->grh.dgid.raw, from->dgid.raw, sizeof(to->grh.dgid.raw));
	to->grh.flow_label = from->flow_label;
	to->grh.sgid_index = from->sgid_index;
	to->grh.hop_limit = from->hop_limit;
	to->grh.traffic_class = from->traffic_class;
	to->dlid = from->dlid;
	to->sl = from->sl;
	to->src_path_bits = from->src_path_bits;
	to->static_rate = from->static_rate;
	to->is_global = from->is_global;
	to->port_num = from->port_num;
}
