/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a QP's messages land: its receive queue or a shared one. A message
 * takes a receive when its first packet that needs one is accepted; the
 * receive is then the QP's until it completes or the QP goes.
 */
#ifndef EMU_RECV_H
#define EMU_RECV_H

#include "qp.h"

/* The receive in work or, with none, the one that would be taken. False: there is none. */
bool emu_recv_next(struct emu_qp *qp, struct emu_sgl *sgl);
/* It is in work from now on. False: there is none. */
bool emu_recv_take(struct emu_qp *qp);
/* Complete the receive in work; wc holds all but wr_id and qp_num. */
void emu_recv_complete(struct emu_qp *qp, const struct emu_wc *wc, bool solicited);
/* In ERR: complete what is the QP's own with WR_FLUSH_ERR. */
void emu_recv_flush(struct emu_qp *qp);
/* The QP goes: the receive in work vanishes with no completion. */
void emu_recv_drop(struct emu_qp *qp);

#endif
