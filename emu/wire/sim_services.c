/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a host gives its engines beside packets: look-ups of listeners, a place
 * for the connection manager's events, multicast groups.
 */
#include "sim_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same(const struct emu_gid *a, const struct emu_gid *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* ---- events of the connection manager ------------------------------------- */

void sim_cm_event(void *host, const struct emu_cm_event *event)
{
	struct sim_engine *engine = host;
	struct sim_cm_log *log = &engine->cm;
	struct sim_cm_event *item;

	if (log->head == log->count)
		log->head = log->count = 0;
	if (log->count == log->room) {
		log->room = log->room ? 2 * log->room : 16;
		log->item = sim_need(realloc(log->item, log->room * sizeof(*log->item)));
	}
	item = &log->item[log->count++];
	item->time = engine->sim->now;
	item->event = *event;
	if (event->params.private_data_len)
		memcpy(item->data, event->params.private_data, event->params.private_data_len);
}

bool sim_take_cm_event(struct sim *sim, unsigned index, struct sim_cm_event *event)
{
	struct sim_cm_log *log = &sim->engine[index].cm;

	if (log->head == log->count)
		return false;
	*event = log->item[log->head++];
	event->event.params.private_data = event->data;
	return true;
}

void sim_cm_log_free(struct sim_cm_log *log)
{
	free(log->item);
}

/* ---- look-ups ----------------------------------------------------------------- */

struct lookup {
	struct emu_cm_addr dst;
	uint16_t ps;
	uint32_t cookie;
	bool found;
};

static void put_lookup(struct sim_peer *peer, enum sim_kind kind, const struct lookup *lookup)
{
	struct sim_arrival *event =
		sim_new_event(peer, kind, sim_arrival_time(peer, false), sizeof(*lookup));

	memcpy(event->data, lookup, sizeof(*lookup));
	sim_queue_push(&peer->sim->queue, &event->at);
}

void sim_refuse_peers(struct sim *sim, unsigned n)
{
	sim->refused_peers = n;
}

void sim_lose_lookups(struct sim *sim, unsigned n)
{
	sim->lose_lookups = n;
}

unsigned sim_lookups(const struct sim *sim)
{
	return sim->lookups;
}

void sim_cm_lookup(void *host, const struct emu_cm_addr *dst, uint16_t ps, uint32_t cookie)
{
	const struct lookup lookup = {.dst = *dst, .ps = ps, .cookie = cookie};
	struct sim_engine *engine = host;
	struct sim *sim = engine->sim;

	sim->lookups++;
	if (sim->lose_lookups) {
		sim->lose_lookups--;
		return;
	}
	for (unsigned i = 0; i < sim->count; i++) {
		struct emu_gid gid = sim_gid(i);

		if (same(&gid, &dst->ip))
			put_lookup(&sim->peer[engine->index][i], SIM_LOOKUP, &lookup);
	}
}

void sim_fire_lookup(struct sim_arrival *event)
{
	struct sim_peer *peer = event->peer;
	struct sim_engine *dst = &peer->sim->engine[peer->dst];
	struct lookup lookup;

	if (peer->cut)
		return;
	memcpy(&lookup, event->data, sizeof(lookup));
	/* The host lives on without the process, and says that nobody has the port. */
	lookup.found = !dst->dead && emu_cm_listening(dst->dev, lookup.ps, &lookup.dst);
	put_lookup(peer, SIM_LOOKUP_ANSWER, &lookup);
}

void sim_fire_lookup_answer(struct sim_arrival *event)
{
	struct sim_peer *peer = event->peer;
	struct emu_dev *dev = peer->sim->engine[peer->src].dev;
	struct lookup lookup;

	if (peer->cut)
		return;
	memcpy(&lookup, event->data, sizeof(lookup));
	if (lookup.found)
		emu_cm_found(dev, lookup.cookie, peer->dst);
	else
		emu_cm_refused(dev, lookup.cookie);
}

/* ---- multicast ------------------------------------------------------------------ */

static struct sim_group_peer *peer_of(struct wire_peer *core)
{
	return (struct sim_group_peer *)((char *)core - offsetof(struct sim_group_peer, core));
}

/* A member that cannot take it right now misses it. */
static enum wire_sent send_to_members(struct wire_peer *core, struct emu_tx *tx)
{
	struct sim_group_peer *peer = peer_of(core);

	for (unsigned i = 0; i < peer->sim->count; i++) {
		struct wire_peer *member = &peer->sim->peer[peer->src][i].core;

		if (peer->group->members >> i & 1 && member->ops->send(member, tx) == WIRE_FAULT)
			return WIRE_FAULT;
	}
	return WIRE_DONE;
}

static enum wire_probe probe_group(struct wire_peer *core)
{
	return WIRE_PROBE_DOWN;
}

static void abort_group(struct wire_peer *core)
{
	/* Datagrams are never held. */
}

static void put_group(struct wire_peer *core)
{
	if (peer_of(core)->refs-- == 0) {
		fputs("wire_sim: a group's peer was put more often than got\n", stderr);
		abort();
	}
}

static const struct wire_ops group_ops = {
	.send = send_to_members,
	.probe = probe_group,
	.abort = abort_group,
	.put = put_group,
};

static struct sim_group *find_group(struct sim *sim, const struct emu_gid *mgid)
{
	struct sim_group *group;

	for (unsigned i = 0; i < sim->groups; i++) {
		if (same(&sim->group[i].gid, mgid))
			return &sim->group[i];
	}
	if (sim->groups == SIM_GROUPS) {
		fputs("wire_sim: too many multicast groups\n", stderr);
		abort();
	}
	group = &sim->group[sim->groups++];
	group->gid = *mgid;
	for (unsigned i = 0; i < SIM_ENGINES; i++)
		group->peer[i] = (struct sim_group_peer){
			.core = {&group_ops, 0, 1}, .sim = sim, .group = group, .src = i};
	return group;
}

int sim_mcast(void *host, const struct emu_gid *mgid, bool join)
{
	struct sim_engine *engine = host;
	struct sim_group *group = find_group(engine->sim, mgid);

	if (join)
		group->members |= 1u << engine->index;
	else
		group->members &= ~(1u << engine->index);
	return 0;
}

struct wire_peer *sim_group_peer(struct sim_engine *engine, const struct emu_gid *mgid)
{
	struct sim_group_peer *peer = &find_group(engine->sim, mgid)->peer[engine->index];

	peer->refs++;
	return &peer->core;
}

unsigned sim_group_references(const struct sim *sim)
{
	unsigned held = 0;

	for (unsigned g = 0; g < sim->groups; g++) {
		for (unsigned i = 0; i < SIM_ENGINES; i++)
			held += sim->group[g].peer[i].refs;
	}
	return held;
}
