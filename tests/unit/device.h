/* SPDX-License-Identifier: BSD-2-Clause */
/* A device with no wire for tests of single objects, and the cmocka headers in their order. */
#ifndef TESTS_UNIT_DEVICE_H
#define TESTS_UNIT_DEVICE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <emu/emu.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What the device told its host; user of the last one. */
struct told {
	unsigned cq_events, async_events;
	enum emu_event_type last_async;
	void *user;
};

/* Plain memory; peers are never asked for. Fails the test when it cannot be made. */
struct emu_dev *device_create(const struct emu_limits *limits, struct told *told);

#endif
