// SPDX-License-Identifier: BSD-2-Clause
#include "timer.h"

#include <stdlib.h>

#include "err.h"

/* IBTA table 45, in units of 10 us */
static const uint32_t rnr_timer[32] = {
	65536, 1,    2,    3,    4,    6,    8,     12,    16,    24,    32,
	48,    64,   96,   128,  192,  256,  384,   512,   768,   1024,  1536,
	2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

uint64_t emu_rnr_timer_ns(uint8_t code)
{
	return rnr_timer[code & 31] * 10000ull;
}

uint64_t emu_ack_timeout_ns(uint8_t code)
{
	return code ? 4096ull << (code & 31) : EMU_NEVER;
}

int emu_timers_reserve(struct emu_timers *timers, uint32_t users)
{
	struct emu_timer **heap;
	uint32_t room = timers->room ? timers->room * 2 : 64;

	if (users + 1 <= timers->room)
		return 0;
	heap = realloc(timers->heap, room * sizeof(*heap));
	if (!heap)
		return -EMU_ENOMEM;
	timers->heap = heap;
	timers->room = room;
	return 0;
}

void emu_timers_fini(struct emu_timers *timers)
{
	free(timers->heap);
}

static void place(struct emu_timers *t, uint32_t pos, struct emu_timer *timer)
{
	t->heap[pos] = timer;
	timer->pos = pos;
}

static void sift_up(struct emu_timers *t, struct emu_timer *timer)
{
	uint32_t pos = timer->pos;

	for (; pos > 1 && t->heap[pos / 2]->key > timer->key; pos /= 2)
		place(t, pos, t->heap[pos / 2]);
	place(t, pos, timer);
}

static void sift_down(struct emu_timers *t, struct emu_timer *timer)
{
	uint32_t pos = timer->pos, child;

	for (; (child = pos * 2) <= t->n; pos = child) {
		if (child < t->n && t->heap[child + 1]->key < t->heap[child]->key)
			child++;
		if (t->heap[child]->key >= timer->key)
			break;
		place(t, pos, t->heap[child]);
	}
	place(t, pos, timer);
}

static void take_out(struct emu_timers *t, struct emu_timer *timer)
{
	struct emu_timer *last = t->heap[t->n--];

	if (last != timer) {
		place(t, timer->pos, last);
		sift_up(t, last);
		sift_down(t, last);
	}
	timer->pos = 0;
}

void emu_timer_set(struct emu_timers *timers, struct emu_timer *timer, uint64_t deadline)
{
	timer->deadline = deadline;
	if (deadline == EMU_NEVER || (timer->pos && timer->key <= deadline))
		return;
	timer->key = deadline;
	if (!timer->pos)
		place(timers, ++timers->n, timer);
	sift_up(timers, timer);
}

void emu_timer_stop(struct emu_timers *timers, struct emu_timer *timer)
{
	timer->deadline = EMU_NEVER;
	if (timer->pos)
		take_out(timers, timer);
}

struct emu_timer *emu_timers_pop(struct emu_timers *timers, uint64_t now)
{
	while (timers->n && timers->heap[1]->key <= now) {
		struct emu_timer *timer = timers->heap[1];

		if (timer->deadline <= now) {
			take_out(timers, timer);
			timer->deadline = EMU_NEVER;
			return timer;
		}
		if (timer->deadline == EMU_NEVER) {
			take_out(timers, timer);
			continue;
		}
		timer->key = timer->deadline;
		sift_down(timers, timer);
	}
	return NULL;
}

uint64_t emu_timers_next(const struct emu_timers *timers)
{
	return timers->n ? timers->heap[1]->key : EMU_NEVER;
}
