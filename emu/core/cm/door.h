/* SPDX-License-Identifier: BSD-2-Clause */
/* What the device calls: the connection manager's place among its parts. */
#ifndef EMU_CM_DOOR_H
#define EMU_CM_DOOR_H

#include "dev.h"
#include "pkt.h"

/* 0, -ENOMEM. */
int emu_cm_init(struct emu_dev *dev);
/* Drops whatever there is, and tells nobody. */
void emu_cm_fini(struct emu_dev *dev);
/* Send what is queued, a bounded number. */
void emu_cm_run(struct emu_dev *dev);
bool emu_cm_pending(const struct emu_dev *dev);
/* A packet to QP 1 of one of the device's slots. */
void emu_cm_input(struct emu_dev *dev, const struct wire_peer *src, const struct emu_pkt *pkt);
void emu_cm_writable(struct emu_dev *dev, const struct wire_peer *peer);
void emu_cm_answered(struct emu_dev *dev, const struct wire_peer *peer);
void emu_cm_gone(struct emu_dev *dev, const struct wire_peer *peer);

#endif
