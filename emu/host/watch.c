/* SPDX-License-Identifier: BSD-2-Clause */
#include "watch.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

/* How often a spinning program looks: a system call each. */
#define LOOK_NS 50000u
#define NEWS 16

int nic_watch_add(struct nic *nic, struct nic_watch *w)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = w };

	if (epoll_ctl(nic->watch_fd, EPOLL_CTL_ADD, w->fd, &ev))
		return -errno;
	w->next = nic->watches;
	nic->watches = w;
	return 0;
}

void nic_watch_remove(struct nic *nic, struct nic_watch *w)
{
	struct nic_watch **link = &nic->watches;

	while (*link != w)
		link = &(*link)->next;
	*link = w->next;
	epoll_ctl(nic->watch_fd, EPOLL_CTL_DEL, w->fd, NULL);
}

static bool is_watched(const struct nic *nic, const struct nic_watch *w)
{
	const struct nic_watch *it = nic->watches;

	while (it && it != w)
		it = it->next;
	return it;
}

void nic_watch_poll(struct nic *nic)
{
	struct epoll_event ev[NEWS];
	int n;

	if (!nic->watches || nic->now_ns - nic->watched_ns < LOOK_NS)
		return;
	nic->watched_ns = nic->now_ns;
	n = epoll_wait(nic->watch_fd, ev, NEWS, 0);
	for (int i = 0; i < n; i++) {
		struct nic_watch *w = ev[i].data.ptr;

		/* One that came before may have removed it. */
		if (is_watched(nic, w))
			w->readable(nic, w);
	}
}

void nic_watch_close(struct nic *nic)
{
	for (struct nic_watch *w = nic->watches; w; w = w->next)
		close(w->fd);
	nic->watches = NULL;
	if (nic->watch_fd >= 0)
		close(nic->watch_fd);
	nic->watch_fd = -1;
}
