/* SPDX-License-Identifier: BSD-2-Clause */
/* What the core's connection manager reports, on its way to the ids. */
#ifndef CS_INCOMING_H
#define CS_INCOMING_H

#include "notice.h"

/* The handler of nic_cm_events: under the device lock, calls nothing back. */
void cs_incoming(const struct emu_cm_event *event);
/* A CONNECT_REQUEST that is fetched or forgotten; others are none of ours. Device lock. */
void cs_incoming_forget(struct cs_notice *n);

#endif
