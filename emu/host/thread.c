/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The NIC thread: progress for a process that computes, sleeps or blocks
 * elsewhere. It uses no CPU when nothing happens. While the program drives the
 * wires itself it stands by (see progress.c).
 */
#include "thread.h"

#include "progress.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define STACK_SIZE (256 * 1024)
/* So few passes in the standby time are not spinning. */
#define SPINNING_PASSES 32
/* How often the thread steps back for those who wait for the device lock. */
#define YIELDS 64

static void drain(int fd)
{
	uint64_t count;

	while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

/* Sleep until the doorbell, or what else the mode watches. */
static void sleep_watching(struct nic *nic)
{
	int wires[WIRE_OFI_FDS];
	struct pollfd p[4 + WIRE_OFI_FDS] = {
		{ .fd = nic->doorbell, .events = POLLIN },
		{ .fd = nic->deadline_timer, .events = POLLIN },
		{ .fd = nic->watch_fd, .events = POLLIN },
		/* A waiter came and went while we slept; what it left for later is ours. */
		{ .fd = nic->standby_timer, .events = POLLIN },
	};
	nfds_t n = 4;

	if (nic->ofi) {
		wire_ofi_wait_fds(nic->ofi, wires);
		for (int i = 0; i < WIRE_OFI_FDS; i++)
			p[n++] = (struct pollfd){ .fd = wires[i], .events = POLLIN };
	}
	poll(p, n, -1);
	if (p[0].revents)
		drain(nic->doorbell);
	if (p[3].revents)
		drain(nic->standby_timer);
}

static void sleep_standing_by(struct nic *nic)
{
	struct pollfd p[] = {
		{ .fd = nic->doorbell, .events = POLLIN },
		{ .fd = nic->standby_timer, .events = POLLIN },
	};
	unsigned before = atomic_load_explicit(&nic->passes, memory_order_relaxed);

	/* Waiters set the timer as they leave; a spinning program does not say goodbye. */
	if (atomic_load(&nic->spinning))
		nic_arm_standby(nic);
	poll(p, 2, -1);
	if (p[0].revents)
		drain(nic->doorbell);
	if (!p[1].revents)
		return;
	drain(nic->standby_timer);
	if (atomic_load_explicit(&nic->passes, memory_order_relaxed) - before < SPINNING_PASSES)
		atomic_store(&nic->spinning, false);
	if (!nic_driven(nic))
		atomic_store(&nic->waits_here, false);
}

static void give_way(struct nic *nic)
{
	for (int i = 0; i < YIELDS && atomic_load(&nic->contenders); i++)
		sched_yield();
}

static void *nic_thread(void *arg)
{
	struct nic *nic = arg;
	const char *notice;
	bool driven, sleep;

	prctl(PR_SET_NAME, "softverbs-nic");
	while (!atomic_load(&nic->stop)) {
		give_way(nic);
		driven = nic_driven(nic);
		nic_enter(nic);
		if (driven)
			sleep = !nic_leftover(nic) || !nic_pass(nic, false);
		else
			sleep = !nic_pass(nic, false) && nic_may_sleep(nic);
		if (driven && atomic_load(&nic->waiters))
			nic_arm_deadline(nic);
		/* Under the lock, so that no pass leaves work behind and thinks us awake. */
		atomic_store(&nic->asleep, sleep);
		notice = wire_ofi_notice(nic->ofi);
		nic_leave(nic);
		if (notice)
			sv_log(SV_LOG_WARN, "%s", notice);
		if (!sleep)
			continue;
		/* Changed meanwhile? Who changes it rings only if asleep was set. */
		if (nic_driven(nic) == driven && !atomic_load(&nic->stop)) {
			if (driven)
				sleep_standing_by(nic);
			else
				sleep_watching(nic);
		}
		atomic_store(&nic->asleep, false);
	}
	return NULL;
}

int nic_thread_start(struct nic *nic)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int ret;

	ret = pthread_attr_init(&attr);
	if (ret)
		return -ret;
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	/* The program's signals are for its own threads; faults must reach the guard. */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGTRAP);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&nic->thread, &attr, nic_thread, nic);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	nic->thread_runs = !ret;
	return -ret;
}

void nic_thread_stop(struct nic *nic)
{
	uint64_t one = 1;

	if (!nic->thread_runs)
		return;
	atomic_store(&nic->stop, true);
	while (write(nic->doorbell, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(nic->thread, NULL);
	nic->thread_runs = false;
}
