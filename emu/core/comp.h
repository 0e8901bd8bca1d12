/* SPDX-License-Identifier: BSD-2-Clause */
/* The completer: what the requester's answers, and their absence, mean (IBTA 9.7.6). */
#ifndef EMU_COMP_H
#define EMU_COMP_H

#include "pkt.h"
#include "qp.h"

/* An ACK, NAK, READ response or atomic response. */
void emu_comp_input(struct emu_qp *qp, struct emu_pkt *pkt);
/* The QP's timer came up. */
void emu_comp_timeout(struct emu_qp *qp);
/* The peer's engine has seen all that was sent before the probe. */
void emu_comp_peer_answered(struct emu_qp *qp);
/* The link to the peer broke. */
void emu_comp_peer_gone(struct emu_qp *qp);

#endif
