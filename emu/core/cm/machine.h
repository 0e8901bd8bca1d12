/* SPDX-License-Identifier: BSD-2-Clause */
/* The state machine of cm.def. */
#ifndef EMU_CM_MACHINE_H
#define EMU_CM_MACHINE_H

#include "cm/msg.h"

enum emu_cm_state {
	EMU_CM_ST_NEW,
	EMU_CM_ST_LOOKUP,
	EMU_CM_ST_REQ_SENT,
	EMU_CM_ST_MRA_REQ_RCVD,
	EMU_CM_ST_REP_RCVD,
	EMU_CM_ST_REQ_RCVD,
	EMU_CM_ST_REP_SENT,
	EMU_CM_ST_MRA_REP_RCVD,
	EMU_CM_ST_ESTABLISHED,
	EMU_CM_ST_DREQ_SENT,
	EMU_CM_ST_DREQ_RCVD,
	EMU_CM_ST_TIMEWAIT,
	EMU_CM_ST_ANSWERED,
	EMU_CM_ST_SIDR_LOOKUP,
	EMU_CM_ST_SIDR_REQ_SENT,
	EMU_CM_ST_SIDR_REQ_RCVD,
	EMU_CM_ST_IDLE,
	EMU_CM_STATES,
};

enum emu_cm_on {
	/* messages */
	EMU_CM_ON_REQ,
	EMU_CM_ON_MRA,
	EMU_CM_ON_REJ,
	EMU_CM_ON_REP,
	EMU_CM_ON_RTU,
	EMU_CM_ON_DREQ,
	EMU_CM_ON_DREP,
	EMU_CM_ON_SIDR_REQ,
	EMU_CM_ON_SIDR_REP,
	EMU_CM_ON_SIDR_REFUSAL, /* a SIDR_REP that does not say success */
	/* the host's answer */
	EMU_CM_ON_FOUND,
	EMU_CM_ON_REFUSED,
	/* time, death */
	EMU_CM_ON_TIMEOUT,
	EMU_CM_ON_GIVE_UP, /* a timeout with no retry left */
	EMU_CM_ON_PEER_GONE,
	/* calls */
	EMU_CM_ON_CONNECT,
	EMU_CM_ON_SIDR_CONNECT,
	EMU_CM_ON_ACCEPT,
	EMU_CM_ON_ESTABLISH,
	EMU_CM_ON_REJECT,
	EMU_CM_ON_SIDR_REPLY,
	EMU_CM_ON_DISCONNECT,
	EMU_CM_ON_NOTIFY,
	EMU_CM_ON_DESTROY,
	EMU_CM_ONS,
};

/* What comes with it: the message, or the arguments of the call. */
struct emu_cm_in {
	const struct emu_cm_msg *msg;
	const struct emu_cm_params *params;
	uint32_t reason; /* REJECT, SIDR_REPLY */
	const void *data;
	uint32_t len;
};

/*
 * 0; -EINVAL: there is no row, nothing has happened. The id is freed on the
 * way if its end is reached and nobody owns it any more.
 */
int emu_cm_do(struct emu_cm_id *id, enum emu_cm_on on, const struct emu_cm_in *in);
/* Is there a row? */
bool emu_cm_can(const struct emu_cm_id *id, enum emu_cm_on on);

#endif
