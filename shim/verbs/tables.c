/* SPDX-License-Identifier: BSD-2-Clause */
/* The port's tables: ibv_query_gid and its relatives, ibv_query_pkey, ibv_get_pkey_index. */
#include "context.h"
#include "errno.h"
#include "registry.h"

#include <emu/config.h>

#include <abi/emulated.h>

#include <arpa/inet.h>
#include <net/if.h>

#define DEFAULT_PKEY 0xffff

static const struct emu_gid none;

/* NULL: no such entry in the table of that port. An unused slot is the zero GID. */
static const struct emu_gid *find_gid(const struct ibv_context *context, uint32_t port_num,
                                      uint32_t index)
{
	const struct emu_port *port;

	if (!vs_registry_has(context, VS_CONTEXT) || port_num != VS_PORT)
		return NULL;
	port = &vs_context(context)->cfg->port;
	return index < port->gid_tbl_len ? &port->gid[index] : NULL;
}

static bool is_unused(const struct emu_gid *gid)
{
	return !memcmp(gid, &none, sizeof(none));
}

/* 0 if no interface of this host has the address any more. */
static unsigned int netdev_of(const struct emu_gid *gid)
{
	struct emu_gid now[EMU_GIDS];
	char name[EMU_GIDS][IF_NAMESIZE];
	unsigned int n = sv_host_gids(now, name, EMU_GIDS);

	for (unsigned int i = 0; i < n; i++) {
		if (!memcmp(&now[i], gid, sizeof(*gid)))
			return if_nametoindex(name[i]);
	}
	return 0;
}

static enum ibv_gid_type type_of(const struct ibv_context *context)
{
	return vs_context(context)->cfg->port.link_layer == EMU_LINK_ETHERNET ? IBV_GID_TYPE_ROCE_V2
	                                                                      : IBV_GID_TYPE_IB;
}

int vs_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	const struct emu_gid *found = find_gid(context, port_num, index);

	if (!found)
		return vs_minus_one(-EINVAL);
	memcpy(gid, found, sizeof(*gid));
	return 0;
}

static void fill_entry(const struct ibv_context *context, uint32_t index, const struct emu_gid *gid,
                       struct ibv_gid_entry *entry)
{
	memcpy(&entry->gid, gid, sizeof(entry->gid));
	entry->gid_index = index;
	entry->port_num = VS_PORT;
	entry->gid_type = type_of(context);
	entry->ndev_ifindex = netdev_of(gid);
}

int vs_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
                    struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	const struct emu_gid *gid = find_gid(context, port_num, gid_index);
	struct ibv_gid_entry full;

	if (flags)
		return vs_status(-EOPNOTSUPP);
	if (!gid || entry_size < sizeof(full))
		return vs_status(-EINVAL);
	if (is_unused(gid))
		return vs_status(-ENODATA);
	fill_entry(context, gid_index, gid, &full);
	memset(entry, 0, entry_size);
	memcpy(entry, &full, sizeof(full));
	return 0;
}

ssize_t vs_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
                           size_t max_entries, uint32_t flags, size_t entry_size)
{
	char *out = (char *)entries;
	size_t n = 0;

	if (flags)
		return -vs_status(-EOPNOTSUPP);
	if (!find_gid(context, VS_PORT, 0) || !max_entries ||
	    entry_size < sizeof(struct ibv_gid_entry))
		return -vs_status(-EINVAL);
	for (uint32_t i = 0; i < vs_context(context)->cfg->port.gid_tbl_len; i++) {
		const struct emu_gid *gid = find_gid(context, VS_PORT, i);

		if (is_unused(gid))
			continue;
		if (n == max_entries)
			return -vs_status(-EINVAL);
		memset(out, 0, entry_size);
		fill_entry(context, i, gid, (struct ibv_gid_entry *)out);
		out += entry_size;
		n++;
	}
	return n;
}

/* Of rdma-core's own tools: 0, or -1 when there is no such entry. */
int vs_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
                      enum ibv_gid_type_sysfs *type)
{
	const struct emu_gid *gid = find_gid(context, port_num, index);

	if (!gid)
		return vs_minus_one(-EINVAL);
	*type = type_of(context) == IBV_GID_TYPE_ROCE_V2 && !is_unused(gid)
	                ? IBV_GID_TYPE_SYSFS_ROCE_V2
	                : IBV_GID_TYPE_SYSFS_IB_ROCE_V1;
	return 0;
}

int vs_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	if (!vs_registry_has(context, VS_CONTEXT) || port_num != VS_PORT || index)
		return vs_minus_one(-EINVAL);
	*pkey = htons(DEFAULT_PKEY);
	return 0;
}

int vs_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	__be16 only;

	if (vs_query_pkey(context, port_num, 0, &only))
		return -1;
	return pkey == only ? 0 : vs_minus_one(-EINVAL);
}
