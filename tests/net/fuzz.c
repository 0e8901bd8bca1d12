/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random requests on random wires against the model: every completion must be
 * one that the model allows, every byte where the model has it.
 *
 * fuzz [--seed N] [--ops N]: one run; without arguments some short ones. A run
 * depends on its seed only, and a failure says how to see it again.
 */
#include "fuzz_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEN 40000u
#define UNMATCHED_LEN 1500u     /* of a message whose receive must still find room */
#define PATIENCE (200 * SECOND) /* virtual; no wait of a healthy run comes near */

/* ---- completions --------------------------------------------------------------- */

static struct end *find_end(struct fuzz *fuzz, const struct emu_cq *cq, uint32_t qpn)
{
	for (unsigned i = 0; i < PAIRS; i++) {
		for (unsigned side = 0; side < 2; side++) {
			struct end *end = &fuzz->pair[i].end[side];

			if (emu_qp_num(end->qp) == qpn &&
			    (cq == end->send_cq || cq == end->recv_cq))
				return end;
		}
	}
	return NULL;
}

/* Odd ids are receives: an error completion has no valid opcode to tell. */
static void take(struct fuzz *fuzz, struct emu_cq *cq, const struct emu_wc *wc)
{
	struct end *end = find_end(fuzz, cq, wc->qp_num);
	bool recv = wc->wr_id & 1;

	if (!end || cq != (recv ? end->recv_cq : end->send_cq))
		fuzz_fail(fuzz, "completion of QP 0x%x on a CQ that is not its own", wc->qp_num);
	if (!(recv ? model_complete_recv : model_complete_send)(&end->model, wc))
		fuzz_fail(fuzz, "QP 0x%x: %s", wc->qp_num, model_complaint);
	fuzz->completed++;
}

static void poll_all(struct fuzz *fuzz)
{
	struct sim_event event;
	struct emu_wc wc[7];

	for (unsigned i = 0; i < ENGINES; i++) {
		for (unsigned c = 0; c < CQS; c++) {
			struct emu_cq *cq = fuzz->engine[i].cq[c];
			int n;

			while ((n = emu_cq_poll(cq, 7, wc)) > 0) {
				for (int k = 0; k < n; k++)
					take(fuzz, cq, &wc[k]);
			}
			fuzz_check(fuzz, n == 0, "emu_cq_poll failed");
		}
		while (sim_take_async(fuzz->sim, i, &event))
			fuzz_check(fuzz, event.type != EMU_EVENT_CQ_ERR, "a CQ overflowed");
	}
}

/* Lets the world run for so long, and looks at what came. */
static void pump(struct fuzz *fuzz, uint64_t ns)
{
	sim_run_until(fuzz->sim, sim_now(fuzz->sim) + ns);
	poll_all(fuzz);
}

/* ---- making requests --------------------------------------------------------------- */

static uint32_t choose_len(struct fuzz *fuzz, const struct pair *pair)
{
	uint32_t mtu = 128u << pair->mtu;

	switch (fuzz_roll(fuzz, 8)) {
	case 0:
		return 0;
	case 1:
		return 1 + fuzz_roll(fuzz, 64);
	case 2:
		return mtu * (1 + fuzz_roll(fuzz, 4)) + fuzz_roll(fuzz, 3) - 1;
	case 3:
		return fuzz_roll(fuzz, MAX_LEN);
	default:
		return fuzz_roll(fuzz, 4 * mtu);
	}
}

/* Would one write what the other uses, seen by granules as the locks see it? */
static bool clash(const struct range *a, const struct range *b)
{
	return a->arena == b->arena && (a->write || b->write) && a->len && b->len &&
	       a->at / GRANULE <= (b->at + b->len - 1) / GRANULE &&
	       b->at / GRANULE <= (a->at + a->len - 1) / GRANULE;
}

/* A free range that does not clash with other. */
static bool choose_range(struct fuzz *fuzz, struct range *range, const struct range *other)
{
	size_t low = WORDS * 8, room = ARENA - low - range->len;

	for (unsigned i = 0; i < 8; i++) {
		range->at = low + fuzz_roll(fuzz, (unsigned)room);
		if (range_free(range) && !(other && clash(range, other)))
			return true;
	}
	/* A crowded arena: from one end to the other. */
	for (range->at = low; range->at < low + room; range->at += GRANULE) {
		if (range_free(range) && !(other && clash(range, other)))
			return true;
	}
	return false;
}

/* Cuts the local range into SGEs, each with a region of its own. */
static void cut(struct fuzz *fuzz, struct model_op *op, uint32_t access)
{
	size_t at = op->local.at, left = op->local.len;
	bool backwards = fuzz_chance(fuzz, 30);

	op->num_sge = 1 + fuzz_roll(fuzz, MODEL_SGES);
	for (unsigned i = 0; i < op->num_sge; i++) {
		size_t len = i + 1 == op->num_sge ? left : fuzz_roll(fuzz, (unsigned)left + 1);
		struct range piece = {op->local.arena, at, len, op->local.write};
		struct region *region = fuzz_find_region(fuzz, &piece, access);
		unsigned place = backwards ? op->num_sge - 1 - i : i;

		op->users[i] = &region->users;
		op->sge[place] = (struct emu_sge){.addr = (uintptr_t)piece.arena->real + at,
		                                  .length = (uint32_t)len,
		                                  .lkey = emu_mr_lkey(region->mr)};
		at += len;
		left -= len;
	}
}

static struct model_op *new_op(struct fuzz *fuzz, unsigned opcode)
{
	struct model_op *op = calloc(1, sizeof(*op));

	fuzz_check(fuzz, op, "no memory");
	op->opcode = opcode;
	op->id = fuzz->next_id += 2;
	if (opcode == MODEL_RECV)
		op->id++;
	op->imm = fuzz_roll(fuzz, UINT32_MAX);
	return op;
}

static void post_recv(struct fuzz *fuzz, struct pair *pair, unsigned side)
{
	struct end *end = &pair->end[side];
	struct model_qp *peer = &pair->end[!side].model;
	struct model_op *op;
	struct emu_recv_wr wr;

	if (end->model.rq.slots == MODEL_DEPTH) {
		wr = (struct emu_recv_wr){0};
		fuzz_check(fuzz, emu_post_recv(end->qp, &wr) == -ENOMEM, "full RQ took a receive");
		return;
	}
	op = new_op(fuzz, MODEL_RECV);
	op->local = (struct range){&fuzz_engine(fuzz, end)->arena, 0, choose_len(fuzz, pair), true};
	if (peer->waiting_count && peer->waiting[0]->len > op->local.len)
		op->local.len = peer->waiting[0]->len;
	if (!choose_range(fuzz, &op->local, NULL)) {
		free(op);
		return;
	}
	op->len = (uint32_t)op->local.len;
	cut(fuzz, op, EMU_ACCESS_LOCAL_WRITE);
	wr = (struct emu_recv_wr){op->id, op->sge, op->num_sge};
	fuzz_check(fuzz, emu_post_recv(end->qp, &wr) == 0, "emu_post_recv failed");
	emu_qp_ring(end->qp);
	model_post(&end->model, op);
	fuzz->posted++;
}

static unsigned choose_opcode(struct fuzz *fuzz)
{
	static const unsigned bag[] = {
		EMU_WR_SEND,
		EMU_WR_SEND,
		EMU_WR_SEND_WITH_IMM,
		EMU_WR_RDMA_WRITE,
		EMU_WR_RDMA_WRITE,
		EMU_WR_RDMA_WRITE_WITH_IMM,
		EMU_WR_RDMA_READ,
		EMU_WR_RDMA_READ,
		EMU_WR_ATOMIC_CMP_AND_SWP,
		EMU_WR_ATOMIC_FETCH_AND_ADD,
	};

	return bag[fuzz_roll(fuzz, sizeof(bag) / sizeof(bag[0]))];
}

/* A word that no other QP has an atomic on: then its value is known. */
static bool choose_word(struct fuzz *fuzz, struct end *end, struct range *word)
{
	word->at = 8 * fuzz_roll(fuzz, WORDS);
	word->len = 8;
	for (unsigned i = 0; i < PAIRS; i++) {
		for (unsigned side = 0; side < 2; side++) {
			struct end *other = &fuzz->pair[i].end[side];

			if (other != end && model_uses_word(&other->model, word->arena, word->at))
				return false;
		}
	}
	return true;
}

static void plan_atomic(struct fuzz *fuzz, struct model_op *op, struct emu_send_wr *wr)
{
	uint64_t old;

	memcpy(&old, op->remote.arena->image + op->remote.at, 8);
	wr->compare_add = fuzz_chance(fuzz, 50) ? old : fuzz_roll(fuzz, 1000);
	wr->swap = fuzz_roll(fuzz, UINT32_MAX);
	if (op->opcode == EMU_WR_ATOMIC_FETCH_AND_ADD)
		op->word_after = old + wr->compare_add;
	else
		op->word_after = old == wr->compare_add ? wr->swap : old;
}

static uint32_t remote_access(unsigned opcode)
{
	static const uint32_t access[EMU_WR_COUNT] = {
		[EMU_WR_RDMA_WRITE] = EMU_ACCESS_REMOTE_WRITE,
		[EMU_WR_RDMA_WRITE_WITH_IMM] = EMU_ACCESS_REMOTE_WRITE,
		[EMU_WR_RDMA_READ] = EMU_ACCESS_REMOTE_READ,
		[EMU_WR_ATOMIC_CMP_AND_SWP] = EMU_ACCESS_REMOTE_ATOMIC,
		[EMU_WR_ATOMIC_FETCH_AND_ADD] = EMU_ACCESS_REMOTE_ATOMIC,
	};

	return access[opcode];
}

/* Where op reads and writes; false: no room now. */
static bool choose_places(struct fuzz *fuzz, struct pair *pair, struct end *end,
                          struct model_op *op)
{
	struct end *peer = end == &pair->end[0] ? &pair->end[1] : &pair->end[0];
	uint32_t bound = model_next_recv(&end->model);
	bool send = op->opcode == EMU_WR_SEND || op->opcode == EMU_WR_SEND_WITH_IMM;
	bool read = op->opcode == EMU_WR_RDMA_READ;

	op->word = op->opcode == EMU_WR_ATOMIC_CMP_AND_SWP ||
	           op->opcode == EMU_WR_ATOMIC_FETCH_AND_ADD;
	op->len = op->word ? 8 : choose_len(fuzz, pair);
	if (send && op->len > bound)
		op->len = bound;
	if (send && bound == UINT32_MAX && op->len > UNMATCHED_LEN)
		op->len %= UNMATCHED_LEN;
	op->local = (struct range){&fuzz_engine(fuzz, end)->arena, 0, op->len, read || op->word};
	if (!choose_range(fuzz, &op->local, NULL))
		return false;
	if (send)
		return true;
	op->remote = (struct range){&fuzz_engine(fuzz, peer)->arena, 0, op->len, !read};
	return op->word ? choose_word(fuzz, end, &op->remote)
	                : choose_range(fuzz, &op->remote, &op->local);
}

static uint32_t choose_flags(struct fuzz *fuzz, struct end *end, const struct model_op *op)
{
	uint32_t flags = 0;
	bool may_inline = !op->local.write && op->len <= 64;

	/* Not too many in a row: the queue would fill up for ever. */
	if (end->unsignaled >= 8 || end->model.sq.slots >= MODEL_DEPTH - 2 || fuzz_chance(fuzz, 60))
		flags |= EMU_SEND_SIGNALED;
	end->unsignaled = flags ? 0 : end->unsignaled + 1;
	if (fuzz_chance(fuzz, 10))
		flags |= EMU_SEND_FENCE;
	if (fuzz_chance(fuzz, 20))
		flags |= EMU_SEND_SOLICITED;
	if (may_inline && fuzz_chance(fuzz, 30))
		flags |= EMU_SEND_INLINE;
	return flags;
}

static void hand_over(struct fuzz *fuzz, struct end *end, struct model_op *op,
                      struct emu_send_wr *wr)
{
	wr->wr_id = op->id;
	wr->opcode = op->opcode;
	wr->sg_list = op->sge;
	wr->num_sge = op->num_sge;
	wr->imm_data = op->imm;
	op->signaled = wr->flags & EMU_SEND_SIGNALED;
	fuzz_check(fuzz, emu_post_send(end->qp, wr) == 0, "emu_post_send failed");
	if (fuzz_chance(fuzz, 80))
		emu_qp_ring(end->qp);
	model_post(&end->model, op);
	fuzz->posted++;
}

static bool full(struct fuzz *fuzz, struct end *end)
{
	struct emu_send_wr wr = {.opcode = EMU_WR_RDMA_WRITE};

	if (end->model.sq.slots < MODEL_DEPTH)
		return false;
	fuzz_check(fuzz, emu_post_send(end->qp, &wr) == -ENOMEM, "full SQ took a request");
	return true;
}

static void post_send(struct fuzz *fuzz, struct pair *pair, unsigned side)
{
	struct end *end = &pair->end[side];
	struct emu_send_wr wr = {0};
	struct model_op *op;
	struct region *region;

	if (full(fuzz, end))
		return;
	op = new_op(fuzz, choose_opcode(fuzz));
	if (!choose_places(fuzz, pair, end, op)) {
		free(op);
		return;
	}
	cut(fuzz, op, op->local.write ? EMU_ACCESS_LOCAL_WRITE : 0);
	wr.flags = choose_flags(fuzz, end, op);
	if (op->remote.arena) {
		region = fuzz_find_region(fuzz, &op->remote, remote_access(op->opcode));
		op->users[MODEL_SGES] = &region->users;
		wr.remote_addr = (uintptr_t)op->remote.arena->real + op->remote.at;
		wr.rkey = emu_mr_rkey(region->mr);
	}
	if (op->word)
		plan_atomic(fuzz, op, &wr);
	hand_over(fuzz, end, op, &wr);
}

/* ---- faults ---------------------------------------------------------------------------- */

struct fault {
	unsigned opcode;
	uint32_t len;
	enum emu_wc_status status;
	int32_t rkey_change, lkey_change, offset; /* what is wrong with it */
};

static const struct fault faults[] = {
	{EMU_WR_RDMA_WRITE, 5000, EMU_WC_REM_ACCESS_ERR, 0x100000, 0, 0},
	{EMU_WR_RDMA_READ, 5000, EMU_WC_REM_ACCESS_ERR, 0x100000, 0, 0},
	{EMU_WR_ATOMIC_FETCH_AND_ADD, 8, EMU_WC_REM_ACCESS_ERR, 1, 0, 0},
	{EMU_WR_RDMA_WRITE, 5000, EMU_WC_REM_ACCESS_ERR, 0, 0, ARENA - 4999},
	{EMU_WR_RDMA_READ, 5000, EMU_WC_REM_ACCESS_ERR, 0, 0, -1},
	{EMU_WR_RDMA_WRITE_WITH_IMM, 5000, EMU_WC_REM_ACCESS_ERR, 0, 0, ARENA},
	{EMU_WR_ATOMIC_CMP_AND_SWP, 8, EMU_WC_REM_INV_REQ_ERR, 0, 0, 4},
	{EMU_WR_ATOMIC_CMP_AND_SWP, 16, EMU_WC_LOC_LEN_ERR, 0, 0, 0},
	{EMU_WR_RDMA_WRITE, 5000, EMU_WC_LOC_PROT_ERR, 0, 0x100000, 0},
	{EMU_WR_RDMA_READ, 5000, EMU_WC_LOC_PROT_ERR, 0, 0x80, 0},
	{EMU_WR_SEND, 100, EMU_WC_LOC_PROT_ERR, 0, 1, 0},
};

static void plan_long_send(struct end *end, struct model_op *op)
{
	uint32_t room = model_next_recv(&end->model);

	if (room >= MAX_LEN)
		return;
	op->opcode = EMU_WR_SEND;
	op->fault = EMU_WC_REM_INV_REQ_ERR;
	op->len = room + 1;
}

/* Posts a request that must fail. False: no room for it. */
static bool post_fault(struct fuzz *fuzz, struct pair *pair, unsigned side)
{
	const struct fault *fault = &faults[fuzz_roll(fuzz, sizeof(faults) / sizeof(faults[0]))];
	struct end *end = &pair->end[side];
	struct engine *target = fuzz_engine(fuzz, &pair->end[!side]);
	struct emu_send_wr wr = {.flags = fuzz_roll(fuzz, 2) * EMU_SEND_SIGNALED};
	struct model_op *op;

	if (full(fuzz, end))
		return false;
	op = new_op(fuzz, fault->opcode);
	op->len = fault->len;
	op->fault = fault->status;
	if (fuzz_chance(fuzz, 20))
		plan_long_send(end, op);
	op->local = (struct range){&fuzz_engine(fuzz, end)->arena, 0, op->len,
	                           op->opcode == EMU_WR_RDMA_READ || op->opcode == fault->len};
	if (!choose_range(fuzz, &op->local, NULL)) {
		free(op);
		return false;
	}
	cut(fuzz, op, EMU_ACCESS_LOCAL_WRITE);
	wr.remote_addr = (uintptr_t)target->arena.real + (uint64_t)(int64_t)fault->offset;
	wr.rkey = emu_mr_rkey(target->region[0].mr) ^ (uint32_t)fault->rkey_change;
	if (fault->rkey_change && target->stale_rkey && fuzz_chance(fuzz, 50))
		wr.rkey = target->stale_rkey;
	for (unsigned i = 0; op->fault == fault->status && i < op->num_sge; i++)
		op->sge[i].lkey ^= (uint32_t)fault->lkey_change;
	hand_over(fuzz, end, op, &wr);
	return true;
}

static bool drained(const struct pair *pair)
{
	return model_idle(&pair->end[0].model) && model_idle(&pair->end[1].model);
}

static void post_owed(struct fuzz *fuzz, struct pair *pair)
{
	for (unsigned side = 0; side < 2; side++) {
		while (model_owed(&pair->end[side].model) &&
		       pair->end[side].model.rq.slots < MODEL_DEPTH) {
			unsigned owed = model_owed(&pair->end[side].model);

			post_recv(fuzz, pair, side);
			if (owed == model_owed(&pair->end[side].model))
				break;
		}
	}
}

/* Both to RESET and back to RTS; what was under way on the network is gone before. */
static void reset_pair(struct fuzz *fuzz, struct pair *pair)
{
	struct emu_qp_attr attr = {.qp_state = EMU_QPS_RESET};

	poll_all(fuzz);
	for (unsigned side = 0; side < 2; side++)
		fuzz_check(fuzz, emu_qp_modify(pair->end[side].qp, &attr, EMU_QP_STATE) == 0,
		           "a QP cannot be reset");
	pump(fuzz, 20 * fuzz->params.delay_ns + 2 * fuzz->params.jitter_ns + MS);
	for (unsigned side = 0; side < 2; side++) {
		model_reset(&pair->end[side].model);
		pair->end[side].unsignaled = 0;
	}
	fuzz_connect(fuzz, pair);
	fuzz->resets++;
}

static void flush_pair(struct fuzz *fuzz, struct pair *pair)
{
	struct emu_qp_attr attr = {.qp_state = EMU_QPS_ERR};

	for (unsigned side = 0; side < 2; side++) {
		struct end *end = &pair->end[side];

		end->model.sq.disturbed = end->model.rq.disturbed = true;
		fuzz_check(fuzz, emu_qp_modify(end->qp, &attr, EMU_QP_STATE) == 0,
		           "a QP cannot go to ERR");
	}
	/* In ERR a post is flushed. */
	post_recv(fuzz, pair, fuzz_roll(fuzz, 2));
	post_send(fuzz, pair, fuzz_roll(fuzz, 2));
	for (unsigned side = 0; side < 2; side++)
		emu_qp_ring(pair->end[side].qp);
	pump(fuzz, MS);
	fuzz_check(fuzz, drained(pair), "requests survive in ERR");
	reset_pair(fuzz, pair);
}

static void break_pair(struct fuzz *fuzz, struct pair *pair)
{
	unsigned side = fuzz_roll(fuzz, 2);
	struct end *end = &pair->end[side], *peer = &pair->end[!side];
	uint64_t limit = sim_now(fuzz->sim) + PATIENCE;

	if (!post_fault(fuzz, pair, side))
		return;
	fuzz->faults++;
	end->model.sq.silenced = fuzz->params.flavour == SIM_LOSSY;
	end->model.rq.disturbed = true;
	peer->model.sq.disturbed = peer->model.rq.disturbed = true;
	emu_qp_ring(end->qp);
	while (!end->model.sq.failed) {
		fuzz_check(fuzz, sim_now(fuzz->sim) < limit, "a bad request does not end");
		post_owed(fuzz, pair);
		pump(fuzz, MS / 2);
	}
	pump(fuzz, fuzz_roll(fuzz, 20) * MS);
	flush_pair(fuzz, pair);
}

/* ---- a bad day for the network ------------------------------------------------------------- */

static void disturb(struct fuzz *fuzz)
{
	unsigned a = fuzz_roll(fuzz, ENGINES), b = (a + 1) % ENGINES;
	uint64_t ns = fuzz_roll(fuzz, 6000) * US;

	/* Below two ACK timeouts of the eight that a request has. */
	fuzz->chaos++;
	if (fuzz_chance(fuzz, 50)) {
		sim_pause(fuzz->sim, a, ns);
		pump(fuzz, ns);
	} else {
		sim_partition(fuzz->sim, a, b, true);
		pump(fuzz, ns);
		sim_partition(fuzz->sim, a, b, false);
	}
	pump(fuzz, 20 * MS);
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Every byte that no request is about to write. */
static void check_memory(struct fuzz *fuzz)
{
	for (unsigned i = 0; i < ENGINES; i++) {
		const struct arena *arena = &fuzz->engine[i].arena;

		for (size_t at = GRANULE * ((8 * WORDS + GRANULE - 1) / GRANULE); at < ARENA;
		     at += GRANULE) {
			if (arena->writer[at / GRANULE] ||
			    !memcmp(arena->real + at, arena->image + at, GRANULE))
				continue;
			arena_check(arena, at, GRANULE);
			fuzz_fail(fuzz, "engine %u: %s", i, model_complaint);
		}
	}
}

/* Unsignaled requests at the end are done when one behind them is. */
static void post_last(struct fuzz *fuzz, struct end *end)
{
	struct emu_send_wr wr = {.flags = EMU_SEND_SIGNALED};

	end->unsignaled = 0;
	hand_over(fuzz, end, new_op(fuzz, EMU_WR_RDMA_WRITE), &wr);
}

static bool sends_done(struct fuzz *fuzz)
{
	bool done = true;

	for (unsigned i = 0; i < PAIRS; i++) {
		struct pair *pair = &fuzz->pair[i];

		post_owed(fuzz, pair);
		for (unsigned side = 0; side < 2; side++) {
			struct end *end = &pair->end[side];

			emu_qp_ring(end->qp);
			if (!end->model.sq.count)
				continue;
			done = false;
			if (end->unsignaled && end->model.sq.slots < MODEL_DEPTH)
				post_last(fuzz, end);
		}
	}
	return done;
}

static void quiesce(struct fuzz *fuzz)
{
	uint64_t limit = sim_now(fuzz->sim) + PATIENCE;

	while (!sends_done(fuzz)) {
		if (sim_now(fuzz->sim) >= limit)
			fuzz_fail(fuzz, "requests never end");
		pump(fuzz, MS);
	}
	check_memory(fuzz);
	for (unsigned i = 0; i < ENGINES; i++) {
		if (!arena_check(&fuzz->engine[i].arena, 0, 8 * WORDS))
			fuzz_fail(fuzz, "engine %u, atomic words: %s", i, model_complaint);
	}
}

/* Half of each arena is left to the receives that requests wait for. */
static bool crowded(const struct fuzz *fuzz)
{
	for (unsigned i = 0; i < ENGINES; i++) {
		if (fuzz->engine[i].arena.locked > ARENA / 2)
			return true;
	}
	return false;
}

static void act(struct fuzz *fuzz)
{
	struct pair *pair = &fuzz->pair[fuzz_roll(fuzz, PAIRS)];
	unsigned side = fuzz_roll(fuzz, 2), dice = fuzz_roll(fuzz, 10000);

	if (dice < 7500 && crowded(fuzz))
		pump(fuzz, 50 * US);
	else if (dice < 5000)
		post_send(fuzz, pair, side);
	else if (dice < 7500)
		post_recv(fuzz, pair, side);
	else if (dice < 9400)
		pump(fuzz, fuzz_roll(fuzz, 50) * US);
	else if (dice < 9900)
		fuzz_regions(fuzz);
	else if (dice < 9930)
		check_memory(fuzz);
	else if (dice < 9950)
		break_pair(fuzz, pair);
	else if (dice < 9965)
		flush_pair(fuzz, pair);
	else if (dice < 9980)
		reset_pair(fuzz, pair);
	else if (dice < 9990)
		disturb(fuzz);
	else
		quiesce(fuzz);
}

static void report(struct fuzz *fuzz)
{
	uint64_t again = 0;

	for (unsigned i = 0; i < ENGINES; i++)
		again += emu_dev_counters(fuzz->engine[i].dev)->retransmits;
	printf("seed %llu (%s): %llu posted, %llu completed, %llu faults, %llu resets, "
	       "%llu disturbances, %llu frames, %llu retransmits, %llu ms\n",
	       (unsigned long long)fuzz->seed,
	       fuzz->params.flavour == SIM_LOSSY ? "lossy" : "reliable",
	       (unsigned long long)fuzz->posted, (unsigned long long)fuzz->completed,
	       (unsigned long long)fuzz->faults, (unsigned long long)fuzz->resets,
	       (unsigned long long)fuzz->chaos, (unsigned long long)sim_frames(fuzz->sim),
	       (unsigned long long)again, (unsigned long long)(sim_now(fuzz->sim) / MS));
}

static void run(uint64_t seed, uint64_t ops)
{
	static struct fuzz fuzz;

	/* Said before: a crash cannot. */
	printf("fuzz --seed %llu --ops %llu\n", (unsigned long long)seed, (unsigned long long)ops);
	fflush(stdout);
	fuzz_create(&fuzz, seed);
	while (fuzz.posted < ops)
		act(&fuzz);
	quiesce(&fuzz);
	report(&fuzz);
	fuzz_destroy(&fuzz);
}

int main(int argc, char **argv)
{
	uint64_t seed = 0, ops = 2500;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--seed") == 0)
			seed = strtoull(argv[i + 1], NULL, 0);
		else if (strcmp(argv[i], "--ops") == 0)
			ops = strtoull(argv[i + 1], NULL, 0);
	}
	if (argc > 1) {
		run(seed, ops);
		return 0;
	}
	for (seed = 1; seed <= 8; seed++)
		run(seed, ops);
	return 0;
}
