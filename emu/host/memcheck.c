/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is a range of the program's memory mapped? Asked at registration, where
 * hardware pins pages and fails with EFAULT. Reads /proc/self/maps through a
 * small buffer of its own: no stdio, no allocation.
 */
#include <emu/nic.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* One line of maps at a time: "start-end perms ...", of which the rest is skipped. */
struct maps {
	int fd;
	size_t pos, len;
	char buf[4096];
};

static int next_char(struct maps *m)
{
	if (m->pos == m->len) {
		ssize_t n;

		do
			n = read(m->fd, m->buf, sizeof(m->buf));
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			return -1;
		m->pos = 0;
		m->len = (size_t)n;
	}
	return (unsigned char)m->buf[m->pos++];
}

/* A hexadecimal number and the character behind it. */
static int read_hex(struct maps *m, uint64_t *value)
{
	int c;

	*value = 0;
	for (;;) {
		c = next_char(m);
		if (c >= '0' && c <= '9')
			*value = *value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			*value = *value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return c;
	}
}

static bool next_mapping(struct maps *m, uint64_t *start, uint64_t *end, bool *r, bool *w)
{
	int c;

	if (read_hex(m, start) != '-' || read_hex(m, end) != ' ')
		return false;
	*r = next_char(m) == 'r';
	*w = next_char(m) == 'w';
	do
		c = next_char(m);
	while (c >= 0 && c != '\n');
	return true;
}

int nic_mem_check(uint64_t addr, uint64_t len, bool write)
{
	uint64_t at = addr, last = addr + len, start, end;
	struct maps m = { .pos = 0, .len = 0 };
	bool r, w;

	if (!len)
		return 0;
	if (last < addr)
		return -EFAULT;
	m.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (m.fd < 0)
		return 0; /* no /proc: the guard finds out at the first access */
	/* Mappings come in ascending order; each must begin where the last one ended. */
	while (at < last && next_mapping(&m, &start, &end, &r, &w)) {
		if (end <= at)
			continue;
		if (start > at || !r || (write && !w))
			break;
		at = end;
	}
	close(m.fd);
	return at < last ? -EFAULT : 0;
}
