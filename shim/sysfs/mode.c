/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Emulator or real device? A real one counts when it has an active port, which
 * the kernel tells in /sys/class/infiniband/<device>/ports/<n>/state. Shim,
 * sysfs view and launcher must agree, also in programs that never load
 * libibverbs, so it is read here and not asked of the real library; and by
 * system call, since open() would show our own view of that directory.
 */
#include <sysfs/mode.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CLASS "/sys/class/infiniband"
#define STATE_ACTIVE '4'

static enum sv_mode mode = SV_MODE_EMULATE;
static char reason[160];

struct entry64 {
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

static int open_raw(int dir, const char *path, int flags)
{
	return syscall(SYS_openat, dir, path, flags | O_RDONLY | O_CLOEXEC);
}

/* Calls found(fd, name) for each entry until one says true. */
static bool any_entry(int fd, bool (*found)(int fd, const char *name))
{
	char buf[2048] __attribute__((aligned(8)));
	long got, at;

	while ((got = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		for (at = 0; at < got;) {
			const struct entry64 *e = (const void *)(buf + at);

			if (e->name[0] != '.' && found(fd, e->name))
				return true;
			at += e->reclen;
		}
	}
	return false;
}

static bool port_is_active(int ports, const char *name)
{
	char path[300], state;
	bool active = false;
	int fd;

	snprintf(path, sizeof(path), "%s/state", name);
	fd = open_raw(ports, path, 0);
	if (fd >= 0) {
		active = read(fd, &state, 1) == 1 && state == STATE_ACTIVE;
		close(fd);
	}
	return active;
}

static bool device_is_active(int class, const char *name)
{
	char path[300];
	bool active;
	int fd;

	snprintf(path, sizeof(path), "%s/ports", name);
	fd = open_raw(class, path, O_DIRECTORY);
	if (fd < 0)
		return false;
	active = any_entry(fd, port_is_active);
	close(fd);
	if (active)
		snprintf(reason, sizeof(reason), "%.64s has an active port", name);
	return active;
}

static bool hardware_is_active(void)
{
	int fd = open_raw(AT_FDCWD, CLASS, O_DIRECTORY);
	bool active;

	if (fd < 0)
		return false;
	active = any_entry(fd, device_is_active);
	close(fd);
	return active;
}

static void decide(void)
{
	const struct sv_config *cfg = sv_config();

	if (!cfg) {
		snprintf(reason, sizeof(reason), "the environment is not understood");
	} else if (cfg->mode != SV_MODE_AUTO) {
		mode = cfg->mode;
		snprintf(reason, sizeof(reason), "SOFTVERBS_MODE says so");
	} else if (hardware_is_active()) {
		mode = SV_MODE_REAL;
	} else {
		snprintf(reason, sizeof(reason), "no RDMA device with an active port here");
	}
}

enum sv_mode vs_mode(const char **why)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, decide);
	if (why)
		*why = reason;
	return mode;
}
