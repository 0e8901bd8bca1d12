/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * struct nic, shared by the files of the host: nic.c (life, lock), progress.c
 * (passes inside the program's calls), thread.c (the NIC thread), addr.c
 * (slots and addresses), fork.c (children and exit).
 */
#ifndef HOST_NIC_STATE_H
#define HOST_NIC_STATE_H

#include <emu/nic.h>

#include "cm_question.h"
#include "wire_loop.h"
#include "wire_ofi.h"

#include <pthread.h>
#include <stdatomic.h>

#define NIC_SLOTS 16

struct nic {
	pthread_mutex_t lock; /* the device lock */
	int cancel_state; /* of the holder, who must not be cancelled meanwhile */
	atomic_bool missed; /* somebody rang while the lock was held: its holder sees to it */
	atomic_uint contenders; /* threads that wait for the lock: passes step back */
	atomic_bool inert; /* forked child, or the process exits: nothing moves any more */
	atomic_bool exiting; /* the latter */

	struct emu_env env;
	struct emu_dev *dev;
	struct wire_ofi *ofi;
	struct wire_loop *loop;
	struct nic_mcast *mcast; /* NULL until a group is used */
	const struct sv_config *cfg;
	struct nic_sink sink;
	uint64_t now_ns; /* of the last pass */
	uint32_t slot[NIC_SLOTS];
	unsigned slots;
	struct ifaddrs *addresses; /* of this host, or NULL; addr.c */
	uint64_t addresses_ns; /* as of then */

	/* Descriptors beside the wires: watch.h. */
	struct nic_watch *watches;
	int watch_fd; /* epoll */
	uint64_t watched_ns;

	/* Look-ups of the connection manager: cm_port.h. */
	void (*cm_event)(const struct emu_cm_event *event);
	struct nic_cm_asker *cm_askers[2][2]; /* [IPv4][this host] */
	struct nic_cm_questions cm_questions; /* asked, not answered yet */
	struct nic_cm_answer *cm_answers; /* to look-ups, not given yet */
	unsigned cm_answer_count;
	bool cm_not_allowed, cm_noticed; /* a look-up went to a host that may not answer; user knows */
	struct nic_cm_retry *cm_retries; /* questions to ask again */
	uint64_t cm_nonce; /* 0: not chosen yet */

	/* The thread. */
	pthread_t thread;
	bool thread_runs;
	atomic_bool stop;
	atomic_bool asleep; /* wants the doorbell; set under the lock */
	int doorbell; /* eventfd */
	int standby_timer; /* timerfd: look whether the program still drives */

	/* Who drives instead of the thread. */
	atomic_bool spinning; /* a program polls all the time */
	atomic_uint waiters; /* callers inside nic_wait_fd */
	atomic_bool waits_here; /* the program blocks in nic_wait_fd, not in a poll(2) of its own */
	atomic_uint passes; /* inline passes ever made */
	unsigned spins; /* polls in quick succession */
	uint64_t last_call_ns; /* end of the last pass inside a call */

	/* One timer for all who sleep. */
	int deadline_timer; /* timerfd, absolute */
	uint64_t deadline_ns; /* it is set to; UINT64_MAX: not set */

	unsigned refs; /* nic_get minus nic_put; process lock of nic.c */
};

/* The NIC of this process, NULL before the first nic_get; guarded by nic_process_lock. */
extern struct nic *nic_current;
extern pthread_mutex_t nic_process_lock;

#endif
