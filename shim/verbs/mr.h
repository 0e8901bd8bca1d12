/* SPDX-License-Identifier: BSD-2-Clause */
/* A memory region behind its ibv_mr. */
#ifndef VS_MR_H
#define VS_MR_H

#include <emu/emu.h>

#include <infiniband/verbs.h>

struct vs_mr {
	struct ibv_mr mr;
	struct emu_mr *emu;
	uint64_t iova;
	unsigned int access;
};

static inline struct vs_mr *vs_mr(const struct ibv_mr *mr)
{
	return (struct vs_mr *)(uintptr_t)mr;
}

/* For ibv_close_device: free an MR that is already out of the registry. */
void vs_mr_release(struct ibv_mr *mr);

#endif
