/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deadlines, in a heap. Moving a deadline later (every ACK does) only
 * writes it down; the heap learns of it when the earlier one comes up.
 */
#ifndef EMU_TIMER_H
#define EMU_TIMER_H

#include <stdint.h>

#define EMU_NEVER UINT64_MAX

struct emu_timer {
	uint64_t deadline; /* ns, EMU_NEVER when off */
	uint64_t key; /* at most deadline while in the heap */
	uint32_t pos; /* 1-based place in the heap; 0: not in it */
	void (*expire)(struct emu_timer *timer); /* it came up, and is off */
};

struct emu_timers {
	struct emu_timer **heap; /* [1 … n] */
	uint32_t n, room;
};

/* A timer that is off. */
static inline void emu_timer_init(struct emu_timer *timer, void (*expire)(struct emu_timer *timer))
{
	*timer = (struct emu_timer){ .deadline = EMU_NEVER, .expire = expire };
}

/* Before users timers exist. 0, -ENOMEM. */
int emu_timers_reserve(struct emu_timers *timers, uint32_t users);
void emu_timers_fini(struct emu_timers *timers);
void emu_timer_set(struct emu_timers *timers, struct emu_timer *timer, uint64_t deadline);
void emu_timer_stop(struct emu_timers *timers, struct emu_timer *timer);
/* A timer that is due at now, taken out and off, or NULL. */
struct emu_timer *emu_timers_pop(struct emu_timers *timers, uint64_t now);
/* The earliest moment a timer may be due. */
uint64_t emu_timers_next(const struct emu_timers *timers);

/* Local ACK timeout in ns: 4.096 us x 2^code, 0 = never (IBTA 9.7.6.1.3). */
uint64_t emu_ack_timeout_ns(uint8_t code);
/* RNR NAK timer field in ns (IBTA table 45). */
uint64_t emu_rnr_timer_ns(uint8_t code);

#endif
