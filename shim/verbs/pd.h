/* SPDX-License-Identifier: BSD-2-Clause */
/* A protection domain behind its ibv_pd. */
#ifndef VS_PD_H
#define VS_PD_H

#include <emu/emu.h>

#include <infiniband/verbs.h>

struct vs_pd {
	struct ibv_pd pd;
	struct emu_pd *emu;
};

static inline struct vs_pd *vs_pd(const struct ibv_pd *pd)
{
	return (struct vs_pd *)(uintptr_t)pd;
}

/* For ibv_close_device: free a PD that is already out of the registry and empty. */
void vs_pd_release(struct ibv_pd *pd);

#endif
