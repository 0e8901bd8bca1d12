/* SPDX-License-Identifier: BSD-2-Clause */
/* Event queues with an eventfd that counts them. See event.h. */
#include "event.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

int vs_event_queue_init(struct vs_event_queue *q)
{
	q->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	if (q->fd < 0)
		return -errno;
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->left, NULL);
	q->head = NULL;
	q->tail = NULL;
	q->pid = getpid();
	q->readers = 0;
	q->closed = false;
	return 0;
}

void vs_event_queue_close(struct vs_event_queue *q)
{
	/* The lock may be held by, and the readers are, threads that only the parent has. */
	if (q->pid != getpid()) {
		if (q->fd >= 0)
			close(q->fd);
		q->fd = -1;
		return;
	}
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	if (q->readers)
		eventfd_write(q->fd, 1);
	while (q->readers)
		pthread_cond_wait(&q->left, &q->lock);
	if (q->fd >= 0)
		close(q->fd);
	q->fd = -1;
	pthread_mutex_unlock(&q->lock);
}

void vs_event_queue_fini(struct vs_event_queue *q)
{
	vs_event_queue_close(q);
	if (q->pid != getpid())
		return;
	pthread_cond_destroy(&q->left);
	pthread_mutex_destroy(&q->lock);
}

static void append(struct vs_event_queue *q, struct vs_event *ev)
{
	ev->next = NULL;
	if (q->head)
		q->tail->next = ev;
	else
		q->head = ev;
	q->tail = ev;
}

void vs_event_raise(struct vs_event_queue *q, struct vs_event *ev)
{
	pthread_mutex_lock(&q->lock);
	if (ev->pending++ == 0)
		append(q, ev);
	eventfd_write(q->fd, 1);
	pthread_mutex_unlock(&q->lock);
}

/* The fd's count is the sum of all pending, so reading under the lock never blocks. */
static bool take(struct vs_event_queue *q, void **owner, enum emu_event_type *type)
{
	struct vs_event *ev;
	eventfd_t one;

	pthread_mutex_lock(&q->lock);
	ev = q->head;
	if (ev) {
		q->head = ev->next;
		ev->fetched++;
		if (--ev->pending)
			append(q, ev);
		*owner = ev->owner;
		*type = ev->type;
		eventfd_read(q->fd, &one);
	}
	pthread_mutex_unlock(&q->lock);
	return ev;
}

static bool is_closed(struct vs_event_queue *q)
{
	bool closed;

	pthread_mutex_lock(&q->lock);
	closed = q->closed;
	pthread_mutex_unlock(&q->lock);
	return closed;
}

/* 0; -errno; -EBADF when the queue is closed. */
static int wait_and_take(struct vs_event_queue *q, struct nic *nic, void **owner,
                         enum emu_event_type *type)
{
	int err;

	for (;;) {
		if (is_closed(q))
			return -EBADF;
		if (take(q, owner, type))
			return 0;
		err = nic_wait_fd(nic, q->fd);
		if (err)
			return err;
	}
}

static void leave(void *arg)
{
	struct vs_event_queue *q = arg;

	pthread_mutex_lock(&q->lock);
	q->readers--;
	pthread_cond_broadcast(&q->left);
	pthread_mutex_unlock(&q->lock);
}

int vs_event_fetch(struct vs_event_queue *q, struct nic *nic, void **owner,
                   enum emu_event_type *type)
{
	int err;

	if (!nic_alive(nic) && !nic_exiting(nic))
		return -EIO;
	pthread_mutex_lock(&q->lock);
	q->readers++;
	pthread_mutex_unlock(&q->lock);
	pthread_cleanup_push(leave, q);
	err = wait_and_take(q, nic, owner, type);
	pthread_cleanup_pop(1);
	if (err != -EBADF)
		return err;
	pause();
	return -EINTR;
}

uint32_t vs_event_cancel(struct vs_event_queue *q, struct vs_event *ev)
{
	struct vs_event *it, *prev = NULL;
	uint32_t fetched;
	eventfd_t one;

	/* The count behind the descriptor is the parent's, and its lock may never be free. */
	if (q->pid != getpid())
		return 0;
	pthread_mutex_lock(&q->lock);
	for (it = q->head; it && it != ev; it = it->next)
		prev = it;
	if (it && prev)
		prev->next = it->next;
	else if (it)
		q->head = it->next;
	if (it && q->tail == it)
		q->tail = prev;
	for (; ev->pending; ev->pending--)
		eventfd_read(q->fd, &one);
	fetched = ev->fetched;
	pthread_mutex_unlock(&q->lock);
	return fetched;
}

void vs_event_wait_acked(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *acked,
                         uint32_t fetched)
{
	pthread_mutex_lock(mutex);
	while (*acked != fetched)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}
