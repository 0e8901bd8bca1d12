/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Did the process at the other end die? A link that broke does not say so: it
 * may have been cut for other reasons, and another process may have come up at
 * the same address since. So a moment later the last message goes out again,
 * which a living CM knows as a duplicate and a new one as unknown, and the wire
 * is asked whether anybody got it.
 */
#ifndef EMU_CM_VERIFY_H
#define EMU_CM_VERIFY_H

#include "cm/conn.h"

/* The moment has come. */
void emu_cm_verify(struct emu_cm_id *id);
/* The message went out: ask the wire. */
void emu_cm_probe(struct emu_cm_id *id);
/* Not any more. */
void emu_cm_stop_probing(struct emu_cm_id *id);
/* The other end is dead for certain. */
void emu_cm_bury(struct emu_cm_id *id);

#endif
