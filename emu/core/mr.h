/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection domains and memory regions. A key is index << 8 | kind bit |
 * generation: an lkey is no rkey, and a key of a dead region stays invalid for
 * as long as the generation counts (128 lives of the index).
 */
#ifndef EMU_MR_H
#define EMU_MR_H

#include "dev.h"
#include "fault.h"

struct emu_pd {
	struct emu_dev *dev;
	uint32_t refs; /* objects that live in it */
};

struct emu_mr {
	struct emu_dev *dev;
	struct emu_pd *pd;
	uint64_t addr; /* first byte, as this process sees it */
	uint64_t iova; /* first byte, as work requests name it */
	uint64_t len;
	uint32_t access; /* enum emu_access */
	uint32_t index;
	uint8_t gen; /* 7 bits */
	bool dead; /* keys ended, waiting for inflight */
	uint32_t inflight; /* pieces a wire still reads */
};

/* What an access may be refused for, in the order of checking (IBTA 10.6.3, 9.4.1.1). */
enum emu_mr_verdict {
	EMU_MR_OK,
	EMU_MR_KEY, /* unknown, stale, wrong kind, or another PD's */
	EMU_MR_RIGHT,
	EMU_MR_RANGE,
};

struct emu_access_req {
	uint64_t va;
	uint64_t len;
	uint32_t key;
	uint32_t access; /* rights needed, all of them */
};

/* Local access of a work request's SGE; on EMU_MR_OK *out is the region. */
enum emu_mr_verdict emu_mr_check_local(const struct emu_pd *pd, const struct emu_access_req *req,
				       struct emu_mr **out);
/* The same for a peer's access by rkey. */
enum emu_mr_verdict emu_mr_check_remote(const struct emu_pd *pd, const struct emu_access_req *req,
					struct emu_mr **out);

static inline void *emu_mr_host(const struct emu_mr *mr, uint64_t va)
{
	return (void *)(uintptr_t)(mr->addr + (va - mr->iova));
}

#endif
