/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast groups: which UD QPs are attached to which GID (IBTA 10.5). */
#ifndef EMU_MCAST_H
#define EMU_MCAST_H

#include "pkt.h"
#include "qp.h"

/* One attachment; a group is joined at the host as long as it has any. */
struct emu_mcast {
	struct emu_gid gid;
	struct emu_qp *qp;
};

/* To every QP attached to the packet's group, except the one that sent it. */
void emu_mcast_input(struct emu_dev *dev, const struct emu_pkt *pkt);
/* The QP is going. */
void emu_mcast_leave_all(struct emu_qp *qp);

#endif
