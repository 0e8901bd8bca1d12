/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guarded memory access of struct emu_env, with ranges that a test has
 * declared unmapped. They are global: these functions are told no world.
 */
#include "sim_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNMAPPED_MAX 16

static struct {
	uint64_t from, to;
} unmapped[UNMAPPED_MAX];
static unsigned unmapped_count;

static bool mapped(const void *addr, size_t len)
{
	uint64_t from = (uintptr_t)addr, to = from + len;

	for (unsigned i = 0; len && i < unmapped_count; i++) {
		if (from < unmapped[i].to && unmapped[i].from < to)
			return false;
	}
	return true;
}

int sim_guarded_copy(void *dst, const void *src, size_t len)
{
	if (!mapped(dst, len) || !mapped(src, len))
		return -EFAULT;
	if (len)
		memcpy(dst, src, len);
	return 0;
}

int sim_guarded_touch(const void *src, size_t len)
{
	return mapped(src, len) ? 0 : -EFAULT;
}

int sim_guarded_cas64(void *addr, uint64_t compare, uint64_t swap, uint64_t *old)
{
	if (!mapped(addr, sizeof(uint64_t)))
		return -EFAULT;
	memcpy(old, addr, sizeof(*old));
	if (*old == compare)
		memcpy(addr, &swap, sizeof(swap));
	return 0;
}

int sim_guarded_faa64(void *addr, uint64_t add, uint64_t *old)
{
	uint64_t sum;

	if (!mapped(addr, sizeof(uint64_t)))
		return -EFAULT;
	memcpy(old, addr, sizeof(*old));
	sum = *old + add;
	memcpy(addr, &sum, sizeof(sum));
	return 0;
}

void sim_unmap(const void *addr, size_t len)
{
	if (unmapped_count == UNMAPPED_MAX) {
		fputs("wire_sim: too many unmapped ranges\n", stderr);
		abort();
	}
	unmapped[unmapped_count].from = (uintptr_t)addr;
	unmapped[unmapped_count++].to = (uintptr_t)addr + len;
}

void sim_map_all(void)
{
	unmapped_count = 0;
}
