/* SPDX-License-Identifier: BSD-2-Clause */
/* An address handle behind its ibv_ah. */
#ifndef VS_AH_H
#define VS_AH_H

#include <emu/emu.h>

#include <infiniband/verbs.h>

struct vs_ah {
	struct ibv_ah ah;
	struct emu_ah *emu;
};

static inline struct vs_ah *vs_ah(const struct ibv_ah *ah)
{
	return (struct vs_ah *)(uintptr_t)ah;
}

/* For ibv_close_device: free an AH that is already out of the registry. */
void vs_ah_release(struct ibv_ah *ah);

#endif
