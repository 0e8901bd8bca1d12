/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork() and exit(). A child has a copy of the NIC without its thread: it goes
 * inert and lets go of the parent's sockets, so that peers notice when the
 * parent dies. At exit the thread must be gone before libfabric's destructors
 * run, and whatever the program's later destructors call must do no harm.
 */
#include "fork.h"

#include "flush.h"
#include "mcast.h"
#include "progress.h"
#include "thread.h"
#include "watch.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* No pass is under way and no start-up while the process is copied. */
static void before_fork(void)
{
	pthread_mutex_lock(&nic_process_lock);
	if (nic_current)
		nic_enter(nic_current);
}

static void after_fork_parent(void)
{
	if (nic_current)
		nic_leave(nic_current);
	pthread_mutex_unlock(&nic_process_lock);
}

static void after_fork_child(void)
{
	struct nic *nic = nic_current;
	int state;

	pthread_mutex_init(&nic_process_lock, NULL);
	if (!nic)
		return;
	atomic_store(&nic->inert, true);
	atomic_store(&nic->missed, false);
	atomic_store(&nic->contenders, 0);
	atomic_store(&nic->asleep, false);
	nic->thread_runs = false;
	pthread_mutex_init(&nic->lock, NULL);
	pthread_setcancelstate(nic->cancel_state, &state);
	if (nic->ofi)
		wire_ofi_forget(nic->ofi);
	nic_mcast_forget(nic);
	nic_watch_close(nic);
	close(nic->doorbell);
	close(nic->standby_timer);
	close(nic->deadline_timer);
	nic->doorbell = nic->standby_timer = nic->deadline_timer = -1;
	nic_current = NULL;
}

static void at_exit(void)
{
	struct nic *nic;

	pthread_mutex_lock(&nic_process_lock);
	nic = nic_current;
	if (nic) {
		nic_thread_stop(nic);
		nic_flush(nic);
		nic_enter(nic);
		atomic_store(&nic->exiting, true);
		atomic_store(&nic->inert, true);
		if (nic->ofi)
			wire_ofi_mute(nic->ofi);
		nic_leave(nic);
	}
	pthread_mutex_unlock(&nic_process_lock);
}

int nic_watch_process(void)
{
	static bool watched;
	int ret;

	if (watched)
		return 0;
	ret = pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	if (ret)
		return -ret;
	if (atexit(at_exit))
		return -ENOMEM;
	watched = true;
	return 0;
}
