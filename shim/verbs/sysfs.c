/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libibverbs offers its providers and its own tools: reading attributes of
 * the device, here out of the view of /sys, and registration of a driver.
 */
#include <abi/emulated.h>

#include <sysfs/tree.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void vs_register_driver(const char *name, void *init_func)
{
}

const char *vs_get_sysfs_path(void)
{
	return "/sys";
}

static ssize_t read_file(const char *path, char *buf, size_t size)
{
	const struct sysfs_node *node = sysfs_find(path);
	ssize_t len;
	int fd;

	if (node) {
		if (node->kind != SYSFS_FILE)
			return -1;
		len = node->len < size ? node->len : size;
		memcpy(buf, node->data, len);
		return len;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	len = read(fd, buf, size);
	close(fd);
	return len;
}

/* The file's length without its last newline, or -1; buf is terminated if there is room. */
int vs_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[512];
	ssize_t len;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path))
		return -1;
	len = read_file(path, buf, size);
	if (len <= 0)
		return len;
	if (buf[len - 1] == '\n')
		buf[--len] = '\0';
	else if ((size_t)len < size)
		buf[len] = '\0';
	return len;
}
