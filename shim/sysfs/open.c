/* SPDX-License-Identifier: BSD-2-Clause */
/* open(2), openat(2) and fopen(3) of the view, with the names that headers turn them into. */
#include <sysfs/next.h>

#include <sysfs/view.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

EXPORT int __open_2(const char *path, int flags);
EXPORT int __open64_2(const char *path, int flags);
EXPORT int __openat_2(int dirfd, const char *path, int flags);
EXPORT int __openat64_2(int dirfd, const char *path, int flags);

/* The optional argument of open(2), into mode. */
#define READ_MODE(mode, flags)                                                                     \
	do {                                                                                       \
		if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) {                         \
			va_list ap_;                                                               \
			va_start(ap_, flags);                                                      \
			(mode) = va_arg(ap_, mode_t);                                              \
			va_end(ap_);                                                               \
		}                                                                                  \
	} while (0)

EXPORT int open(const char *path, int flags, ...)
{
	const struct sysfs_node *node;
	mode_t mode = 0;

	if (view_has(AT_FDCWD, path, &node))
		return view_open(node, flags);
	READ_MODE(mode, flags);
	return NEXT(open)(path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
	const struct sysfs_node *node;
	mode_t mode = 0;

	if (view_has(AT_FDCWD, path, &node))
		return view_open(node, flags);
	READ_MODE(mode, flags);
	return NEXT(open64)(path, flags, mode);
}

EXPORT int openat(int dirfd, const char *path, int flags, ...)
{
	const struct sysfs_node *node;
	mode_t mode = 0;

	if (view_has(dirfd, path, &node))
		return view_open(node, flags);
	READ_MODE(mode, flags);
	return NEXT(openat)(dirfd, path, flags, mode);
}

EXPORT int openat64(int dirfd, const char *path, int flags, ...)
{
	const struct sysfs_node *node;
	mode_t mode = 0;

	if (view_has(dirfd, path, &node))
		return view_open(node, flags);
	READ_MODE(mode, flags);
	return NEXT(openat64)(dirfd, path, flags, mode);
}

EXPORT int __open_2(const char *path, int flags)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return view_open(node, flags);
	return NEXT(__open_2)(path, flags);
}

EXPORT int __open64_2(const char *path, int flags)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return view_open(node, flags);
	return NEXT(__open64_2)(path, flags);
}

EXPORT int __openat_2(int dirfd, const char *path, int flags)
{
	const struct sysfs_node *node;

	if (view_has(dirfd, path, &node))
		return view_open(node, flags);
	return NEXT(__openat_2)(dirfd, path, flags);
}

EXPORT int __openat64_2(int dirfd, const char *path, int flags)
{
	const struct sysfs_node *node;

	if (view_has(dirfd, path, &node))
		return view_open(node, flags);
	return NEXT(__openat64_2)(dirfd, path, flags);
}

static FILE *open_stream(const struct sysfs_node *node, const char *mode)
{
	bool writes = mode[0] != 'r' || strchr(mode, '+');
	int flags = writes ? O_RDWR : O_RDONLY;
	FILE *stream;
	int fd;

	fd = view_open(node, flags | (strchr(mode, 'e') ? O_CLOEXEC : 0));
	if (fd < 0)
		return NULL;
	stream = fdopen(fd, mode);
	if (!stream)
		close(fd);
	return stream;
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return open_stream(node, mode);
	return NEXT(fopen)(path, mode);
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return open_stream(node, mode);
	return NEXT(fopen64)(path, mode);
}
