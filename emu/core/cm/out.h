/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MADs on their way out: queued by whatever happens, sent by emu_run as UD
 * packets to the CM's QP of the peer. A MAD whose peer is busy (a connection
 * that is being made) waits for it; when memory is short it is lost, as it may.
 */
#ifndef EMU_CM_OUT_H
#define EMU_CM_OUT_H

#include "cm/conn.h"

/* QP 1 of each slot of a process, and its Q_Key (IBTA 3.5.10, 10.2.5). */
#define EMU_CM_QP 1u
#define EMU_CM_QKEY 0x80010000u

/* Queue id->mad. */
void emu_cm_out_id(struct emu_cm_id *id);
/* The same; when it has been sent, ask the wire whether the peer is alive. */
void emu_cm_out_probe(struct emu_cm_id *id);
/* Queue a message that belongs to no id. */
void emu_cm_out_msg(struct emu_cm *cm, const struct emu_cm_route *route,
		    const struct emu_cm_msg *msg);
void emu_cm_out_free_all(struct emu_cm *cm);

#endif
