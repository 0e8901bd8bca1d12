/* SPDX-License-Identifier: BSD-2-Clause */
/* The messages that cm.def's rows send. */
#ifndef EMU_CM_SEND_H
#define EMU_CM_SEND_H

#include "cm/conn.h"

enum emu_cm_send {
	EMU_CM_SEND_NOTHING,
	EMU_CM_SEND_LOOK_UP, /* no message: the host is asked */
	EMU_CM_SEND_REQ,
	EMU_CM_SEND_MRA,
	EMU_CM_SEND_REP,
	EMU_CM_SEND_RTU,
	EMU_CM_SEND_REJ, /* for the reason that the call gave */
	EMU_CM_SEND_REJ_TIMEOUT,
	EMU_CM_SEND_REJ_CONSUMER,
	EMU_CM_SEND_DREQ,
	EMU_CM_SEND_DREP,
	EMU_CM_SEND_SIDR_REQ,
	EMU_CM_SEND_SIDR_REP,
	EMU_CM_SEND_SIDR_REJECT,
	EMU_CM_SEND_AGAIN, /* the last message, unchanged */
	EMU_CM_SENDS,
};

void emu_cm_send(struct emu_cm_id *id, enum emu_cm_send what, const struct emu_cm_in *in);
/* Write the REQ or SIDR_REQ that is sent when the peer is found. False: a field out of range. */
bool emu_cm_prepare(struct emu_cm_id *id, enum emu_cm_kind kind,
		    const struct emu_cm_params *params);
/* Can params be told in this kind of message? */
bool emu_cm_params_sane(enum emu_cm_kind kind, const struct emu_cm_params *params);

#endif
