/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_listen */
#include "addr.h"
#include "sockaddr.h"

#include <abi/rdmacm.h>
#include <verbs/errno.h>

/* "Any" of IPv4 is that; of IPv6 it is both, unless the program says otherwise. */
static enum emu_cm_family family_of(const struct cs_id *id)
{
	if (id->id.route.addr.src_addr.sa_family == AF_INET)
		return EMU_CM_IPV4_ONLY;
	return id->options & CS_AF_ONLY ? EMU_CM_IPV6_ONLY : EMU_CM_ANY_FAMILY;
}

static int bind_anywhere(struct cs_id *id)
{
	const struct sockaddr_in any = { .sin_family = AF_INET };

	return cs_addr_bind(id, (const struct sockaddr *)&any);
}

static int start(struct cs_id *id, int backlog)
{
	struct emu_cm_listen listen = {
		.ps = (uint16_t)id->id.ps,
		.family = family_of(id),
		.backlog = backlog < 0 ? 0 : (uint32_t)backlog,
		.user = id,
	};
	struct emu_dev *dev = nic_lock(id->dev->nic);
	int err = -EIO;

	cs_sockaddr_read(&id->id.route.addr.src_addr, &listen.addr);
	if (nic_alive(id->dev->nic))
		err = emu_cm_listen(dev, &listen, &id->listener);
	if (!err)
		id->state = CS_LISTENING;
	nic_unlock(id->dev->nic);
	return err;
}

int cs_listen(struct rdma_cm_id *cm_id, int backlog)
{
	struct cs_id *id = cs_id(cm_id);
	int err = 0;

	if (id->state == CS_IDLE)
		err = bind_anywhere(id);
	if (!err && id->state != CS_BOUND)
		err = -EINVAL;
	if (!err && id->options & CS_REUSE_ADDR)
		err = cs_addr_own_port(id);
	return vs_minus_one(err ? err : start(id, backlog));
}
