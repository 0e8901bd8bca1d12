/* SPDX-License-Identifier: BSD-2-Clause */
/* The stat(2) family of the view; the __xstat names are those of programs built before glibc 2.33.
 */
#include <sysfs/next.h>

#include <sysfs/view.h>

#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one layout, as on 64-bit systems");

EXPORT int __xstat(int ver, const char *path, struct stat *st);
EXPORT int __xstat64(int ver, const char *path, struct stat64 *st);
EXPORT int __lxstat(int ver, const char *path, struct stat *st);
EXPORT int __lxstat64(int ver, const char *path, struct stat64 *st);
EXPORT int __fxstat(int ver, int fd, struct stat *st);
EXPORT int __fxstat64(int ver, int fd, struct stat64 *st);
EXPORT int __fxstatat(int ver, int dirfd, const char *path, struct stat *st, int flags);
EXPORT int __fxstatat64(int ver, int dirfd, const char *path, struct stat64 *st, int flags);

/* What fstat found may be one of our memfds: those have no name anywhere. */
static int correct_fstat(int rc, int fd, struct stat *st)
{
	const struct sysfs_node *node;

	if (rc || !S_ISREG(st->st_mode) || st->st_nlink)
		return rc;
	node = view_of_fd(fd);
	return node ? view_stat(node, st) : 0;
}

EXPORT int stat(const char *path, struct stat *st)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return view_stat(node, st);
	return NEXT(stat)(path, st);
}

EXPORT int stat64(const char *path, struct stat64 *st)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return view_stat(node, (struct stat *)st);
	return NEXT(stat64)(path, st);
}

EXPORT int lstat(const char *path, struct stat *st)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return view_stat(node, st);
	return NEXT(lstat)(path, st);
}

EXPORT int lstat64(const char *path, struct stat64 *st)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return view_stat(node, (struct stat *)st);
	return NEXT(lstat64)(path, st);
}

EXPORT int fstat(int fd, struct stat *st)
{
	return correct_fstat(NEXT(fstat)(fd, st), fd, st);
}

EXPORT int fstat64(int fd, struct stat64 *st)
{
	return correct_fstat(NEXT(fstat64)(fd, st), fd, (struct stat *)st);
}

EXPORT int fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	const struct sysfs_node *node;

	if (view_has(dirfd, path, &node))
		return view_stat(node, st);
	return NEXT(fstatat)(dirfd, path, st, flags);
}

EXPORT int fstatat64(int dirfd, const char *path, struct stat64 *st, int flags)
{
	const struct sysfs_node *node;

	if (view_has(dirfd, path, &node))
		return view_stat(node, (struct stat *)st);
	return NEXT(fstatat64)(dirfd, path, st, flags);
}

EXPORT int __xstat(int ver, const char *path, struct stat *st)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return view_stat(node, st);
	return NEXT(__xstat)(ver, path, st);
}

EXPORT int __xstat64(int ver, const char *path, struct stat64 *st)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return view_stat(node, (struct stat *)st);
	return NEXT(__xstat64)(ver, path, st);
}

EXPORT int __lxstat(int ver, const char *path, struct stat *st)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return view_stat(node, st);
	return NEXT(__lxstat)(ver, path, st);
}

EXPORT int __lxstat64(int ver, const char *path, struct stat64 *st)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return view_stat(node, (struct stat *)st);
	return NEXT(__lxstat64)(ver, path, st);
}

EXPORT int __fxstat(int ver, int fd, struct stat *st)
{
	return correct_fstat(NEXT(__fxstat)(ver, fd, st), fd, st);
}

EXPORT int __fxstat64(int ver, int fd, struct stat64 *st)
{
	return correct_fstat(NEXT(__fxstat64)(ver, fd, st), fd, (struct stat *)st);
}

EXPORT int __fxstatat(int ver, int dirfd, const char *path, struct stat *st, int flags)
{
	const struct sysfs_node *node;

	if (view_has(dirfd, path, &node))
		return view_stat(node, st);
	return NEXT(__fxstatat)(ver, dirfd, path, st, flags);
}

EXPORT int __fxstatat64(int ver, int dirfd, const char *path, struct stat64 *st, int flags)
{
	const struct sysfs_node *node;

	if (view_has(dirfd, path, &node))
		return view_stat(node, (struct stat *)st);
	return NEXT(__fxstatat64)(ver, dirfd, path, st, flags);
}

static int fill_statx(const struct sysfs_node *node, struct statx *stx)
{
	struct stat st;

	if (view_stat(node, &st))
		return -1;
	memset(stx, 0, sizeof(*stx));
	stx->stx_mask = STATX_BASIC_STATS;
	stx->stx_blksize = st.st_blksize;
	stx->stx_nlink = st.st_nlink;
	stx->stx_mode = st.st_mode;
	stx->stx_ino = st.st_ino;
	stx->stx_size = st.st_size;
	stx->stx_rdev_major = major(st.st_rdev);
	stx->stx_rdev_minor = minor(st.st_rdev);
	stx->stx_dev_major = major(st.st_dev);
	stx->stx_dev_minor = minor(st.st_dev);
	return 0;
}

EXPORT int statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *stx)
{
	const struct sysfs_node *node;

	if (view_has(dirfd, path, &node))
		return fill_statx(node, stx);
	return NEXT(statx)(dirfd, path, flags, mask, stx);
}
