/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CS_SYNC_H
#define CS_SYNC_H

#include "id.h"

/*
 * End of a call that starts something. On an id with a channel of the program's:
 * 0. On a synchronous one: waits for the event that tells how it went, leaves it
 * in id->event, returns 0 or -1 with errno.
 */
int cs_complete(struct cs_id *id);
/* Acknowledge the event in id->event, if any. */
void cs_drop_event(struct cs_id *id);

#endif
