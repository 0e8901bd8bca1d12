/* SPDX-License-Identifier: BSD-2-Clause */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char model_complaint[256];

#define COMPLAIN(...) (snprintf(model_complaint, sizeof(model_complaint), __VA_ARGS__), false)

/* ---- arenas ---------------------------------------------------------------- */

bool arena_init(struct arena *arena, size_t size, uint32_t salt)
{
	size_t granules = size / GRANULE;
	uint32_t x = salt;

	arena->size = size;
	arena->real = aligned_alloc(GRANULE, size);
	arena->image = malloc(size);
	arena->readers = calloc(granules, sizeof(*arena->readers));
	arena->writer = calloc(granules, sizeof(*arena->writer));
	if (!arena->real || !arena->image || !arena->readers || !arena->writer)
		return false;
	for (size_t i = 0; i < size; i++) {
		x = x * 1664525u + 1013904223u;
		arena->real[i] = (uint8_t)(x >> 24);
	}
	memcpy(arena->image, arena->real, size);
	return true;
}

void arena_free(struct arena *arena)
{
	free(arena->real);
	free(arena->image);
	free(arena->readers);
	free(arena->writer);
}

bool range_free(const struct range *range)
{
	const struct arena *arena = range->arena;

	if (!arena || !range->len)
		return true;
	for (size_t g = range->at / GRANULE; g <= (range->at + range->len - 1) / GRANULE; g++) {
		if (arena->writer[g] || (range->write && arena->readers[g]))
			return false;
	}
	return true;
}

static void set_lock(const struct range *range, bool taken)
{
	struct arena *arena = range->arena;

	if (!arena || !range->len)
		return;
	arena->locked += taken ? range->len : -range->len;
	for (size_t g = range->at / GRANULE; g <= (range->at + range->len - 1) / GRANULE; g++) {
		if (range->write)
			arena->writer[g] = taken;
		else
			arena->readers[g] += taken ? 1 : -1;
	}
}

bool arena_check(const struct arena *arena, size_t at, size_t len)
{
	for (size_t i = at; i < at + len; i++) {
		if (arena->real[i] != arena->image[i])
			return COMPLAIN("byte %zu is %02x, expected %02x", i, arena->real[i],
			                arena->image[i]);
	}
	return true;
}

/* The engine may have written any part of it. */
static void accept_range(const struct range *range)
{
	if (range->arena && range->write)
		memcpy(range->arena->image + range->at, range->arena->real + range->at, range->len);
}

/* ---- bytes of a request ------------------------------------------------------ */

static bool takes_recv(unsigned opcode)
{
	return opcode == EMU_WR_SEND || opcode == EMU_WR_SEND_WITH_IMM ||
	       opcode == EMU_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_write(unsigned opcode)
{
	return opcode == EMU_WR_RDMA_WRITE || opcode == EMU_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_atomic(unsigned opcode)
{
	return opcode == EMU_WR_ATOMIC_CMP_AND_SWP || opcode == EMU_WR_ATOMIC_FETCH_AND_ADD;
}

/* Where byte addr of the real arena is in the image. */
static uint8_t *image_of(const struct model_op *op, uint64_t addr)
{
	const struct arena *arena = op->local.arena;

	return arena->image + (addr - (uintptr_t)arena->real);
}

static void gather(struct model_op *op)
{
	uint8_t *to = op->data;

	for (unsigned i = 0; i < op->num_sge; to += op->sge[i++].length)
		memcpy(to, image_of(op, op->sge[i].addr), op->sge[i].length);
}

static void scatter(const struct model_op *op, uint32_t len)
{
	const uint8_t *from = op->data;

	for (unsigned i = 0; len && i < op->num_sge; i++) {
		uint32_t part = len < op->sge[i].length ? len : op->sge[i].length;

		memcpy(image_of(op, op->sge[i].addr), from, part);
		from += part;
		len -= part;
	}
}

/* ---- posting -------------------------------------------------------------------- */

static struct model_op *nth(const struct model_queue *queue, unsigned n)
{
	return queue->op[(queue->head + n) % MODEL_DEPTH];
}

static void match(const struct model_op *taker, struct model_op *recv)
{
	recv->matched = true;
	recv->by = taker->opcode;
	recv->imm = taker->imm;
	recv->got = taker->len;
	if (taker->len > recv->len && taker->opcode != EMU_WR_RDMA_WRITE_WITH_IMM) {
		recv->fault = EMU_WC_LOC_LEN_ERR;
	} else if (!is_write(taker->opcode) && taker->len) {
		recv->data = malloc(taker->len);
		memcpy(recv->data, taker->data, taker->len);
	}
}

static void find_recv(struct model_qp *qp, struct model_op *op)
{
	struct model_qp *peer = qp->peer;

	if (peer->next_recv < peer->rq.count)
		match(op, nth(&peer->rq, peer->next_recv++));
	else
		qp->waiting[qp->waiting_count++] = op;
}

static void stop_waiting(struct model_qp *qp)
{
	memmove(qp->waiting, qp->waiting + 1, --qp->waiting_count * sizeof(*qp->waiting));
}

static void find_taker(struct model_qp *qp, struct model_op *recv)
{
	struct model_qp *peer = qp->peer;

	if (!peer->waiting_count)
		return;
	match(peer->waiting[0], recv);
	qp->next_recv++;
	stop_waiting(peer);
}

void model_post(struct model_qp *qp, struct model_op *op)
{
	struct model_queue *queue = op->opcode == MODEL_RECV ? &qp->rq : &qp->sq;

	set_lock(&op->local, true);
	if (!op->word)
		set_lock(&op->remote, true);
	if (op->opcode != MODEL_RECV && !op->fault && op->len) {
		op->data = malloc(op->len);
		if (op->opcode == EMU_WR_RDMA_READ || op->word)
			memcpy(op->data, op->remote.arena->image + op->remote.at, op->len);
		else
			gather(op);
	}
	if (op->word)
		memcpy(op->remote.arena->image + op->remote.at, &op->word_after, 8);
	queue->op[(queue->head + queue->count++) % MODEL_DEPTH] = op;
	queue->slots++;
	if (op->opcode == MODEL_RECV)
		find_taker(qp, op);
	else if (takes_recv(op->opcode) && (!op->fault || op->fault == EMU_WC_REM_INV_REQ_ERR))
		find_recv(qp, op);
}

uint32_t model_next_recv(const struct model_qp *taker)
{
	const struct model_qp *peer = taker->peer;

	return peer->next_recv < peer->rq.count ? nth(&peer->rq, peer->next_recv)->len : UINT32_MAX;
}

unsigned model_owed(const struct model_qp *qp)
{
	return qp->peer->waiting_count;
}

/* ---- completions ------------------------------------------------------------------ */

static void retire(struct model_qp *qp, struct model_queue *queue)
{
	struct model_op *op = queue->op[queue->head];

	queue->head = (queue->head + 1) % MODEL_DEPTH;
	queue->count--;
	if (queue == &qp->rq && qp->next_recv)
		qp->next_recv--;
	if (queue == &qp->sq && qp->waiting_count && qp->waiting[0] == op)
		stop_waiting(qp);
	set_lock(&op->local, false);
	if (!op->word)
		set_lock(&op->remote, false);
	for (unsigned i = 0; i <= MODEL_SGES; i++) {
		if (op->users[i])
			--*op->users[i];
	}
	free(op->data);
	free(op);
}

/* It did what it should; are the bytes where they should be? */
static bool finish_send(struct model_qp *qp)
{
	struct model_op *op = nth(&qp->sq, 0);
	bool good = true;

	if (is_write(op->opcode) && op->len) {
		memcpy(op->remote.arena->image + op->remote.at, op->data, op->len);
		good = arena_check(op->remote.arena, op->remote.at, op->len);
	} else if (op->len && (op->opcode == EMU_WR_RDMA_READ || is_atomic(op->opcode))) {
		scatter(op, op->len);
		good = arena_check(op->local.arena, op->local.at, op->local.len);
	}
	retire(qp, &qp->sq);
	return good;
}

static void abandon(struct model_qp *qp, struct model_queue *queue)
{
	struct model_op *op = nth(queue, 0);

	accept_range(&op->local);
	accept_range(&op->remote);
	retire(qp, queue);
}

static unsigned wc_opcode(unsigned opcode)
{
	static const unsigned of[EMU_WR_COUNT] = {
		[EMU_WR_RDMA_WRITE] = EMU_WC_RDMA_WRITE,
		[EMU_WR_RDMA_WRITE_WITH_IMM] = EMU_WC_RDMA_WRITE,
		[EMU_WR_SEND] = EMU_WC_SEND,
		[EMU_WR_SEND_WITH_IMM] = EMU_WC_SEND,
		[EMU_WR_RDMA_READ] = EMU_WC_RDMA_READ,
		[EMU_WR_ATOMIC_CMP_AND_SWP] = EMU_WC_COMP_SWAP,
		[EMU_WR_ATOMIC_FETCH_AND_ADD] = EMU_WC_FETCH_ADD,
	};

	return of[opcode];
}

/* May op end with this error here? */
static bool error_allowed(const struct model_queue *queue, const struct model_op *op,
                          uint32_t status)
{
	if (queue->failed)
		return status == EMU_WC_WR_FLUSH_ERR;
	if (op->fault && status == op->fault)
		return true;
	if (status == EMU_WC_RETRY_EXC_ERR)
		return op->opcode != MODEL_RECV && (queue->disturbed || queue->silenced);
	return status == EMU_WC_WR_FLUSH_ERR && queue->disturbed;
}

bool model_complete_send(struct model_qp *qp, const struct emu_wc *wc)
{
	struct model_queue *queue = &qp->sq;
	struct model_op *op;

	/* Unsignaled requests before it are done, too: they have no completion of their own. */
	for (;;) {
		if (!queue->count)
			return COMPLAIN("send completion %llu that nobody waits for",
			                (unsigned long long)wc->wr_id);
		op = nth(queue, 0);
		if (op->id == wc->wr_id)
			break;
		if (op->signaled || op->fault || queue->failed)
			return COMPLAIN("send completion %llu, expected %llu",
			                (unsigned long long)wc->wr_id, (unsigned long long)op->id);
		if (!finish_send(qp))
			return false;
		queue->slots--;
	}
	queue->slots--;
	if (wc->status != EMU_WC_SUCCESS) {
		if (!error_allowed(queue, op, wc->status))
			return COMPLAIN("send %llu (opcode %u) ended with status %u, vendor 0x%x",
			                (unsigned long long)op->id, op->opcode, wc->status,
			                wc->vendor_err);
		queue->failed = true;
		abandon(qp, queue);
		return true;
	}
	if (queue->failed || op->fault || !op->signaled)
		return COMPLAIN("send %llu (opcode %u) ended with SUCCESS, failed %d fault %d",
		                (unsigned long long)op->id, op->opcode, queue->failed, op->fault);
	if (wc->opcode != wc_opcode(op->opcode))
		return COMPLAIN("send %llu has wc opcode %u", (unsigned long long)op->id,
		                wc->opcode);
	if ((op->opcode == EMU_WR_RDMA_READ || op->word) && wc->byte_len != op->len)
		return COMPLAIN("send %llu has byte_len %u, expected %u",
		                (unsigned long long)op->id, wc->byte_len, op->len);
	return finish_send(qp);
}

static bool check_received(const struct model_op *op, const struct emu_wc *wc)
{
	unsigned opcode =
		op->by == EMU_WR_RDMA_WRITE_WITH_IMM ? EMU_WC_RECV_RDMA_WITH_IMM : EMU_WC_RECV;
	unsigned flags = op->by == EMU_WR_SEND ? 0 : EMU_WC_WITH_IMM;

	if (!op->matched || op->fault)
		return COMPLAIN("receive %llu is done, but nothing was sent",
		                (unsigned long long)op->id);
	if (wc->opcode != opcode || wc->wc_flags != flags || wc->byte_len != op->got)
		return COMPLAIN("receive %llu: opcode %u flags %u byte_len %u, expected %u %u %u",
		                (unsigned long long)op->id, wc->opcode, wc->wc_flags, wc->byte_len,
		                opcode, flags, op->got);
	if (flags && wc->imm_data != op->imm)
		return COMPLAIN("receive %llu: immediate %x", (unsigned long long)op->id,
		                wc->imm_data);
	return true;
}

bool model_complete_recv(struct model_qp *qp, const struct emu_wc *wc)
{
	struct model_queue *queue = &qp->rq;
	struct model_op *op;
	bool good;

	if (!queue->count || nth(queue, 0)->id != wc->wr_id)
		return COMPLAIN("receive completion %llu out of turn",
		                (unsigned long long)wc->wr_id);
	op = nth(queue, 0);
	queue->slots--;
	if (wc->status != EMU_WC_SUCCESS) {
		if (!error_allowed(queue, op, wc->status))
			return COMPLAIN("receive %llu ended with status %u",
			                (unsigned long long)op->id, wc->status);
		queue->failed = true;
		abandon(qp, queue);
		return true;
	}
	if (queue->failed)
		return COMPLAIN("receive %llu ended with SUCCESS behind an error",
		                (unsigned long long)op->id);
	if (!check_received(op, wc))
		return false;
	if (op->data)
		scatter(op, op->got);
	good = arena_check(op->local.arena, op->local.at, op->local.len);
	retire(qp, queue);
	return good;
}

bool model_idle(const struct model_qp *qp)
{
	for (unsigned i = 0; i < qp->sq.count; i++) {
		const struct model_op *op = nth(&qp->sq, i);

		if (qp->sq.failed || op->signaled || op->fault)
			return false;
	}
	return !qp->rq.count;
}

void model_reset(struct model_qp *qp)
{
	while (qp->sq.count)
		abandon(qp, &qp->sq);
	while (qp->rq.count)
		abandon(qp, &qp->rq);
	memset(&qp->sq, 0, sizeof(qp->sq));
	memset(&qp->rq, 0, sizeof(qp->rq));
	qp->waiting_count = 0;
	qp->next_recv = 0;
}

bool model_uses_word(const struct model_qp *qp, const struct arena *arena, size_t at)
{
	for (unsigned i = 0; i < qp->sq.count; i++) {
		const struct model_op *op = nth(&qp->sq, i);

		if (op->word && op->remote.arena == arena && op->remote.at == at)
			return true;
	}
	return false;
}
