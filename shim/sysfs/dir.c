/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading directories of the view: opendir(3) and what takes its result, and
 * scandir(3) and glob(3), which libc would do without calling opendir by name.
 *
 * A DIR of ours is a struct view_dir. readdir() must tell it from libc's, so the
 * open ones are kept in a small table; while it is empty that costs one load.
 */
#include <sysfs/next.h>

#include <sysfs/view.h>

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64),
               "one layout, as on 64-bit systems");

#define MAX_OPEN 256

struct view_dir {
	int fd;
	const struct sysfs_node *dir;
	size_t at; /* of sysfs_next */
	long pos;  /* entries returned, "." and ".." included */
	struct dirent entry;
};

static _Atomic(struct view_dir *) open_dirs[MAX_OPEN];
static atomic_uint open_count;

static bool is_ours(const void *stream)
{
	if (!atomic_load(&open_count))
		return false;
	for (unsigned i = 0; i < MAX_OPEN; i++)
		if (atomic_load(&open_dirs[i]) == stream)
			return true;
	return false;
}

static bool enter(struct view_dir *d)
{
	for (unsigned i = 0; i < MAX_OPEN; i++) {
		struct view_dir *none = NULL;

		if (atomic_compare_exchange_strong(&open_dirs[i], &none, d)) {
			atomic_fetch_add(&open_count, 1);
			return true;
		}
	}
	return false;
}

static void leave(struct view_dir *d)
{
	for (unsigned i = 0; i < MAX_OPEN; i++) {
		struct view_dir *mine = d;

		if (atomic_compare_exchange_strong(&open_dirs[i], &mine, NULL)) {
			atomic_fetch_sub(&open_count, 1);
			return;
		}
	}
}

/* Takes fd over when it succeeds. */
static DIR *start(const struct sysfs_node *node, int fd)
{
	struct view_dir *d = calloc(1, sizeof(*d));

	if (d) {
		d->fd = fd;
		d->dir = node;
		if (enter(d))
			return (DIR *)d;
		free(d);
	}
	errno = ENOMEM;
	return NULL;
}

static struct dirent *fill_entry(struct dirent *entry, const struct sysfs_node *node,
                                 const char *name)
{
	static const unsigned char types[] = {
		[SYSFS_DIR] = DT_DIR,
		[SYSFS_FILE] = DT_REG,
		[SYSFS_DEVICE] = DT_CHR,
	};

	memset(entry, 0, offsetof(struct dirent, d_name));
	entry->d_ino = node->number;
	entry->d_type = types[node->kind];
	entry->d_reclen = sizeof(*entry);
	strncpy(entry->d_name, name, sizeof(entry->d_name) - 1);
	entry->d_name[sizeof(entry->d_name) - 1] = '\0';
	return entry;
}

static struct dirent *next_entry(struct view_dir *d)
{
	static const char *const dots[] = {".", ".."};
	const struct sysfs_node *node;

	if (d->pos < 2) {
		fill_entry(&d->entry, d->dir, dots[d->pos]);
	} else {
		node = sysfs_next(d->dir, &d->at);
		if (!node)
			return NULL;
		fill_entry(&d->entry, node, node->name);
	}
	d->entry.d_off = ++d->pos;
	return &d->entry;
}

static void rewind_to(struct view_dir *d, long pos)
{
	d->at = 0;
	d->pos = 0;
	while (d->pos < pos && next_entry(d))
		;
}

static DIR *open_node(const struct sysfs_node *node)
{
	int fd = view_open(node, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream;

	if (fd < 0)
		return NULL;
	stream = start(node, fd);
	if (!stream)
		close(fd);
	return stream;
}

EXPORT DIR *opendir(const char *path)
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return open_node(node);
	return NEXT(opendir)(path);
}

EXPORT DIR *fdopendir(int fd)
{
	const struct sysfs_node *node = view_has_directories ? view_of_fd(fd) : NULL;

	if (node && node->kind == SYSFS_DIR)
		return start(node, fd);
	return NEXT(fdopendir)(fd);
}

EXPORT struct dirent *readdir(DIR *stream)
{
	if (is_ours(stream))
		return next_entry((struct view_dir *)stream);
	return NEXT(readdir)(stream);
}

EXPORT struct dirent64 *readdir64(DIR *stream)
{
	if (is_ours(stream))
		return (struct dirent64 *)next_entry((struct view_dir *)stream);
	return NEXT(readdir64)(stream);
}

EXPORT void rewinddir(DIR *stream)
{
	if (is_ours(stream))
		rewind_to((struct view_dir *)stream, 0);
	else
		NEXT(rewinddir)(stream);
}

EXPORT void seekdir(DIR *stream, long pos)
{
	if (is_ours(stream))
		rewind_to((struct view_dir *)stream, pos);
	else
		NEXT(seekdir)(stream, pos);
}

EXPORT long telldir(DIR *stream)
{
	if (is_ours(stream))
		return ((struct view_dir *)stream)->pos;
	return NEXT(telldir)(stream);
}

EXPORT int dirfd(DIR *stream)
{
	if (is_ours(stream))
		return ((struct view_dir *)stream)->fd;
	return NEXT(dirfd)(stream);
}

EXPORT int closedir(DIR *stream)
{
	struct view_dir *d = (struct view_dir *)stream;
	int rc;

	if (!is_ours(stream))
		return NEXT(closedir)(stream);
	leave(d);
	rc = close(d->fd);
	free(d);
	return rc;
}

static void free_list(struct dirent **list, int count)
{
	while (count)
		free(list[--count]);
	free(list);
}

static int scan_node(const struct sysfs_node *node, struct dirent ***out,
                     int (*filter)(const struct dirent *))
{
	struct view_dir d = {.dir = node};
	struct dirent **list = NULL, *entry;
	int count = 0;

	while ((entry = next_entry(&d))) {
		struct dirent **more, *copy;

		if (filter && !filter(entry))
			continue;
		copy = malloc(sizeof(*copy));
		more = realloc(list, (count + 1) * sizeof(*list));
		if (more)
			list = more;
		if (!more || !copy) {
			free(copy);
			free_list(list, count);
			errno = ENOMEM;
			return -1;
		}
		*copy = *entry;
		list[count++] = copy;
	}
	*out = list;
	return count;
}

static int scan(const struct sysfs_node *node, struct dirent ***out,
                int (*filter)(const struct dirent *),
                int (*compare)(const struct dirent **, const struct dirent **))
{
	int count;

	if (!node)
		return -1;
	if (node->kind != SYSFS_DIR) {
		errno = ENOTDIR;
		return -1;
	}
	count = scan_node(node, out, filter);
	if (count > 1 && compare)
		qsort(*out, count, sizeof(**out), (int (*)(const void *, const void *))compare);
	return count;
}

EXPORT int scandir(const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
                   int (*compare)(const struct dirent **, const struct dirent **))
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return scan(node, list, filter, compare);
	return NEXT(scandir)(path, list, filter, compare);
}

EXPORT int scandir64(const char *path, struct dirent64 ***list,
                     int (*filter)(const struct dirent64 *),
                     int (*compare)(const struct dirent64 **, const struct dirent64 **))
{
	const struct sysfs_node *node;

	if (view_has(AT_FDCWD, path, &node))
		return scan(node, (struct dirent ***)list, (int (*)(const struct dirent *))filter,
		            (int (*)(const struct dirent **, const struct dirent **))compare);
	return NEXT(scandir64)(path, list, filter, compare);
}

static bool is_view_pattern(const char *pattern)
{
	return !strncmp(pattern, VIEW_CLASS, sizeof(VIEW_CLASS) - 1) ||
	       !strncmp(pattern, VIEW_DEV, sizeof(VIEW_DEV) - 1);
}

static void *glob_opendir(const char *path)
{
	return opendir(path);
}

static struct dirent *glob_readdir(void *stream)
{
	return readdir(stream);
}

static struct dirent64 *glob_readdir64(void *stream)
{
	return readdir64(stream);
}

static void glob_closedir(void *stream)
{
	closedir(stream);
}

EXPORT int glob(const char *pattern, int flags, int (*on_error)(const char *, int), glob_t *out)
{
	if (is_view_pattern(pattern) && !(flags & GLOB_ALTDIRFUNC)) {
		out->gl_opendir = glob_opendir;
		out->gl_readdir = glob_readdir;
		out->gl_closedir = glob_closedir;
		out->gl_lstat = lstat;
		out->gl_stat = stat;
		flags |= GLOB_ALTDIRFUNC;
	}
	return NEXT(glob)(pattern, flags, on_error, out);
}

EXPORT int glob64(const char *pattern, int flags, int (*on_error)(const char *, int), glob64_t *out)
{
	if (is_view_pattern(pattern) && !(flags & GLOB_ALTDIRFUNC)) {
		out->gl_opendir = glob_opendir;
		out->gl_readdir = glob_readdir64;
		out->gl_closedir = glob_closedir;
		out->gl_lstat = lstat64;
		out->gl_stat = stat64;
		flags |= GLOB_ALTDIRFUNC;
	}
	return NEXT(glob64)(pattern, flags, on_error, out);
}
