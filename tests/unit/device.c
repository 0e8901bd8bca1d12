/* SPDX-License-Identifier: BSD-2-Clause */
#include "device.h"

#include <string.h>

static int copy(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	return 0;
}

static void note_cq_event(void *host, void *cq_user)
{
	struct told *told = host;

	told->cq_events++;
	told->user = cq_user;
}

static void note_async_event(void *host, enum emu_event_type type, void *user)
{
	struct told *told = host;

	told->async_events++;
	told->last_async = type;
	told->user = user;
}

static const struct emu_env env = {
	.copy = copy, .cq_event = note_cq_event, .async_event = note_async_event};

struct emu_dev *device_create(const struct emu_limits *limits, struct told *told)
{
	struct emu_config config = {
		.limits = limits ? *limits : emu_default_limits,
		.port = {.link_layer = EMU_LINK_ETHERNET,
	                 .active_mtu = 5,
	                 .gid_tbl_len = 1,
	                 .pkey_tbl_len = 1},
	};
	struct emu_dev *dev;

	memset(told, 0, sizeof(*told));
	assert_int_equal(emu_dev_create(&config, &env, told, &dev), 0);
	assert_int_equal(emu_dev_add_slot(dev, 1), 0);
	emu_tick(dev, 0);
	return dev;
}
