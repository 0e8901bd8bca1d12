/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts wire_sim.c is made of; nobody else includes this. */
#ifndef EMU_WIRE_SIM_PARTS_H
#define EMU_WIRE_SIM_PARTS_H

#include "wire_sim.h"

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

/* struct emu_env's functions of the same names. */
int sim_guarded_copy(void *dst, const void *src, size_t len);
int sim_guarded_touch(const void *src, size_t len);
int sim_guarded_cas64(void *addr, uint64_t compare, uint64_t swap, uint64_t *old);
int sim_guarded_faa64(void *addr, uint64_t add, uint64_t *old);

#endif
