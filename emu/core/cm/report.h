/* SPDX-License-Identifier: BSD-2-Clause */
/* Events to the host. */
#ifndef EMU_CM_REPORT_H
#define EMU_CM_REPORT_H

#include "cm/conn.h"

/* msg: what led to it, or NULL. */
void emu_cm_report(struct emu_cm_id *id, enum emu_cm_event_type type, int status,
		   const struct emu_cm_msg *msg);

#endif
