/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The emulated devices as a program sees them. They are static: a pointer out of
 * ibv_get_device_list(3) stays good after the list is freed.
 */
#ifndef VERBS_DEVICE_H
#define VERBS_DEVICE_H

#include <infiniband/verbs.h>

/*
 * libmlx5 and libefa look at their own fields behind struct ibv_device in
 * anything they are handed, so zeroes follow it.
 */
#define VS_DEVICE_ROOM 4096

struct vs_device {
	struct ibv_device ibv;              /* first: a program's pointer is ours */
	unsigned char room[VS_DEVICE_ROOM]; /* always zero */
	__be64 node_guid;
	int index; /* uverbs<index> */
};

/* The device behind ibv; NULL and errno EINVAL when it is none of ours. */
struct vs_device *vs_device(struct ibv_device *ibv);

#endif
