/* SPDX-License-Identifier: BSD-2-Clause */
/* Unreliable datagrams: both directions of a UD queue pair (IBTA 9.8.3). */
#ifndef EMU_UD_H
#define EMU_UD_H

#include "pkt.h"
#include "qp.h"

/* Send what is posted, a bounded number of datagrams. True when there is more. */
bool emu_ud_run(struct emu_qp *qp);
/* A datagram for a QP, for the connection manager, or for all that are attached to its group. */
void emu_ud_input(struct emu_dev *dev, const struct wire_peer *src, const struct emu_pkt *pkt);
/* What fits the QP's receive: place it and complete, else drop it silently. */
void emu_ud_deliver(struct emu_qp *qp, const struct emu_pkt *pkt);

#endif
