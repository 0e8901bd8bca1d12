/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_fork_init and its relatives. The emulated device never hands a page to
 * hardware behind the kernel's back, so copy-on-write does no harm: fork() is
 * always safe for the parent, and nothing has to be marked.
 */
#include <abi/emulated.h>

int vs_fork_init(void)
{
	return 0;
}

enum ibv_fork_status vs_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

int vs_dontfork_range(void *base, size_t size)
{
	return 0;
}

int vs_dofork_range(void *base, size_t size)
{
	return 0;
}
