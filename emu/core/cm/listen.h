/* SPDX-License-Identifier: BSD-2-Clause */
/* Who listens, and what becomes of a request. */
#ifndef EMU_CM_LISTEN_H
#define EMU_CM_LISTEN_H

#include "cm/conn.h"

/* A REQ or SIDR_REQ; back: where it came from. An id that is made takes its peer over. */
void emu_cm_take_request(struct emu_cm *cm, struct emu_cm_route *back,
			 const struct emu_cm_msg *msg);
/* Answer a message that belongs to no id; the reason is for a REJ or SIDR_REP. */
void emu_cm_answer(struct emu_cm *cm, const struct emu_cm_route *route,
		   const struct emu_cm_msg *msg, enum emu_cm_kind kind, uint32_t reason);

#endif
