/* SPDX-License-Identifier: BSD-2-Clause */
/* Life of an event until it is fetched. See notice.h. */
#include "notice.h"

#include "id.h"
#include "incoming.h"

#include <errno.h>
#include <stdlib.h>

struct cs_notice *cs_notice_new(struct cs_id *id, enum rdma_cm_event_type type, int status)
{
	struct cs_notice *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->id = id;
	n->ev.owner = n;
	n->event.id = id ? &id->id : NULL;
	n->event.event = type;
	n->event.status = status;
	return n;
}

void cs_notice_free(struct cs_notice *n)
{
	while (n->followers) {
		struct cs_notice *f = n->followers;

		n->followers = f->next;
		free(f);
	}
	free(n);
}

void cs_notice_post(struct cs_notice *n)
{
	struct cs_id *id = n->id;

	pthread_mutex_lock(&id->lock);
	n->next = NULL;
	*id->last_notice = n;
	id->last_notice = &n->next;
	vs_event_raise(&cs_channel(id->id.channel)->queue, &n->ev);
	pthread_mutex_unlock(&id->lock);
}

int cs_notice_say(struct cs_id *id, enum rdma_cm_event_type type)
{
	struct cs_notice *n = cs_notice_new(id, type, 0);

	if (!n)
		return -ENOMEM;
	cs_notice_post(n);
	return 0;
}

/* Forget a notice, or have the one who has just fetched it do so. Returns the next link. */
static struct cs_notice **cancel(struct cs_id *id, struct cs_notice **link)
{
	struct cs_notice *n = *link;

	/* The list of requests is the device lock's; a group's events are never on it. */
	if (n->event.listen_id)
		cs_incoming_forget(n);
	if (vs_event_cancel(&cs_channel(id->id.channel)->queue, &n->ev)) {
		n->dead = true;
		return &n->next;
	}
	*link = n->next;
	if (!n->next)
		id->last_notice = link;
	cs_notice_free(n);
	return link;
}

void cs_notices_cancel(struct cs_id *id)
{
	struct cs_notice **link;

	pthread_mutex_lock(&id->lock);
	for (link = &id->notices; *link;)
		link = cancel(id, link);
	pthread_mutex_unlock(&id->lock);
}

void cs_notices_cancel_group(struct cs_id *id, struct cs_group *group)
{
	struct cs_notice **link;

	pthread_mutex_lock(&id->lock);
	for (link = &id->notices; *link;)
		link = (*link)->group == group ? cancel(id, link) : &(*link)->next;
	pthread_mutex_unlock(&id->lock);
}

void cs_notices_move(struct cs_id *id, struct rdma_event_channel *to)
{
	struct cs_channel *from;
	uint32_t fetched;

	pthread_mutex_lock(&id->lock);
	from = cs_channel(id->id.channel);
	fetched = id->fetched;
	for (struct cs_notice *n = id->notices; n; n = n->next) {
		if (vs_event_cancel(&from->queue, &n->ev))
			fetched++;
		else
			vs_event_raise(&cs_channel(to)->queue, &n->ev);
	}
	cs_channel_ref(cs_channel(to));
	id->id.channel = to;
	/* Nobody may still handle an event of the old channel when the caller goes on. */
	while ((int32_t)(id->acked - fetched) < 0)
		pthread_cond_wait(&id->changed, &id->lock);
	pthread_mutex_unlock(&id->lock);
	cs_channel_unref(from);
}

void cs_notices_wait_acked(struct cs_id *id)
{
	pthread_mutex_lock(&id->lock);
	while (id->notices || id->acked != id->fetched)
		pthread_cond_wait(&id->changed, &id->lock);
	pthread_mutex_unlock(&id->lock);
}
