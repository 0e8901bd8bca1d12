/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events behind a real file descriptor: the mechanism of completion channels
 * and of a context's async_fd. The fd counts what waits in the queue, so a
 * program may poll, epoll (level or edge) and fcntl(O_NONBLOCK) it.
 *
 * Each source of events is a struct vs_event inside its object, so that
 * raising one needs no memory.
 */
#ifndef VS_EVENT_H
#define VS_EVENT_H

#include <emu/nic.h>

#include <pthread.h>
#include <sys/types.h>

struct vs_event {
	struct vs_event *next;
	void *owner;              /* the ibv_cq, ibv_srq or ibv_qp it is about */
	enum emu_event_type type; /* asynchronous events only */
	uint32_t pending;         /* raised and not yet fetched */
	uint32_t fetched;         /* how many the program owes an ack for, in all */
};

struct vs_event_queue {
	int fd;
	pthread_mutex_t lock;
	struct vs_event *head, *tail;
	pid_t pid;        /* whose it is: a forked child has a copy */
	unsigned readers; /* inside vs_event_fetch */
	bool closed;
	pthread_cond_t left; /* by a reader */
};

/* 0, or -errno (EMFILE…). */
int vs_event_queue_init(struct vs_event_queue *q);
/*
 * Close the descriptor: from now on events go nowhere, and who waits in
 * vs_event_fetch waits for ever, as in a read(2) of a descriptor that was closed.
 * In a forked child: lets go of the copy, and the parent notices nothing.
 */
void vs_event_queue_close(struct vs_event_queue *q);
/* Nothing may be pending any more. Closes. */
void vs_event_queue_fini(struct vs_event_queue *q);
/* Under the device lock (it is called from the sink) or not; never blocks. */
void vs_event_raise(struct vs_event_queue *q, struct vs_event *ev);
/*
 * The next event's owner and type. Blocks, driving the NIC meanwhile, unless
 * the fd is O_NONBLOCK. 0; -EINTR; -EAGAIN; -EIO in a forked child. When the
 * process ends, or the queue does, it blocks as a read(2) would that never ends.
 */
int vs_event_fetch(struct vs_event_queue *q, struct nic *nic, void **owner,
                   enum emu_event_type *type);
/* The source goes away: drop what was not fetched. Returns ev->fetched; in a forked child 0. */
uint32_t vs_event_cancel(struct vs_event_queue *q, struct vs_event *ev);
/* Block until *acked, guarded by mutex and signalled by cond, has reached fetched. */
void vs_event_wait_acked(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *acked,
                         uint32_t fetched);

#endif
