/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages to the user: one write(2) per line, so that lines of threads and
 * processes do not mix, and no stdio, whose locks belong to the program.
 */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static atomic_int level_now = SV_LOG_WARN;

void sv_log_set_level(enum sv_log_level level)
{
	atomic_store_explicit(&level_now, (int)level, memory_order_relaxed);
}

void sv_log(enum sv_log_level level, const char *fmt, ...)
{
	static const char prefix[] = "softverbs: ";
	int saved = errno;
	char line[1024];
	size_t room = sizeof(line) - sizeof(prefix), len;
	va_list ap;
	int n;

	if ((int)level > atomic_load_explicit(&level_now, memory_order_relaxed))
		return;
	memcpy(line, prefix, sizeof(prefix) - 1);
	va_start(ap, fmt);
	n = vsnprintf(line + sizeof(prefix) - 1, room, fmt, ap);
	va_end(ap);
	if (n >= 0) {
		len = (size_t)n < room ? (size_t)n : room - 1;
		len += sizeof(prefix) - 1;
		line[len++] = '\n';
		while (write(STDERR_FILENO, line, len) < 0 && errno == EINTR)
			;
	}
	errno = saved;
}
