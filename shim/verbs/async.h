/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events of a context. */
#ifndef VS_ASYNC_H
#define VS_ASYNC_H

#include <emu/types.h>

/* From the sink, under the device lock. user: the vs_cq, vs_srq or vs_qp concerned. */
void vs_async_raise(enum emu_event_type type, void *user);

#endif
