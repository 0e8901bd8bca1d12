/* SPDX-License-Identifier: BSD-2-Clause */
/* The world that the fuzz plays in: engines, regions, pairs of queue pairs; all chosen by the seed.
 */
#ifndef TESTS_NET_FUZZ_WORLD_H
#define TESTS_NET_FUZZ_WORLD_H

#include "model.h"
#include "wire_sim.h"

#define ENGINES 3
#define PAIRS 5
#define CQS 2
#define REGIONS 12
#define ARENA (1024u << 10)
#define WORDS 16 /* the first 8-byte words of an arena are for atomics only */
#define ALL_ACCESS                                                                                 \
	(EMU_ACCESS_LOCAL_WRITE | EMU_ACCESS_REMOTE_WRITE | EMU_ACCESS_REMOTE_READ |               \
	 EMU_ACCESS_REMOTE_ATOMIC)
#define US 1000ull
#define MS 1000000ull
#define SECOND 1000000000ull

struct region {
	struct emu_mr *mr; /* NULL: free */
	size_t at, len;
	uint32_t access;
	unsigned users; /* requests that name it */
};

struct engine {
	struct arena arena;
	struct emu_dev *dev;
	struct emu_pd *pd;
	struct emu_cq *cq[CQS];
	struct region region[REGIONS]; /* the first is all of the arena, for ever */
	uint32_t stale_rkey;
};

struct end {
	struct model_qp model;
	struct emu_qp *qp;
	struct emu_cq *send_cq, *recv_cq;
	unsigned engine;
	unsigned unsignaled; /* in a row */
};

struct pair {
	struct end end[2];
	uint32_t mtu;  /* enum ibv_mtu */
	uint8_t depth; /* READs and atomics in flight */
};

struct fuzz {
	uint64_t seed;
	struct sim *sim;
	struct sim_params params;
	struct engine engine[ENGINES];
	struct pair pair[PAIRS];
	uint64_t next_id;
	uint64_t posted, completed, faults, resets, chaos;
};

/* Prints what went wrong and how to see it again; ends the process. */
void fuzz_fail(const struct fuzz *fuzz, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));
/* fuzz_fail, unless good. */
void fuzz_check(const struct fuzz *fuzz, bool good, const char *what);
/* A random number below n. */
unsigned fuzz_roll(struct fuzz *fuzz, unsigned n);
bool fuzz_chance(struct fuzz *fuzz, unsigned percent);

void fuzz_create(struct fuzz *fuzz, uint64_t seed);
void fuzz_destroy(struct fuzz *fuzz);
/* From RESET to RTS, with new PSNs. */
void fuzz_connect(struct fuzz *fuzz, struct pair *pair);
/* One random registration or deregistration. */
void fuzz_regions(struct fuzz *fuzz);
/* A region that covers the range with these rights; counts a user. */
struct region *fuzz_find_region(struct fuzz *fuzz, const struct range *range, uint32_t access);
struct engine *fuzz_engine(struct fuzz *fuzz, const struct end *end);

#endif
