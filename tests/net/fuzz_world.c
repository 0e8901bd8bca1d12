/* SPDX-License-Identifier: BSD-2-Clause */
#include "fuzz_world.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_fail(const struct fuzz *fuzz, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "fuzz: seed %llu, request %llu, %llu ns: ", (unsigned long long)fuzz->seed,
	        (unsigned long long)fuzz->posted, (unsigned long long)sim_now(fuzz->sim));
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nreplay: tests/net/fuzz --seed %llu --ops %llu\n",
	        (unsigned long long)fuzz->seed, (unsigned long long)fuzz->posted + 1000);
	exit(1);
}

void fuzz_check(const struct fuzz *fuzz, bool good, const char *what)
{
	if (!good)
		fuzz_fail(fuzz, "%s", what);
}

unsigned fuzz_roll(struct fuzz *fuzz, unsigned n)
{
	return sim_random(fuzz->sim, n);
}

bool fuzz_chance(struct fuzz *fuzz, unsigned percent)
{
	return fuzz_roll(fuzz, 100) < percent;
}

struct engine *fuzz_engine(struct fuzz *fuzz, const struct end *end)
{
	return &fuzz->engine[end->engine];
}

static void choose_params(struct fuzz *fuzz)
{
	struct sim_params *params = &fuzz->params;

	params->delay_ns = 1 + fuzz_roll(fuzz, 20000);
	if (fuzz_chance(fuzz, 50))
		params->jitter_ns = fuzz_roll(fuzz, 2 * (unsigned)params->delay_ns);
	if (fuzz_chance(fuzz, 70))
		params->loss_ppm = fuzz_roll(fuzz, 30000);
	if (fuzz_chance(fuzz, 50))
		params->dup_ppm = fuzz_roll(fuzz, 100000);
	if (fuzz_chance(fuzz, 50))
		params->reorder_ppm = fuzz_roll(fuzz, 50000);
	if (fuzz_chance(fuzz, 50))
		params->busy_ppm = fuzz_roll(fuzz, 300000);
	if (fuzz_chance(fuzz, 50))
		params->held_ppm = fuzz_roll(fuzz, SIM_PPM);
	params->connect_ns = fuzz_roll(fuzz, 2) * MS;
	sim_set_params(fuzz->sim, params);
}

static void create_engine(struct fuzz *fuzz, unsigned index)
{
	struct engine *engine = &fuzz->engine[index];
	struct region *all = &engine->region[0];
	bool good = arena_init(&engine->arena, ARENA, index + 1) &&
	            sim_add(fuzz->sim, NULL) == (int)index;

	fuzz_check(fuzz, good, "no engine");
	engine->dev = sim_dev(fuzz->sim, index);
	good = emu_pd_alloc(engine->dev, &engine->pd) == 0;
	for (unsigned i = 0; i < CQS; i++)
		good = good && emu_cq_create(engine->dev, 2048, engine, &engine->cq[i]) == 0;
	*all = (struct region){.len = ARENA, .access = ALL_ACCESS};
	good = good && emu_mr_reg(engine->pd, (uintptr_t)engine->arena.real,
	                          (uintptr_t)engine->arena.real, ARENA, ALL_ACCESS, &all->mr) == 0;
	fuzz_check(fuzz, good, "no objects");
}

static void create_end(struct fuzz *fuzz, struct end *end, struct end *peer)
{
	struct engine *engine = fuzz_engine(fuzz, end);
	struct emu_qp_init init = {.type = EMU_QPT_RC,
	                           .cap = {.max_send_wr = MODEL_DEPTH,
	                                   .max_recv_wr = MODEL_DEPTH,
	                                   .max_send_sge = MODEL_SGES,
	                                   .max_recv_sge = MODEL_SGES,
	                                   .max_inline_data = 64},
	                           .user = end};

	end->send_cq = engine->cq[fuzz_roll(fuzz, CQS)];
	end->recv_cq = engine->cq[fuzz_roll(fuzz, CQS)];
	init.send_cq = end->send_cq;
	init.recv_cq = end->recv_cq;
	fuzz_check(fuzz, emu_qp_create(engine->pd, &init, &end->qp) == 0, "no QP");
	end->model.peer = &peer->model;
}

void fuzz_create(struct fuzz *fuzz, uint64_t seed)
{
	memset(fuzz, 0, sizeof(*fuzz));
	fuzz->seed = seed;
	fuzz->params.flavour = seed % 2 ? SIM_LOSSY : SIM_RELIABLE;
	fuzz->params.max_payload = 4096u << (seed / 2 % 5);
	fuzz->sim = sim_create(seed, &fuzz->params);
	if (!fuzz->sim)
		exit(1);
	choose_params(fuzz);
	for (unsigned i = 0; i < ENGINES; i++)
		create_engine(fuzz, i);
	for (unsigned i = 0; i < PAIRS; i++) {
		struct pair *pair = &fuzz->pair[i];

		pair->mtu = 1 + fuzz_roll(fuzz, 5);
		pair->depth = 1 + fuzz_roll(fuzz, 8);
		pair->end[0].engine = fuzz_roll(fuzz, ENGINES);
		pair->end[1].engine = fuzz_roll(fuzz, ENGINES);
		create_end(fuzz, &pair->end[0], &pair->end[1]);
		create_end(fuzz, &pair->end[1], &pair->end[0]);
		fuzz_connect(fuzz, pair);
	}
}

static bool release_region(struct fuzz *fuzz, struct region *region)
{
	int err = -EAGAIN;

	/* A wire that still holds a packet sent twice gives it back in time. */
	for (unsigned i = 0; i < 100000 && err == -EAGAIN; i++) {
		err = emu_mr_dereg(region->mr);
		if (err == -EAGAIN && !sim_step(fuzz->sim, sim_now(fuzz->sim) + SECOND))
			break;
	}
	region->mr = NULL;
	return err == 0;
}

void fuzz_destroy(struct fuzz *fuzz)
{
	for (unsigned i = 0; i < PAIRS; i++) {
		for (unsigned side = 0; side < 2; side++) {
			model_reset(&fuzz->pair[i].end[side].model);
			emu_qp_destroy(fuzz->pair[i].end[side].qp);
		}
	}
	for (unsigned i = 0; i < ENGINES; i++) {
		struct engine *engine = &fuzz->engine[i];

		for (unsigned r = 0; r < REGIONS; r++) {
			if (engine->region[r].mr)
				fuzz_check(fuzz, release_region(fuzz, &engine->region[r]),
				           "a region cannot be given back");
		}
		for (unsigned c = 0; c < CQS; c++)
			fuzz_check(fuzz, emu_cq_destroy(engine->cq[c]) == 0, "a CQ is in use");
		fuzz_check(fuzz, emu_pd_dealloc(engine->pd) == 0, "a PD is in use");
	}
	sim_destroy(fuzz->sim);
	for (unsigned i = 0; i < ENGINES; i++)
		arena_free(&fuzz->engine[i].arena);
}

static uint32_t choose_psn(struct fuzz *fuzz)
{
	return fuzz_chance(fuzz, 30) ? 0xffffff - fuzz_roll(fuzz, 100) : fuzz_roll(fuzz, 1 << 24);
}

static void connect_end(struct fuzz *fuzz, const struct pair *pair, unsigned side,
                        const uint32_t psn[2])
{
	const struct end *end = &pair->end[side], *peer = &pair->end[!side];
	struct emu_qp_attr attr = {
		.qp_state = EMU_QPS_INIT,
		.path_mtu = pair->mtu,
		.access_flags = ALL_ACCESS,
		.sq_psn = psn[side],
		.rq_psn = psn[!side],
		.dest_qp_num = emu_qp_num(peer->qp),
		.max_rd_atomic = pair->depth,
		.max_dest_rd_atomic = pair->depth,
		.min_rnr_timer = 1 + (uint8_t)fuzz_roll(fuzz, 12),
		.port_num = 1,
		.timeout = 10, /* 4 ms */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah = {.is_global = 1, .port_num = 1, .dgid = sim_gid(peer->engine)},
	};
	int err =
		emu_qp_modify(end->qp, &attr,
	                      EMU_QP_STATE | EMU_QP_PKEY_INDEX | EMU_QP_PORT | EMU_QP_ACCESS_FLAGS);

	attr.qp_state = EMU_QPS_RTR;
	err = err ? err
	          : emu_qp_modify(end->qp, &attr,
	                          EMU_QP_STATE | EMU_QP_AV | EMU_QP_PATH_MTU | EMU_QP_DEST_QPN |
	                                  EMU_QP_RQ_PSN | EMU_QP_MAX_DEST_RD_ATOMIC |
	                                  EMU_QP_MIN_RNR_TIMER);
	attr.qp_state = EMU_QPS_RTS;
	err = err ? err
	          : emu_qp_modify(end->qp, &attr,
	                          EMU_QP_STATE | EMU_QP_TIMEOUT | EMU_QP_RETRY_CNT |
	                                  EMU_QP_RNR_RETRY | EMU_QP_SQ_PSN |
	                                  EMU_QP_MAX_QP_RD_ATOMIC);
	fuzz_check(fuzz, err == 0, "a QP cannot be connected");
}

void fuzz_connect(struct fuzz *fuzz, struct pair *pair)
{
	const uint32_t psn[2] = {choose_psn(fuzz), choose_psn(fuzz)};

	connect_end(fuzz, pair, 0, psn);
	connect_end(fuzz, pair, 1, psn);
}

void fuzz_regions(struct fuzz *fuzz)
{
	struct engine *engine = &fuzz->engine[fuzz_roll(fuzz, ENGINES)];
	struct region *region = &engine->region[1 + fuzz_roll(fuzz, REGIONS - 1)];
	uint64_t addr;

	if (region->mr && region->users)
		return;
	if (region->mr) {
		engine->stale_rkey = emu_mr_rkey(region->mr);
		fuzz_check(fuzz, release_region(fuzz, region), "a region cannot be given back");
		return;
	}
	region->at = fuzz_roll(fuzz, ARENA - 1);
	region->len = 1 + fuzz_roll(fuzz, ARENA - (unsigned)region->at);
	region->access = EMU_ACCESS_LOCAL_WRITE | (fuzz_roll(fuzz, 8) << 1);
	if (fuzz_chance(fuzz, 20))
		region->access = EMU_ACCESS_REMOTE_READ;
	addr = (uintptr_t)engine->arena.real + region->at;
	fuzz_check(fuzz,
	           emu_mr_reg(engine->pd, addr, addr, region->len, region->access, &region->mr) ==
	                   0,
	           "no region");
}

static bool covers(const struct region *region, const struct range *range, uint32_t access)
{
	return region->mr && (region->access & access) == access && region->at <= range->at &&
	       range->at + range->len <= region->at + region->len;
}

struct region *fuzz_find_region(struct fuzz *fuzz, const struct range *range, uint32_t access)
{
	struct engine *engine = NULL;
	struct region *region;
	unsigned first = fuzz_roll(fuzz, REGIONS);

	for (unsigned i = 0; i < ENGINES; i++) {
		if (range->arena == &fuzz->engine[i].arena)
			engine = &fuzz->engine[i];
	}
	/* The first region always does. */
	for (unsigned i = 0;; i++) {
		region = &engine->region[(first + i) % REGIONS];
		if (covers(region, range, access))
			break;
	}
	region->users++;
	return region;
}
