/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The small lock of one ring (SQ, RQ, CQ). Held for tens of nanoseconds and
 * almost never contended, so it is one atomic exchange; a waiter gives the
 * processor away because the holder may share it.
 *
 * Order: device lock (nic_lock), then CQ locks, then queue locks.
 */
#ifndef VS_LOCK_H
#define VS_LOCK_H

#include <sched.h>
#include <stdatomic.h>

struct vs_lock {
	atomic_bool taken;
};

#define VS_LOCK_SPINS 64

static inline void vs_lock_take(struct vs_lock *lock)
{
	unsigned spins = 0;

	while (atomic_exchange_explicit(&lock->taken, 1, memory_order_acquire)) {
		while (atomic_load_explicit(&lock->taken, memory_order_relaxed)) {
			if (++spins % VS_LOCK_SPINS == 0)
				sched_yield();
		}
	}
}

static inline void vs_lock_drop(struct vs_lock *lock)
{
	atomic_store_explicit(&lock->taken, 0, memory_order_release);
}

#endif
