/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two ends of a wire in one process, so that one set of tests runs on every
 * kind of wire. Everything that waits is bounded.
 */
#ifndef TEST_WIRE_RIG_H
#define TEST_WIRE_RIG_H

#include "fake.h"
#include "wire_ofi.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

struct wire_loop;

struct rig {
	struct emu_dev a, b; /* wire_loop: both ends are a */
	struct emu_dev *to; /* where what a sends arrives */
	struct wire_peer *peer; /* of a: b */
	struct sv_config cfg_a, cfg_b;
	struct wire_ofi *ofi_a, *ofi_b;
	uint32_t slot_a, slot_b;
	struct wire_loop *loop;
	uint8_t *memory; /* max_payload bytes of noise */
};

/* Build one; free it. */
int rig_loop(void **state);
int rig_ofi(void **state);
int rig_free(void **state);

void rig_open_a(struct rig *rig);
/* b on the slot that it had before, if any. */
void rig_open_b(struct rig *rig);
void rig_close_b(struct rig *rig);
/* Name b for a. */
void rig_connect(struct rig *rig);

/* One pass of an end. */
void rig_pass_a(struct rig *rig);
void rig_pass_b(struct rig *rig);
/* Passes of both ends until *count >= goal; false after a few seconds. */
bool rig_until(struct rig *rig, const unsigned *count, unsigned goal);
/* Passes of both ends for that many milliseconds. */
void rig_run_ms(struct rig *rig, unsigned ms);
/* Send, waiting for as long as the wire is busy. WIRE_DONE, WIRE_HELD or WIRE_FAULT. */
enum wire_sent rig_send(struct rig *rig, struct emu_tx *tx);

#endif
