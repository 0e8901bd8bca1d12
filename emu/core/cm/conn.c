// SPDX-License-Identifier: BSD-2-Clause
#include "cm/conn.h"

#include <stdlib.h>

#include "cm/verify.h"
#include "err.h"

#define IDS_MAX 65536u
#define INDEX_BITS 16
#define TIMERS_OF_AN_ID 2

/* splitmix64 */
static uint64_t next_random(struct emu_cm *cm)
{
	uint64_t z = (cm->rng += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* ---- hash chains --------------------------------------------------------------- */

static uint32_t bucket_of(uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) % EMU_CM_BUCKETS;
}

static void unlink_by_id(struct emu_cm_id *id)
{
	struct emu_cm_id **link = &id->cm->by_id[bucket_of(id->remote_id)];

	if (!id->in_by_id)
		return;
	while (*link != id)
		link = &(*link)->next_by_id;
	*link = id->next_by_id;
	id->in_by_id = false;
}

static void unlink_by_qpn(struct emu_cm_id *id)
{
	struct emu_cm_id **link = &id->cm->by_qpn[bucket_of(id->remote_qpn)];

	if (!id->in_by_qpn)
		return;
	while (*link != id)
		link = &(*link)->next_by_qpn;
	*link = id->next_by_qpn;
	id->in_by_qpn = false;
}

static void link_by_id(struct emu_cm_id *id)
{
	struct emu_cm_id **head = &id->cm->by_id[bucket_of(id->remote_id)];

	id->next_by_id = *head;
	*head = id;
	id->in_by_id = true;
}

static void link_by_qpn(struct emu_cm_id *id)
{
	struct emu_cm_id **head = &id->cm->by_qpn[bucket_of(id->remote_qpn)];

	id->next_by_qpn = *head;
	*head = id;
	id->in_by_qpn = true;
}

void emu_cm_id_set_remote(struct emu_cm_id *id, const struct emu_cm_msg *msg)
{
	unlink_by_id(id);
	unlink_by_qpn(id);
	id->remote_id = (uint32_t)msg->local_id;
	id->remote_guid = msg->ca_guid;
	id->remote_qpn = (uint32_t)msg->qpn;
	link_by_id(id);
	if (msg->kind != EMU_CM_MSG_SIDR_REQ)
		link_by_qpn(id);
}

struct emu_cm_id *emu_cm_find_remote(const struct emu_cm *cm, const struct wire_peer *peer,
				     uint64_t remote_id, uint64_t guid)
{
	struct emu_cm_id *id = cm->by_id[bucket_of(remote_id)];

	while (id && (id->remote_id != remote_id || id->route.peer != peer ||
		      (guid && id->remote_guid != guid)))
		id = id->next_by_id;
	return id;
}

static bool holds_qp(const struct emu_cm_id *id)
{
	return id->state != EMU_CM_ST_TIMEWAIT && id->state != EMU_CM_ST_ANSWERED &&
	       id->state != EMU_CM_ST_IDLE;
}

struct emu_cm_id *emu_cm_find_qpn(const struct emu_cm *cm, const struct emu_cm_id *self,
				  const struct wire_peer *peer, uint64_t remote_qpn)
{
	struct emu_cm_id *id = cm->by_qpn[bucket_of(remote_qpn)];

	while (id && (id == self || id->remote_qpn != remote_qpn || id->route.peer != peer ||
		      !holds_qp(id)))
		id = id->next_by_qpn;
	return id;
}

/* ---- timers ---------------------------------------------------------------------- */

static struct emu_cm_id *id_of(struct emu_timer *timer, size_t offset)
{
	return (struct emu_cm_id *)((char *)timer - offset);
}

static void expire(struct emu_timer *timer)
{
	struct emu_cm_id *id = id_of(timer, offsetof(struct emu_cm_id, timer));
	const struct emu_cm_in nothing = { 0 };
	enum emu_cm_on on = EMU_CM_ON_TIMEOUT;

	if (emu_cm_can(id, EMU_CM_ON_GIVE_UP)) {
		id->cm->dev->counters.cm_timeout++;
		if (id->retries)
			id->retries--;
		else
			on = EMU_CM_ON_GIVE_UP;
	}
	emu_cm_do(id, on, &nothing);
}

static void verify(struct emu_timer *timer)
{
	emu_cm_verify(id_of(timer, offsetof(struct emu_cm_id, verify)));
}

/* ---- life -------------------------------------------------------------------------- */

/* Only their end is missing, and nobody waits for it. */
static void free_orphans(struct emu_cm *cm)
{
	for (uint32_t i = 1; i < cm->ids.high; i++) {
		struct emu_cm_id *id = emu_cm_id_at(cm, i);

		if (id && id->orphan &&
		    (id->state == EMU_CM_ST_TIMEWAIT || id->state == EMU_CM_ST_ANSWERED))
			emu_cm_id_free(id);
	}
}

static int number(struct emu_cm_id *id)
{
	struct emu_cm *cm = id->cm;
	uint32_t index;

	if (cm->ids.used == IDS_MAX - 1)
		free_orphans(cm);
	if (emu_timers_reserve(&cm->dev->timers, cm->dev->timer_users + TIMERS_OF_AN_ID) ||
	    emu_idtab_add(&cm->ids, id, &index))
		return -EMU_ENOMEM;
	cm->dev->timer_users += TIMERS_OF_AN_ID;
	id->local_id = (uint32_t)(next_random(cm) << INDEX_BITS) | index;
	return 0;
}

struct emu_cm_id *emu_cm_id_new(struct emu_cm *cm, uint16_t ps)
{
	struct emu_cm_id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	id->cm = cm;
	id->ps = ps;
	id->retries = cm->dev->cfg.cm.max_retries;
	emu_timer_init(&id->timer, expire);
	emu_timer_init(&id->verify, verify);
	if (number(id)) {
		free(id);
		return NULL;
	}
	id->tid = (next_random(cm) << 32) | id->local_id;
	return id;
}

void emu_cm_id_take(struct emu_cm_id *id)
{
	if (id->listener)
		id->listener->pending--;
	id->listener = NULL;
}

void emu_cm_id_free(struct emu_cm_id *id)
{
	struct emu_cm *cm = id->cm;

	emu_cm_id_take(id);
	emu_cm_stop_probing(id);
	unlink_by_id(id);
	unlink_by_qpn(id);
	emu_timer_stop(&cm->dev->timers, &id->timer);
	emu_timer_stop(&cm->dev->timers, &id->verify);
	cm->dev->timer_users -= TIMERS_OF_AN_ID;
	emu_idtab_del(&cm->ids, id->local_id & (IDS_MAX - 1));
	if (id->route.peer)
		id->route.peer->ops->put(id->route.peer);
	free(id);
}

struct emu_cm_id *emu_cm_id_get(const struct emu_cm *cm, uint64_t local_id)
{
	struct emu_cm_id *id = emu_cm_id_at(cm, (uint32_t)local_id & (IDS_MAX - 1));

	return id && id->local_id == local_id ? id : NULL;
}
