// SPDX-License-Identifier: BSD-2-Clause
#include "ah.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

bool emu_ah_path_usable(const struct emu_dev *dev, const struct emu_ah_attr *attr)
{
	static const struct emu_gid none;
	const struct emu_port *port = &dev->cfg.port;

	if (attr->port_num > 1)
		return false;
	if (!attr->is_global) /* RoCE has no LIDs (IBTA annex A17) */
		return port->link_layer == EMU_LINK_INFINIBAND;
	return attr->sgid_index < port->gid_tbl_len &&
	       memcmp(&port->gid[attr->sgid_index], &none, sizeof(none)) != 0;
}

int emu_ah_create(struct emu_pd *pd, const struct emu_ah_attr *attr, struct emu_ah **out)
{
	struct emu_dev *dev = pd->dev;
	struct emu_ah *ah;

	if (!emu_ah_path_usable(dev, attr))
		return -EMU_EINVAL;
	if (dev->ahs >= dev->cfg.limits.max_ah)
		return -EMU_ENOMEM;
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return -EMU_ENOMEM;
	ah->pd = pd;
	ah->attr = *attr;
	atomic_init(&ah->refs, 1);
	pd->refs++;
	dev->ahs++;
	*out = ah;
	return 0;
}

void emu_ah_destroy(struct emu_ah *ah)
{
	ah->pd->refs--;
	ah->pd->dev->ahs--;
	emu_ah_release(ah);
}

void emu_ah_hold(struct emu_ah *ah)
{
	atomic_fetch_add_explicit(&ah->refs, 1, memory_order_relaxed);
}

void emu_ah_release(struct emu_ah *ah)
{
	if (atomic_fetch_sub(&ah->refs, 1) == 1)
		free(ah);
}
