// SPDX-License-Identifier: BSD-2-Clause
#include "mcast.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "ud.h"

bool emu_gid_is_multicast(const struct emu_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (gid->raw[0] == 0xff)
		return true;
	return !memcmp(gid, mapped, sizeof(mapped)) && gid->raw[12] >> 4 == 0xe;
}

static bool same(const struct emu_gid *a, const struct emu_gid *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* The attachment, or NULL. qp NULL: anybody's. */
static struct emu_mcast *find(struct emu_dev *dev, const struct emu_qp *qp,
			      const struct emu_gid *gid)
{
	for (uint32_t i = 0; i < dev->nmcasts; i++)
		if ((!qp || dev->mcasts[i].qp == qp) && same(&dev->mcasts[i].gid, gid))
			return &dev->mcasts[i];
	return NULL;
}

static uint32_t count_groups(const struct emu_dev *dev)
{
	uint32_t groups = 0;

	for (uint32_t i = 0; i < dev->nmcasts; i++) {
		uint32_t first = 0;

		while (!same(&dev->mcasts[first].gid, &dev->mcasts[i].gid))
			first++;
		groups += first == i;
	}
	return groups;
}

static int append(struct emu_qp *qp, const struct emu_gid *gid)
{
	struct emu_dev *dev = qp->dev;
	struct emu_mcast *bigger = realloc(dev->mcasts, (dev->nmcasts + 1) * sizeof(*bigger));

	if (!bigger)
		return -EMU_ENOMEM;
	dev->mcasts = bigger;
	bigger[dev->nmcasts++] = (struct emu_mcast){ *gid, qp };
	qp->mcasts++;
	return 0;
}

int emu_mcast_attach(struct emu_qp *qp, const struct emu_gid *mgid)
{
	struct emu_dev *dev = qp->dev;
	bool known = find(dev, NULL, mgid);
	int ret;

	if (qp->type != EMU_QPT_UD || !emu_gid_is_multicast(mgid) || find(dev, qp, mgid))
		return -EMU_EINVAL;
	if (qp->mcasts >= dev->cfg.limits.max_mcast_qp_attach)
		return -EMU_ENOMEM;
	if (!known && count_groups(dev) >= dev->cfg.limits.max_mcast_grp)
		return -EMU_ENOMEM;
	ret = known ? 0 : dev->env->mcast(dev->host, mgid, true);
	if (ret)
		return ret;
	ret = append(qp, mgid);
	if (ret && !known)
		dev->env->mcast(dev->host, mgid, false);
	return ret;
}

static void detach(struct emu_qp *qp, struct emu_mcast *m)
{
	struct emu_dev *dev = qp->dev;
	struct emu_gid gid = m->gid;

	*m = dev->mcasts[--dev->nmcasts];
	qp->mcasts--;
	if (!find(dev, NULL, &gid))
		dev->env->mcast(dev->host, &gid, false);
}

int emu_mcast_detach(struct emu_qp *qp, const struct emu_gid *mgid)
{
	struct emu_mcast *m = find(qp->dev, qp, mgid);

	if (!m)
		return -EMU_EINVAL;
	detach(qp, m);
	return 0;
}

void emu_mcast_leave_all(struct emu_qp *qp)
{
	struct emu_dev *dev = qp->dev;

	for (uint32_t i = dev->nmcasts; i-- > 0 && qp->mcasts;)
		if (dev->mcasts[i].qp == qp)
			detach(qp, &dev->mcasts[i]);
}

/* Another host may have a QP of the same number. */
static bool sent_it(const struct emu_qp *qp, const struct emu_pkt *pkt)
{
	const struct emu_port *port = &qp->dev->cfg.port;

	if (qp->qpn != pkt->src_qpn)
		return false;
	for (uint32_t i = 0; i < port->gid_tbl_len; i++)
		if (same(&port->gid[i], &pkt->grh.sgid))
			return true;
	return false;
}

void emu_mcast_input(struct emu_dev *dev, const struct emu_pkt *pkt)
{
	dev->counters.rx_packets++;
	for (uint32_t i = 0; i < dev->nmcasts; i++)
		if (same(&dev->mcasts[i].gid, &pkt->grh.dgid) && !sent_it(dev->mcasts[i].qp, pkt))
			emu_ud_deliver(dev->mcasts[i].qp, pkt);
}
