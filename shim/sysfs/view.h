/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the arguments of a file function to a node of the tree. The check that a
 * call is none of ours comes first and is cheap: it is made in every open() and
 * stat() of the program.
 *
 * An open directory or file of the tree is a memfd whose name tells the node, so
 * that nothing is kept beside it: it may be duplicated, inherited and closed
 * like any other, and nothing stays behind.
 */
#ifndef SYSFS_VIEW_H
#define SYSFS_VIEW_H

#include <sysfs/tree.h>

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

struct stat;

#define VIEW_CLASS "/sys/class/infiniband"
#define VIEW_DEV "/dev/infiniband"

/* A directory of the tree was opened in this process: a path may be relative to it. */
extern atomic_bool view_has_directories;

/* The rest of view_has(), for calls that may be ours. */
bool view_resolve(int dirfd, const char *path, const struct sysfs_node **node);

/*
 * Is this path ours to answer? Then *node is what it names, or NULL and errno
 * ENOENT. Keeps errno when it says no.
 */
static inline bool view_has(int dirfd, const char *path, const struct sysfs_node **node)
{
	if (!path)
		return false;
	if (path[0] == '/') {
		if (strncmp(path, VIEW_CLASS, sizeof(VIEW_CLASS) - 1) &&
		    strncmp(path, VIEW_DEV, sizeof(VIEW_DEV) - 1))
			return false;
	} else if (dirfd == AT_FDCWD ||
	           !atomic_load_explicit(&view_has_directories, memory_order_relaxed)) {
		return false;
	}
	return view_resolve(dirfd, path, node);
}

/* The node that an open file descriptor stands for, or NULL; errno is kept. */
const struct sysfs_node *view_of_fd(int fd);
/* open(2) of a node: a file descriptor, or -1 and errno. */
int view_open(const struct sysfs_node *node, int flags);
/* stat(2) of a node: 0, or -1 and errno when node is NULL. */
int view_stat(const struct sysfs_node *node, struct stat *st);

#endif
