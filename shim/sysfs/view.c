/* SPDX-License-Identifier: BSD-2-Clause */
#include <sysfs/next.h>

#include <sysfs/mode.h>
#include <sysfs/view.h>

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MEMFD_NAME "softverbs:"
#define MEMFD_LINK "/memfd:" MEMFD_NAME

/* Of no real file system, so that (st_dev, st_ino) is nobody else's. */
#define VIEW_ST_DEV makedev(0, 0x5fbe)
#define PAGE 4096

atomic_bool view_has_directories;

static bool active;

static void decide(void)
{
	const struct sv_config *cfg = sv_config();

	active = cfg && cfg->sysfs && vs_mode(NULL) == SV_MODE_EMULATE;
}

static bool view_is_active(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, decide);
	return active;
}

/* Appends path to out without ".", ".." and doubled slashes: the tree has no symbolic links. */
static bool append(char *out, size_t size, const char *path)
{
	size_t len = strlen(out);

	while (*path) {
		size_t part = strcspn(path, "/");

		if (part == 2 && path[0] == '.' && path[1] == '.') {
			while (len && out[--len] != '/')
				;
			out[len] = '\0';
		} else if (part && !(part == 1 && path[0] == '.')) {
			if (len + 1 + part >= size)
				return false;
			out[len++] = '/';
			memcpy(out + len, path, part);
			len += part;
			out[len] = '\0';
		}
		path += part;
		path += *path == '/';
	}
	return true;
}

static bool is_below(const char *path, const char *root)
{
	size_t len = strlen(root);

	return !strncmp(path, root, len) && (!path[len] || path[len] == '/');
}

static bool resolve(int dirfd, const char *path, const struct sysfs_node **node)
{
	char full[PATH_MAX] = "";

	if (!view_is_active())
		return false;
	if (path[0] != '/') {
		const struct sysfs_node *base = view_of_fd(dirfd);

		if (!base)
			return false;
		strcpy(full, base->path);
	}
	if (!append(full, sizeof(full), path))
		return false;
	*node = sysfs_find(full);
	/* Below /dev/infiniband others have their devices too: rdma_cm, umad0. */
	return *node || is_below(full, VIEW_CLASS) || is_below(full, VIEW_CLASS "_verbs");
}

bool view_resolve(int dirfd, const char *path, const struct sysfs_node **node)
{
	int saved = errno;
	bool ours = resolve(dirfd, path, node);

	errno = ours && !*node ? ENOENT : saved;
	return ours;
}

const struct sysfs_node *view_of_fd(int fd)
{
	char link[64], name[64];
	int saved = errno;
	long len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = syscall(SYS_readlinkat, AT_FDCWD, link, name, sizeof(name) - 1);
	errno = saved;
	if (len < 0)
		return NULL;
	name[len] = '\0';
	if (strncmp(name, MEMFD_LINK, sizeof(MEMFD_LINK) - 1))
		return NULL;
	return sysfs_numbered(strtoul(name + sizeof(MEMFD_LINK) - 1, NULL, 10));
}

static int open_memfd(const struct sysfs_node *node, int flags)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), MEMFD_NAME "%u", node->number);
	fd = memfd_create(name, flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
	if (fd < 0)
		return -1;
	if (write(fd, node->data, node->len) != (ssize_t)node->len) {
		close(fd);
		errno = ENOMEM;
		return -1;
	}
	lseek(fd, 0, SEEK_SET);
	return fd;
}

int view_open(const struct sysfs_node *node, int flags)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY;

	if (!node)
		return -1;
	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
		errno = EEXIST;
		return -1;
	}
	if (node->kind != SYSFS_DIR && flags & O_DIRECTORY) {
		errno = ENOTDIR;
		return -1;
	}
	if (node->kind == SYSFS_DEVICE)
		return syscall(SYS_openat, AT_FDCWD, "/dev/null", flags & ~(O_CREAT | O_TRUNC));
	if (writes) {
		errno = node->kind == SYSFS_DIR ? EISDIR : EACCES;
		return -1;
	}
	if (node->kind == SYSFS_DIR)
		view_has_directories = true;
	return open_memfd(node, flags);
}

int view_stat(const struct sysfs_node *node, struct stat *st)
{
	static const mode_t modes[] = {
		[SYSFS_DIR] = S_IFDIR | 0755,
		[SYSFS_FILE] = S_IFREG | 0444,
		[SYSFS_DEVICE] = S_IFCHR | 0666,
	};

	if (!node)
		return -1;
	memset(st, 0, sizeof(*st));
	st->st_dev = VIEW_ST_DEV;
	st->st_ino = node->number;
	st->st_mode = modes[node->kind];
	st->st_nlink = 1;
	st->st_blksize = PAGE;
	if (node->kind == SYSFS_FILE)
		st->st_size = PAGE;
	if (node->kind == SYSFS_DEVICE)
		st->st_rdev = makedev(SYSFS_UVERBS_MAJOR, SYSFS_UVERBS_MINOR);
	return 0;
}
