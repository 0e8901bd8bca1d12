/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Progress inside the program's own calls, and the agreement with the NIC
 * thread about who does it:
 *
 * - A call that can have the device lock makes one bounded pass. If the lock is
 *   held, the holder is told (missed) and looks again after it let go.
 * - The thread sleeps on wires, doorbell and deadline timer. The doorbell rings
 *   only when it sleeps and there is work that no descriptor shows.
 * - A program that polls all the time (spinning) or blocks in nic_wait_fd
 *   (waiters) drives the wires itself; the thread then stands by and takes
 *   over when that ends: 1 ms later, or at once when the program says so.
 */
#include "progress.h"

#include "cm_port.h"
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* Passes in a row that one call makes while more is to do. */
#define PASSES_PER_CALL 4
/*
 * So many polls, each so soon after the last call, make a spinning program. One
 * that spins on memory between its polls is none: it waits for the thread.
 */
#define SPINS_TO_CLAIM 32
#define SPIN_GAP_NS 10000u

uint64_t nic_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- the lock ------------------------------------------------------------ */

/*
 * The pass makes system calls that are cancellation points; a thread that is
 * cancelled there would take the device lock to its grave.
 */
static int forbid_cancel(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

bool nic_try_enter(struct nic *nic)
{
	int state = forbid_cancel();

	if (pthread_mutex_trylock(&nic->lock)) {
		pthread_setcancelstate(state, &state);
		return false;
	}
	nic->cancel_state = state;
	return true;
}

void nic_enter(struct nic *nic)
{
	int state = forbid_cancel();

	if (pthread_mutex_trylock(&nic->lock)) {
		atomic_fetch_add(&nic->contenders, 1);
		pthread_mutex_lock(&nic->lock);
		atomic_fetch_sub(&nic->contenders, 1);
	}
	nic->cancel_state = state;
}

static void unlock(struct nic *nic)
{
	int state = nic->cancel_state;

	pthread_mutex_unlock(&nic->lock);
	pthread_setcancelstate(state, &state);
}

void nic_tick(struct nic *nic)
{
	nic->now_ns = nic_now();
	emu_tick(nic->dev, nic->now_ns);
	if (nic->ofi)
		wire_ofi_tick(nic->ofi, nic->now_ns);
}

/* Work that is left when a call ends must not wait for the next one. */
static void settle(struct nic *nic, bool more)
{
	bool spinning = atomic_load(&nic->spinning);

	if (!spinning || atomic_load(&nic->waiters))
		nic_arm_deadline(nic);
	/* A spinning program is back in no time, or the thread notices that it is not. */
	if (more && !spinning)
		nic_ring(nic);
}

void nic_run_and_send(struct nic *nic)
{
	bool more = false;

	nic_tick(nic);
	for (int i = 0; i < PASSES_PER_CALL; i++) {
		nic_cm_run(nic);
		more = emu_run(nic->dev);
		if (nic->ofi)
			wire_ofi_flush(nic->ofi, false);
		more |= wire_loop_poll(nic->loop);
		if (!more && !emu_pending(nic->dev))
			break;
	}
	atomic_fetch_add_explicit(&nic->passes, 1, memory_order_relaxed);
	settle(nic, more || nic_leftover(nic));
	nic->last_call_ns = nic_now();
}

void nic_leave(struct nic *nic)
{
	unlock(nic);
	/* Pairs with the fence of nic_kick: it sees the lock free, or we see missed. */
	atomic_thread_fence(memory_order_seq_cst);
	while (atomic_load_explicit(&nic->missed, memory_order_relaxed) && nic_try_enter(nic)) {
		atomic_store(&nic->missed, false);
		if (!atomic_load(&nic->inert))
			nic_run_and_send(nic);
		unlock(nic);
		atomic_thread_fence(memory_order_seq_cst);
	}
}

/* ---- under the lock ------------------------------------------------------ */

bool nic_leftover(const struct nic *nic)
{
	return emu_pending(nic->dev) || wire_loop_pending(nic->loop) || nic->cm_answer_count;
}

static void take_news(struct nic *nic)
{
	nic_watch_poll(nic);
	nic_cm_run(nic);
}

bool nic_pass(struct nic *nic, bool lazy)
{
	bool more;

	nic_tick(nic);
	if (nic->ofi && wire_ofi_deferred(nic->ofi))
		wire_ofi_flush(nic->ofi, false);
	more = nic->ofi && wire_ofi_poll(nic->ofi);
	more |= wire_loop_poll(nic->loop);
	take_news(nic);
	more |= emu_run(nic->dev);
	if (nic->ofi)
		wire_ofi_flush(nic->ofi, lazy);
	return more || nic_leftover(nic);
}

void nic_arm_deadline(struct nic *nic)
{
	uint64_t at = emu_next_deadline(nic->dev);
	struct itimerspec its = { .it_value = { 0, 0 } };

	if (nic->ofi && wire_ofi_deadline(nic->ofi) < at)
		at = wire_ofi_deadline(nic->ofi);
	if (nic_cm_deadline(nic) < at)
		at = nic_cm_deadline(nic);
	/* A timer that fires too early is harmless and cheaper than setting it each time. */
	if (at >= nic->deadline_ns)
		return;
	nic->deadline_ns = at;
	its.it_value.tv_sec = (time_t)(at / 1000000000u);
	its.it_value.tv_nsec = (long)(at % 1000000000u);
	if (!at)
		its.it_value.tv_nsec = 1;
	timerfd_settime(nic->deadline_timer, TFD_TIMER_ABSTIME, &its, NULL);
}

bool nic_may_sleep(struct nic *nic)
{
	static const struct itimerspec off;

	/* An expired timer stays readable until it is set again. */
	if (nic->deadline_ns <= nic_now()) {
		nic->deadline_ns = UINT64_MAX;
		timerfd_settime(nic->deadline_timer, 0, &off, NULL);
	}
	nic_arm_deadline(nic);
	return !nic_leftover(nic) && (!nic->ofi || wire_ofi_may_sleep(nic->ofi));
}

/* ---- the thread's side of the agreement ------------------------------------ */

void nic_ring(struct nic *nic)
{
	uint64_t one = 1;

	if (atomic_load(&nic->asleep) && atomic_exchange(&nic->asleep, false))
		while (write(nic->doorbell, &one, sizeof(one)) < 0 && errno == EINTR)
			;
}

bool nic_driven(const struct nic *nic)
{
	return atomic_load(&nic->spinning) || atomic_load(&nic->waiters);
}

void nic_arm_standby(struct nic *nic)
{
	const struct itimerspec its = { .it_value.tv_nsec = NIC_STANDBY_NS };

	timerfd_settime(nic->standby_timer, 0, &its, NULL);
}

/* ---- hot path ---------------------------------------------------------------- */

void nic_kick(struct nic *nic)
{
	if (!nic_try_enter(nic)) {
		atomic_store(&nic->missed, true);
		atomic_thread_fence(memory_order_seq_cst);
		if (!nic_try_enter(nic))
			return;
	}
	/* Not after the pass has looked who rang: that would wipe out a ring it did not see. */
	atomic_store(&nic->missed, false);
	if (!atomic_load_explicit(&nic->inert, memory_order_relaxed))
		nic_run_and_send(nic);
	nic_leave(nic);
}

static void count_spin(struct nic *nic, uint64_t begun)
{
	if (atomic_load_explicit(&nic->spinning, memory_order_relaxed))
		return;
	nic->spins = begun - nic->last_call_ns < SPIN_GAP_NS ? nic->spins + 1 : 0;
	nic->last_call_ns = nic_now();
	if (nic->spins >= SPINS_TO_CLAIM) {
		nic->spins = 0;
		atomic_store(&nic->spinning, true);
		/* From now on it must look now and then whether we still poll. */
		nic_ring(nic);
	}
}

void nic_poll(struct nic *nic)
{
	bool more;

	/* An unfair lock: who waits for it would never get it from a spinning program. */
	if (atomic_load_explicit(&nic->contenders, memory_order_relaxed)) {
		sched_yield();
		return;
	}
	if (!nic_try_enter(nic))
		return;
	if (!atomic_load_explicit(&nic->inert, memory_order_relaxed)) {
		more = nic_pass(nic, atomic_load(&nic->spinning));
		atomic_fetch_add_explicit(&nic->passes, 1, memory_order_relaxed);
		count_spin(nic, nic->now_ns);
		settle(nic, more);
	}
	nic_leave(nic);
}

void nic_rest(struct nic *nic)
{
	/* Will it block in nic_wait_fd as it did before, the wire is in good hands. */
	if (atomic_load(&nic->waits_here) || !atomic_load(&nic->spinning))
		return;
	atomic_store(&nic->spinning, false);
	nic_ring(nic);
}

/* ---- blocking in verbs --------------------------------------------------------- */

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

static void stop_waiting(void *arg)
{
	struct nic *nic = arg;

	if (atomic_fetch_sub(&nic->waiters, 1) == 1)
		nic_arm_standby(nic);
}

/*
 * poll(2) is interrupted by every handler, but what it stands for, a read(2),
 * is restarted after handlers with SA_RESTART. Which handler ran cannot be
 * known, so: is there any that would have interrupted the read?
 */
static bool interrupting_handlers(void)
{
	struct sigaction act;
	sigset_t faults;

	/* What a thread does to itself does not happen while it sleeps. */
	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	sigaddset(&faults, SIGBUS);
	sigaddset(&faults, SIGFPE);
	sigaddset(&faults, SIGILL);
	sigaddset(&faults, SIGSYS);
	sigaddset(&faults, SIGTRAP);
	sigaddset(&faults, SIGABRT);
	for (int sig = 1; sig < NSIG; sig++) {
		if (sigismember(&faults, sig) || sigaction(sig, NULL, &act) ||
		    (act.sa_flags & SA_RESTART))
			continue;
		if (act.sa_handler != SIG_DFL && act.sa_handler != SIG_IGN)
			return true;
	}
	return false;
}

/*
 * One pass. 1: the program's own descriptor became readable, and an ACK may wait
 * for what the program does next; 0: sleep, or with *sleep false do not.
 */
static int pass_for(struct nic *nic, int fd, bool *sleep)
{
	bool more, deferred, mine = false;

	nic_enter(nic);
	if (atomic_load(&nic->inert)) {
		nic_leave(nic);
		*sleep = true;
		return 0;
	}
	more = nic_pass(nic, true);
	deferred = nic->ofi && wire_ofi_deferred(nic->ofi);
	if (deferred) {
		mine = readable(fd);
		if (!mine)
			wire_ofi_flush(nic->ofi, false);
	}
	*sleep = !mine && !more && nic_may_sleep(nic);
	nic_leave(nic);
	return mine;
}

/* A pass, then sleep until a descriptor has news. 0 go on, 1 fd is readable, -EINTR. */
static int drive_once(struct nic *nic, int fd)
{
	int wires[WIRE_OFI_FDS];
	struct pollfd p[3 + WIRE_OFI_FDS] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = nic->deadline_timer, .events = POLLIN },
		{ .fd = nic->watch_fd, .events = POLLIN },
	};
	nfds_t n = 3;
	bool sleep;

	if (pass_for(nic, fd, &sleep))
		return 1;
	if (atomic_load(&nic->inert)) {
		n = 1;
	} else if (nic->ofi) {
		wire_ofi_wait_fds(nic->ofi, wires);
		for (int i = 0; i < WIRE_OFI_FDS; i++)
			p[n++] = (struct pollfd){ .fd = wires[i], .events = POLLIN };
	}
	if (poll(p, n, sleep ? -1 : 0) < 0)
		return errno == EINTR && interrupting_handlers() ? -EINTR : 0;
	return p[0].revents ? 1 : 0;
}

int nic_wait_fd(struct nic *nic, int fd)
{
	int ret, flags;

	if (readable(fd))
		return 0;
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0 && (flags & O_NONBLOCK)) {
		nic_poll(nic);
		return readable(fd) ? 0 : -EAGAIN;
	}
	atomic_store(&nic->waits_here, true);
	atomic_fetch_add(&nic->waiters, 1);
	pthread_cleanup_push(stop_waiting, nic);
	do
		ret = drive_once(nic, fd);
	while (!ret);
	pthread_cleanup_pop(1);
	return ret < 0 ? ret : 0;
}
