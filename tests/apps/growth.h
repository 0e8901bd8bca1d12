/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GROWTH_H
#define GROWTH_H

/* What a process uses. */
struct growth {
	long bytes; /* resident memory */
	int files; /* open descriptors */
};

struct growth growth_now(void);
/*
 * Prints what has become more, and ends the process if it is descriptors, or
 * memory by more than bound bytes.
 */
void growth_check(const char *who, const struct growth *before, long bound);

#endif
