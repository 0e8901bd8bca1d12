/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts wire_sim.c is made of; nobody else includes this. */
#ifndef EMU_WIRE_SIM_PARTS_H
#define EMU_WIRE_SIM_PARTS_H

#include "wire_sim.h"

#define SIM_GROUPS 8

/* Ends the process if memory is NULL: a test world has no way to go on. */
void *sim_need(void *memory);

/* When something happens; seq breaks ties, so that no order depends on an address. */
struct sim_node {
	uint64_t time, seq;
};

/* A binary heap; node[0] is the soonest. Zero-initialised is empty; free(node) ends it. */
struct sim_queue {
	struct sim_node **node;
	size_t count, room;
};

void sim_queue_push(struct sim_queue *queue, struct sim_node *node);
/* The queue must not be empty. */
struct sim_node *sim_queue_pop(struct sim_queue *queue);
/* SIM_NEVER: empty. */
uint64_t sim_queue_time(const struct sim_queue *queue);

/* Oldest first. Zero-initialised is empty; free(item) ends it. */
struct sim_log {
	struct sim_event *item;
	size_t head, count, room;
};

void sim_log_put(struct sim_log *log, const struct sim_event *event);
bool sim_log_take(struct sim_log *log, struct sim_event *event);

/* Oldest first. */
struct sim_cm_log {
	struct sim_cm_event *item;
	size_t head, count, room;
};

void sim_cm_log_free(struct sim_cm_log *log);

struct sim_peer {
	struct wire_peer core;
	struct sim *sim;
	unsigned src, dst;
	unsigned refs;
	bool connected, busy, cut;
	uint32_t epoch;        /* of the link: what was sent before a cut never arrives */
	uint64_t last_arrival; /* reliable: order is kept */
};

enum sim_kind {
	SIM_FRAME,
	SIM_PROBE,
	SIM_ANSWER,
	SIM_WRITABLE,
	SIM_GONE,
	SIM_RESUME, /* a paused engine runs again */
	SIM_NOTICE, /* the others learn that an engine died */
	SIM_LOOKUP, /* somebody asks the host of dst who listens */
	SIM_LOOKUP_ANSWER,
};

struct sim_arrival {
	struct sim_node at; /* first: the queue's view of it */
	enum sim_kind kind;
	uint32_t epoch;
	struct sim_peer *peer; /* the sender's view */
	struct emu_tx *held;   /* payload still in the sender's memory */
	size_t len;
	uint8_t data[];
};

struct sim_engine {
	struct sim *sim;
	struct emu_dev *dev;
	unsigned index;
	bool dead, noticed;
	uint64_t paused_until;
	struct sim_log async, cq;
	struct sim_cm_log cm;
};

/* A multicast group, and for each engine the peer that sends to its members. */
struct sim_group {
	struct emu_gid gid;
	uint32_t members; /* bit per engine */
	struct sim_group_peer {
		struct wire_peer core;
		struct sim *sim;
		struct sim_group *group;
		unsigned src, refs;
	} peer[SIM_ENGINES];
};

struct sim {
	struct sim_params params;
	uint64_t now, seq, rng, digest, frames;
	unsigned count;
	struct sim_engine engine[SIM_ENGINES];
	struct sim_peer peer[SIM_ENGINES][SIM_ENGINES + 1];
	struct sim_queue queue;
	sim_filter *filter;
	void *filter_arg;
	unsigned refused_peers; /* so many more are not given */
	unsigned lookups; /* asked so far */
	unsigned lose_lookups; /* so many more get no answer */
	struct sim_group group[SIM_GROUPS];
	unsigned groups;
	unsigned held;  /* packets whose payload is still in the sender's memory */
	unsigned still; /* steps since the clock moved */
};

/* Something that happens to peer's link at that time, with len bytes of data; to be pushed. */
struct sim_arrival *sim_new_event(struct sim_peer *peer, enum sim_kind kind, uint64_t time,
				  size_t len);
/* When something sent now gets there. */
uint64_t sim_arrival_time(struct sim_peer *peer, bool late);

/* A look-up has come to dst's host, or its answer back to src. */
void sim_fire_lookup(struct sim_arrival *event);
void sim_fire_lookup_answer(struct sim_arrival *event);
/* References to group peers that are still held. */
unsigned sim_group_references(const struct sim *sim);

/* struct emu_env's functions of the same names. */
void sim_cm_lookup(void *host, const struct emu_cm_addr *dst, uint16_t ps, uint32_t cookie);
void sim_cm_event(void *host, const struct emu_cm_event *event);
int sim_mcast(void *host, const struct emu_gid *mgid, bool join);
/* The peer that sends to all members of the group. */
struct wire_peer *sim_group_peer(struct sim_engine *engine, const struct emu_gid *mgid);
int sim_guarded_copy(void *dst, const void *src, size_t len);
int sim_guarded_touch(const void *src, size_t len);
int sim_guarded_cas64(void *addr, uint64_t compare, uint64_t swap, uint64_t *old);
int sim_guarded_faa64(void *addr, uint64_t add, uint64_t *old);

#endif
