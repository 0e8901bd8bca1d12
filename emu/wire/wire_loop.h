/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_LOOP_H
#define WIRE_LOOP_H

#include <emu/emu.h>

/* The wire from an engine to itself. Device lock, like every wire. */
struct wire_loop;

/* 0, -ENOMEM. */
int wire_loop_open(struct emu_dev *dev, struct wire_loop **out);
void wire_loop_close(struct wire_loop *loop);
/* Its one peer; a reference is nothing but the right to use it until wire_loop_close. */
struct wire_peer *wire_loop_peer(struct wire_loop *loop);
/* Deliver what was sent before this call. True when more was sent meanwhile. */
bool wire_loop_poll(struct wire_loop *loop);
/* True when wire_loop_poll would deliver something. */
bool wire_loop_pending(const struct wire_loop *loop);

#endif
