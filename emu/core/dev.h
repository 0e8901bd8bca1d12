/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device: tables of its objects, the QPs that have work, timers, and the
 * packets on their way out. Everything here is owned by the device lock,
 * except rung.
 */
#ifndef EMU_DEV_H
#define EMU_DEV_H

#include <stdatomic.h>

#include <emu/emu.h>

#include "idtab.h"
#include "timer.h"

#define EMU_SLOTS_MAX 16
#define EMU_SLOT_SHIFT 12
#define EMU_SLOT_QPNS (1u << EMU_SLOT_SHIFT)

struct emu_slot {
	uint32_t number; /* QP numbers number << 12 | n */
	struct emu_idtab qps;
};

/* A list of QPs by their link field. */
struct emu_qp_list {
	struct emu_qp *first, *last;
};

struct emu_dev {
	struct emu_config cfg;
	const struct emu_env *env;
	void *host;
	uint64_t now; /* ns, of the last emu_tick */

	uint32_t pds, cqs, qps, ahs, srqs; /* how many exist */
	struct emu_idtab mrs;
	uint32_t mr_gen;
	struct emu_slot slot[EMU_SLOTS_MAX];
	uint32_t slots;

	_Atomic(struct emu_qp *) rung; /* QPs rung by posters, newest first */
	struct emu_qp_list ready; /* QPs that emu_run will serve */
	struct emu_qp_list busy; /* QPs waiting for a peer to be writable */
	struct emu_mcast *mcasts; /* groups some QP is attached to */
	uint32_t nmcasts;
	struct emu_timers timers;
	uint32_t timer_users; /* timers that exist */
	struct emu_cm *cm;
	bool overrun; /* a CQ died and its QPs do not know yet */

	struct emu_tx *tx; /* the packet that is being made */
	struct emu_tx *tx_free;
	struct emu_tx *tx_held; /* with a wire */

	struct emu_counters counters;
};

/* The QP of this number, or NULL. */
struct emu_qp *emu_dev_qp(const struct emu_dev *dev, uint32_t qpn);
/* Is this one of the device's slots? */
bool emu_dev_has_slot(const struct emu_dev *dev, uint32_t slot);
/* The packet to fill: empty, no pieces. */
struct emu_tx *emu_dev_tx(struct emu_dev *dev);
/* Send dev->tx to peer; on WIRE_HELD its regions are held. */
enum wire_sent emu_dev_send(struct emu_dev *dev, struct wire_peer *peer);
/* Cut the links of packets that read from mr. */
void emu_dev_abort_io(struct emu_dev *dev, const struct emu_mr *mr);
/* The QP is not to be told any more when its packets come back from a wire. */
void emu_dev_disown_tx(struct emu_dev *dev, const struct emu_qp *qp);
/* Have emu_run serve the QP. */
void emu_dev_ready(struct emu_dev *dev, struct emu_qp *qp);
/* Have it wait for its peer to be writable. */
void emu_dev_wait_writable(struct emu_dev *dev, struct emu_qp *qp);
/* Take the QP off every list. */
void emu_dev_unlist(struct emu_dev *dev, struct emu_qp *qp);
/* A QP number of some slot for qp. 0, -ENOSPC, -ENOMEM. */
int emu_dev_qpn_get(struct emu_dev *dev, struct emu_qp *qp, uint32_t *qpn);
void emu_dev_qpn_put(struct emu_dev *dev, uint32_t qpn);

#endif
