/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of a path that open nothing: access(2), readlink(2), realpath(3), getxattr(2). */
#include <sysfs/next.h>

#include <sysfs/view.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

EXPORT ssize_t __readlink_chk(const char *path, char *buf, size_t len, size_t buflen);
EXPORT ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t len, size_t buflen);
EXPORT char *__realpath_chk(const char *path, char *resolved, size_t len);

static int access_node(const struct sysfs_node *node, int how)
{
	static const int allowed[] = {
		[SYSFS_DIR] = R_OK | X_OK,
		[SYSFS_FILE] = R_OK,
		[SYSFS_DEVICE] = R_OK | W_OK,
	};

	if (!node)
		return -1;
	if (how & ~allowed[node->kind]) {
		errno = EACCES;
		return -1;
	}
	return 0;
}

EXPORT int access(const char *path, int how)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return access_node(node, how);
	return NEXT(access)(path, how);
}

EXPORT int eaccess(const char *path, int how)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return access_node(node, how);
	return NEXT(eaccess)(path, how);
}

EXPORT int euidaccess(const char *path, int how)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return access_node(node, how);
	return NEXT(euidaccess)(path, how);
}

EXPORT int faccessat(int dirfd, const char *path, int how, int flags)
{
	const struct sysfs_node *node;

	if (view_has(dirfd, path, &node))
		return access_node(node, how);
	return NEXT(faccessat)(dirfd, path, how, flags);
}

/* The tree has no symbolic links. */
static ssize_t refuse_readlink(const struct sysfs_node *node)
{
	if (node)
		errno = EINVAL;
	return -1;
}

EXPORT ssize_t readlink(const char *path, char *buf, size_t len)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return refuse_readlink(node);
	return NEXT(readlink)(path, buf, len);
}

EXPORT ssize_t readlinkat(int dirfd, const char *path, char *buf, size_t len)
{
	const struct sysfs_node *node;

	if (view_has(dirfd, path, &node))
		return refuse_readlink(node);
	return NEXT(readlinkat)(dirfd, path, buf, len);
}

EXPORT ssize_t __readlink_chk(const char *path, char *buf, size_t len, size_t buflen)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return refuse_readlink(node);
	return NEXT(__readlink_chk)(path, buf, len, buflen);
}

EXPORT ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t len, size_t buflen)
{
	const struct sysfs_node *node;

	if (view_has(dirfd, path, &node))
		return refuse_readlink(node);
	return NEXT(__readlinkat_chk)(dirfd, path, buf, len, buflen);
}

static char *copy_path(const struct sysfs_node *node, char *resolved)
{
	if (!node)
		return NULL;
	return resolved ? strcpy(resolved, node->path) : strdup(node->path);
}

EXPORT char *realpath(const char *path, char *resolved)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return copy_path(node, resolved);
	return NEXT(realpath)(path, resolved);
}

EXPORT char *__realpath_chk(const char *path, char *resolved, size_t len)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return copy_path(node, resolved);
	return NEXT(__realpath_chk)(path, resolved, len);
}

EXPORT char *canonicalize_file_name(const char *path)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return copy_path(node, NULL);
	return NEXT(canonicalize_file_name)(path);
}

/* `ls -l` looks for access control lists. */
static ssize_t refuse_xattr(const struct sysfs_node *node)
{
	if (node)
		errno = ENOTSUP;
	return -1;
}

EXPORT ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return refuse_xattr(node);
	return NEXT(getxattr)(path, name, value, size);
}

EXPORT ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return refuse_xattr(node);
	return NEXT(lgetxattr)(path, name, value, size);
}
