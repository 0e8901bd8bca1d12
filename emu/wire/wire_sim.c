/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulated wire and its world: one heap of events in virtual time, one
 * generator of random numbers. All order comes from (time, sequence number),
 * never from an address, so a seed replays exactly.
 *
 * The core calls send() from inside emu_run(); nothing here calls back into an
 * engine from there. Every door of the core is entered from fire() or settle.
 */
#include "sim_parts.h"
#include "wire_sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOWHERE SIM_ENGINES /* the peer of an address that no engine has */
#define LATE_DELAYS 8
#define STUCK                                                                                      \
	1000000 /* steps without the clock moving: an engine asks for the same time for ever */

/* ---- chance ------------------------------------------------------------- */

static uint64_t next_random(struct sim *sim)
{
	/* splitmix64: every seed is a good one */
	uint64_t z = (sim->rng += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint32_t sim_random(struct sim *sim, uint32_t n)
{
	return (uint32_t)(((next_random(sim) >> 32) * n) >> 32);
}

static bool happens(struct sim *sim, uint32_t ppm)
{
	return ppm && sim_random(sim, SIM_PPM) < ppm;
}

static void digest(struct sim *sim, const void *data, size_t len)
{
	const uint8_t *p = data;

	/* FNV-1a */
	for (size_t i = 0; i < len; i++)
		sim->digest = (sim->digest ^ p[i]) * 0x100000001b3u;
}

/* ---- events -------------------------------------------------- */

struct sim_arrival *sim_new_event(struct sim_peer *peer, enum sim_kind kind, uint64_t time,
				  size_t len)
{
	struct sim_arrival *event = sim_need(calloc(1, sizeof(*event) + len));

	event->kind = kind;
	event->at.time = time;
	event->at.seq = peer->sim->seq++;
	event->epoch = peer->epoch;
	event->peer = peer;
	event->len = len;
	return event;
}

static void schedule(struct sim_peer *peer, enum sim_kind kind, uint64_t time)
{
	sim_queue_push(&peer->sim->queue, &sim_new_event(peer, kind, time, 0)->at);
}

/* ---- struct emu_env ------------------------------------------------------ */

static void note_cq_event(void *host, void *cq_user)
{
	struct sim_engine *engine = host;
	struct sim_event event = {
		.time = engine->sim->now, .type = EMU_EVENT_NONE, .user = cq_user};

	sim_log_put(&engine->cq, &event);
}

static void note_async_event(void *host, enum emu_event_type type, void *user)
{
	struct sim_engine *engine = host;
	struct sim_event event = {.time = engine->sim->now, .type = type, .user = user};

	sim_log_put(&engine->async, &event);
}

static unsigned owner(const struct sim *sim, const struct emu_gid *gid, uint32_t qpn)
{
	struct emu_gid want;

	for (unsigned i = 0; i < sim->count; i++) {
		want = sim_gid(i);
		if ((qpn >> 12) % SIM_ENGINES == i && memcmp(&want, gid, sizeof(want)) == 0)
			return i;
	}
	return NOWHERE;
}

static struct wire_peer *get_peer(void *host, const struct emu_gid *dgid, uint32_t qpn)
{
	struct sim_engine *engine = host;
	struct sim_peer *peer;

	if (engine->sim->refused_peers) {
		engine->sim->refused_peers--;
		return NULL;
	}
	if (emu_gid_is_multicast(dgid))
		return sim_group_peer(engine, dgid);
	peer = &engine->sim->peer[engine->index][owner(engine->sim, dgid, qpn)];
	peer->refs++;
	return &peer->core;
}

static const struct emu_env environment = {
	.peer_get = get_peer,
	.copy = sim_guarded_copy,
	.touch = sim_guarded_touch,
	.cas64 = sim_guarded_cas64,
	.faa64 = sim_guarded_faa64,
	.mcast = sim_mcast,
	.cq_event = note_cq_event,
	.async_event = note_async_event,
	.cm_lookup = sim_cm_lookup,
	.cm_event = sim_cm_event,
};

/* ---- struct wire_ops ------------------------------------------------------ */

static struct sim_peer *peer_of(struct wire_peer *core)
{
	return (struct sim_peer *)((char *)core - offsetof(struct sim_peer, core));
}

static bool reliable(const struct sim *sim)
{
	return sim->params.flavour == SIM_RELIABLE;
}

static bool unreachable(const struct sim_peer *peer)
{
	if (peer->dst == NOWHERE || peer->cut)
		return true;
	return peer->sim->engine[peer->dst].noticed || peer->sim->engine[peer->src].dead;
}

uint64_t sim_arrival_time(struct sim_peer *peer, bool late)
{
	struct sim *sim = peer->sim;
	uint64_t delay = sim->params.delay_ns ? sim->params.delay_ns : 1;
	uint64_t time = sim->now + delay;

	if (sim->params.jitter_ns)
		time += next_random(sim) % (sim->params.jitter_ns + 1);
	if (late)
		time += LATE_DELAYS * delay;
	if (!reliable(sim))
		return time;
	if (time < peer->last_arrival)
		time = peer->last_arrival;
	peer->last_arrival = time;
	return time;
}

/* Reliable wires only: must this send wait? */
static bool busy(struct sim_peer *peer)
{
	struct sim *sim = peer->sim;
	uint64_t wait = 2 * (sim->params.delay_ns ? sim->params.delay_ns : 1);

	if (peer->busy)
		return true;
	if (unreachable(peer))
		return false;
	if (!peer->connected && sim->params.connect_ns) {
		peer->connected = true;
		wait = sim->params.connect_ns;
	} else if (!happens(sim, sim->params.busy_ppm)) {
		return false;
	}
	peer->busy = true;
	schedule(peer, SIM_WRITABLE, sim->now + wait);
	return true;
}

static enum sim_verdict judge(struct sim_peer *peer, const struct emu_tx *tx)
{
	struct sim *sim = peer->sim;
	struct sim_frame frame = {.src = peer->src,
	                          .dst = peer->dst,
	                          .time = sim->now,
	                          .hdr = tx->hdr,
	                          .hdr_len = tx->hdr_len,
	                          .payload = tx->payload,
	                          .tx = tx};
	enum sim_verdict verdict = SIM_PASS;

	if (sim->filter)
		verdict = sim->filter(sim->filter_arg, &frame);
	if (verdict != SIM_PASS || reliable(sim))
		return verdict;
	if (happens(sim, sim->params.loss_ppm))
		return SIM_DROP;
	if (happens(sim, sim->params.dup_ppm))
		return SIM_TWICE;
	return happens(sim, sim->params.reorder_ppm) ? SIM_LATE : SIM_PASS;
}

static enum wire_sent send_packet(struct wire_peer *core, struct emu_tx *tx)
{
	struct sim_peer *peer = peer_of(core);
	struct sim *sim = peer->sim;
	struct sim_arrival *event, *twin;
	enum sim_verdict verdict;
	bool hold;

	if (reliable(sim) && busy(peer))
		return WIRE_BUSY;
	if (emu_tx_probe(sim->engine[peer->src].dev, tx))
		return WIRE_FAULT;
	if (unreachable(peer))
		return WIRE_DONE;
	verdict = judge(peer, tx);
	if (verdict == SIM_DROP)
		return WIRE_DONE;
	hold = reliable(sim) && verdict != SIM_TWICE && tx->payload > EMU_TX_COPY_MAX &&
	       happens(sim, sim->params.held_ppm);
	event = sim_new_event(peer, SIM_FRAME, 0, tx->hdr_len + tx->payload);
	if (hold) {
		event->held = tx;
		sim->held++;
	} else if (emu_tx_copy(sim->engine[peer->src].dev, tx, event->data)) {
		free(event);
		return WIRE_FAULT;
	}
	event->at.time = sim_arrival_time(peer, verdict == SIM_LATE);
	if (verdict == SIM_TWICE) {
		twin = sim_new_event(peer, SIM_FRAME, sim_arrival_time(peer, false), event->len);
		memcpy(twin->data, event->data, event->len);
		sim_queue_push(&sim->queue, &twin->at);
	}
	sim_queue_push(&sim->queue, &event->at);
	return hold ? WIRE_HELD : WIRE_DONE;
}

static enum wire_probe probe_peer(struct wire_peer *core)
{
	struct sim_peer *peer = peer_of(core);

	if (!reliable(peer->sim) || unreachable(peer))
		return WIRE_PROBE_DOWN;
	schedule(peer, SIM_PROBE, sim_arrival_time(peer, false));
	return WIRE_PROBE_STARTED;
}

/* The link is lost in both directions; each end learns it as soon as the engines have settled. */
static void cut_link(struct sim_peer *peer)
{
	struct sim_peer *back = &peer->sim->peer[peer->dst][peer->src];

	peer->epoch++;
	peer->connected = false;
	schedule(peer, SIM_GONE, peer->sim->now);
	if (back == peer)
		return;
	back->epoch++;
	back->connected = false;
	schedule(back, SIM_GONE, peer->sim->now);
}

static void abort_held(struct wire_peer *core)
{
	struct sim_peer *peer = peer_of(core);

	if (peer->dst != NOWHERE)
		cut_link(peer);
}

static void put_peer(struct wire_peer *core)
{
	struct sim_peer *peer = peer_of(core);

	if (peer->refs-- == 0) {
		fputs("wire_sim: a peer was put more often than got\n", stderr);
		abort();
	}
}

static const struct wire_ops operations = {
	.send = send_packet,
	.probe = probe_peer,
	.abort = abort_held,
	.put = put_peer,
};

/* ---- events that are due --------------------------------------------------- */

/* Gives a held packet back, with its bytes in the frame if the link still stands. */
static bool release_held(struct sim_arrival *event, bool arrives)
{
	struct emu_dev *dev = event->peer->sim->engine[event->peer->src].dev;
	struct emu_tx *tx = event->held;
	int err = 0;

	if (!tx)
		return arrives;
	event->held = NULL;
	event->peer->sim->held--;
	if (arrives)
		err = emu_tx_copy(dev, tx, event->data);
	emu_wire_tx_done(dev, tx);
	if (err) /* as a stream that broke in the middle of a frame */
		cut_link(event->peer);
	return arrives && !err;
}

static void deliver(struct sim_arrival *event)
{
	struct sim_peer *peer = event->peer;
	struct sim *sim = peer->sim;
	struct sim_engine *dst = &sim->engine[peer->dst];
	bool arrives = !dst->dead && !peer->cut && event->epoch == peer->epoch;

	if (!release_held(event, arrives))
		return;
	if (event->kind == SIM_PROBE) {
		struct sim_peer *back = &sim->peer[peer->dst][peer->src];

		schedule(peer, SIM_ANSWER, sim_arrival_time(back, false));
		return;
	}
	digest(sim, &event->at.time, sizeof(event->at.time));
	digest(sim, event->data, event->len);
	sim->frames++;
	emu_input(dst->dev, &sim->peer[peer->dst][peer->src].core, event->data, event->len);
}

static void spread_notice(struct sim *sim, unsigned dead)
{
	sim->engine[dead].noticed = true;
	for (unsigned i = 0; i < sim->count; i++) {
		if (i != dead)
			cut_link(&sim->peer[i][dead]);
	}
}

/* Takes an event that is due; false: its engine is paused, it comes again later. */
static bool fire(struct sim_arrival *event)
{
	struct sim_peer *peer = event->peer;
	bool inbound = event->kind == SIM_FRAME || event->kind == SIM_PROBE ||
		       event->kind == SIM_LOOKUP;
	struct sim_engine *engine = &peer->sim->engine[inbound ? peer->dst : peer->src];

	if (event->kind == SIM_NOTICE) {
		spread_notice(peer->sim, engine->index);
		return true;
	}
	if (engine->paused_until > peer->sim->now) {
		event->at.time = engine->paused_until;
		sim_queue_push(&peer->sim->queue, &event->at);
		return false;
	}
	if (event->kind == SIM_LOOKUP) {
		sim_fire_lookup(event);
	} else if (inbound) {
		deliver(event);
	} else if (event->kind == SIM_WRITABLE) {
		peer->busy = false;
		if (!engine->dead)
			emu_wire_writable(engine->dev, &peer->core);
	} else if (engine->dead) {
		return true;
	} else if (event->kind == SIM_LOOKUP_ANSWER) {
		sim_fire_lookup_answer(event);
	} else if (event->kind == SIM_GONE) {
		emu_wire_gone(engine->dev, &peer->core);
	} else if (event->kind == SIM_ANSWER && event->epoch == peer->epoch) {
		emu_wire_answered(engine->dev, &peer->core);
	}
	return true;
}

/* A cut gives back at once what the wire still reads from the sender's memory. */
static void release_cut(struct sim *sim)
{
	for (size_t i = 0; sim->held && i < sim->queue.count; i++) {
		struct sim_arrival *event = (struct sim_arrival *)sim->queue.node[i];

		if (event->held && event->epoch != event->peer->epoch)
			release_held(event, false);
	}
}

static bool stopped(const struct sim_engine *engine)
{
	return engine->dead || engine->paused_until > engine->sim->now;
}

void sim_settle(struct sim *sim)
{
	unsigned passes = 0;
	bool more;

	do {
		more = false;
		release_cut(sim);
		for (unsigned i = 0; i < sim->count; i++) {
			struct sim_engine *engine = &sim->engine[i];

			if (stopped(engine) || !emu_pending(engine->dev))
				continue;
			emu_run(engine->dev);
			more = true;
		}
		if (++passes == STUCK) {
			fputs("wire_sim: an engine never settles\n", stderr);
			abort();
		}
	} while (more);
}

/* ---- the clock -------------------------------------------------------------- */

static uint64_t next_time(const struct sim *sim)
{
	uint64_t next = sim_queue_time(&sim->queue);

	for (unsigned i = 0; i < sim->count; i++) {
		uint64_t deadline;

		if (stopped(&sim->engine[i]))
			continue;
		deadline = emu_next_deadline(sim->engine[i].dev);
		if (deadline < next)
			next = deadline;
	}
	return next < sim->now ? sim->now : next;
}

static void move_clock(struct sim *sim, uint64_t time)
{
	sim->still = time == sim->now ? sim->still + 1 : 0;
	if (sim->still == STUCK) {
		fputs("wire_sim: time stands still\n", stderr);
		abort();
	}
	sim->now = time;
	for (unsigned i = 0; i < sim->count; i++) {
		if (!stopped(&sim->engine[i]))
			emu_tick(sim->engine[i].dev, time);
	}
}

bool sim_step(struct sim *sim, uint64_t limit)
{
	struct sim_arrival *event;
	uint64_t next;

	sim_settle(sim);
	next = next_time(sim);
	if (next > limit || next == SIM_NEVER) {
		if (limit != SIM_NEVER && limit > sim->now)
			move_clock(sim, limit);
		return false;
	}
	move_clock(sim, next);
	/* Timers that expire now come before frames that arrive now. */
	for (unsigned i = 0; i < sim->count; i++) {
		if (!stopped(&sim->engine[i]) && emu_next_deadline(sim->engine[i].dev) <= next)
			emu_run(sim->engine[i].dev);
	}
	/* What arrives together is seen together, so that ACKs can be coalesced. */
	while (sim_queue_time(&sim->queue) <= next) {
		event = (struct sim_arrival *)sim_queue_pop(&sim->queue);
		if (event->kind == SIM_PROBE) /* answered behind the ACKs of what it asks about */
			sim_settle(sim);
		if (fire(event))
			free(event);
	}
	sim_settle(sim);
	return true;
}

void sim_run_until(struct sim *sim, uint64_t time)
{
	while (sim_step(sim, time))
		;
}

bool sim_run_idle(struct sim *sim, uint64_t limit)
{
	while (sim_step(sim, limit))
		;
	return next_time(sim) == SIM_NEVER;
}

bool sim_run_done(struct sim *sim, bool (*done)(void *arg), void *arg, uint64_t limit)
{
	sim_settle(sim);
	while (!done(arg)) {
		if (!sim_step(sim, limit))
			return done(arg);
	}
	return true;
}

/* ---- the world --------------------------------------------------------------- */

struct sim *sim_create(uint64_t seed, const struct sim_params *params)
{
	struct sim *sim = calloc(1, sizeof(*sim));

	if (!sim)
		return NULL;
	sim->rng = seed;
	sim->digest = 0xcbf29ce484222325u;
	sim->params = *params;
	for (unsigned src = 0; src < SIM_ENGINES; src++) {
		for (unsigned dst = 0; dst <= NOWHERE; dst++) {
			struct sim_peer *peer = &sim->peer[src][dst];

			peer->core.ops = &operations;
			peer->core.host = dst + 1; /* each engine on a host of its own */
			peer->core.max_payload = !reliable(sim)        ? 1
			                         : params->max_payload ? params->max_payload
			                                               : 65536;
			peer->sim = sim;
			peer->src = src;
			peer->dst = dst;
		}
	}
	return sim;
}

static void check_references(const struct sim *sim)
{
	unsigned held = sim_group_references(sim);

	for (unsigned src = 0; src < SIM_ENGINES; src++) {
		for (unsigned dst = 0; dst <= NOWHERE; dst++) {
			held += sim->peer[src][dst].refs;
		}
	}
	if (held) {
		fputs("wire_sim: a reference to a peer was never put\n", stderr);
		abort();
	}
}

void sim_destroy(struct sim *sim)
{
	if (!sim)
		return;
	for (size_t i = 0; i < sim->queue.count; i++) {
		struct sim_arrival *event = (struct sim_arrival *)sim->queue.node[i];

		release_held(event, false);
		free(event);
	}
	for (unsigned i = 0; i < sim->count; i++) {
		emu_dev_destroy(sim->engine[i].dev);
		free(sim->engine[i].async.item);
		free(sim->engine[i].cq.item);
		sim_cm_log_free(&sim->engine[i].cm);
	}
	check_references(sim);
	free(sim->queue.node);
	free(sim);
}

int sim_add(struct sim *sim, const struct emu_limits *limits)
{
	struct sim_engine *engine = &sim->engine[sim->count];
	struct emu_config config = {
		.limits = limits ? *limits : emu_default_limits,
		.port = {.link_layer = EMU_LINK_ETHERNET,
	                 .active_mtu = 5,
	                 .gid_tbl_len = 1,
	                 .pkey_tbl_len = 1,
	                 .gid = {sim_gid(sim->count)}},
		.seed = (uint32_t)next_random(sim),
		.fast_death = sim->params.fast_death,
	};
	int err;

	if (sim->count == SIM_ENGINES)
		return -ENOMEM;
	engine->sim = sim;
	engine->index = sim->count;
	err = emu_dev_create(&config, &environment, engine, &engine->dev);
	if (err)
		return err;
	err = emu_dev_add_slot(engine->dev, engine->index);
	if (err) {
		emu_dev_destroy(engine->dev);
		return err;
	}
	emu_tick(engine->dev, sim->now);
	return (int)sim->count++;
}

struct emu_dev *sim_dev(struct sim *sim, unsigned engine)
{
	return sim->engine[engine].dev;
}

struct emu_gid sim_gid(unsigned engine)
{
	return (struct emu_gid){{[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)engine}};
}

uint64_t sim_now(const struct sim *sim)
{
	return sim->now;
}

void sim_set_params(struct sim *sim, const struct sim_params *params)
{
	enum sim_flavour flavour = sim->params.flavour;

	sim->params = *params;
	sim->params.flavour = flavour;
}

bool sim_take_async(struct sim *sim, unsigned engine, struct sim_event *event)
{
	return sim_log_take(&sim->engine[engine].async, event);
}

bool sim_take_cq_event(struct sim *sim, unsigned engine, struct sim_event *event)
{
	return sim_log_take(&sim->engine[engine].cq, event);
}

void sim_set_filter(struct sim *sim, sim_filter *filter, void *arg)
{
	sim->filter = filter;
	sim->filter_arg = arg;
}

void sim_inject(struct sim *sim, unsigned src, unsigned dst, const void *frame, size_t len)
{
	struct sim_peer *peer = &sim->peer[src][dst];
	struct sim_arrival *event = sim_new_event(peer, SIM_FRAME, sim_arrival_time(peer, false), len);

	if (len)
		memcpy(event->data, frame, len);
	sim_queue_push(&sim->queue, &event->at);
}

void sim_kill(struct sim *sim, unsigned engine, uint64_t notice_ns)
{
	sim->engine[engine].dead = true;
	if (!reliable(sim) || notice_ns == SIM_NEVER)
		return;
	schedule(&sim->peer[engine][NOWHERE], SIM_NOTICE, sim->now + notice_ns);
}

void sim_pause(struct sim *sim, unsigned engine, uint64_t ns)
{
	sim->engine[engine].paused_until = sim->now + ns;
	schedule(&sim->peer[engine][NOWHERE], SIM_RESUME, sim->now + ns);
}

void sim_partition(struct sim *sim, unsigned a, unsigned b, bool cut)
{
	if (sim->peer[a][b].cut == cut)
		return;
	sim->peer[a][b].cut = sim->peer[b][a].cut = cut;
	if (cut && reliable(sim))
		cut_link(&sim->peer[a][b]);
}

uint64_t sim_digest(const struct sim *sim)
{
	return sim->digest;
}

uint64_t sim_frames(const struct sim *sim)
{
	return sim->frames;
}
