/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel would show of the emulated device under /sys/class/infiniband,
 * /sys/class/infiniband_verbs and /dev/infiniband: a list of nodes, made once
 * per process at the first look, read-only and never freed. Any thread.
 */
#ifndef SYSFS_TREE_H
#define SYSFS_TREE_H

#include <stdbool.h>
#include <stddef.h>

enum sysfs_kind {
	SYSFS_DIR,
	SYSFS_FILE,
	SYSFS_DEVICE, /* a character device */
};

struct sysfs_node {
	enum sysfs_kind kind;
	unsigned number;  /* from 1, for sysfs_numbered() and as inode */
	const char *path; /* absolute, no trailing slash */
	const char *name; /* its last component */
	const char *data;
	size_t len;
};

/* The device number of /dev/infiniband/uverbs0, as the kernel would give it. */
#define SYSFS_UVERBS_MAJOR 231
#define SYSFS_UVERBS_MINOR 192

/* The node at a normalised absolute path, or NULL. */
const struct sysfs_node *sysfs_find(const char *path);
const struct sysfs_node *sysfs_numbered(unsigned number);
/*
 * Walk the entries of a directory: *at starts as 0 and is the place to go on
 * from, whatever the caller does in between. NULL at the end.
 */
const struct sysfs_node *sysfs_next(const struct sysfs_node *dir, size_t *at);

#endif
