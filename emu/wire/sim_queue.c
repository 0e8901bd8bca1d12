/* SPDX-License-Identifier: BSD-2-Clause */
/* What the simulated world keeps: the heap of things to come, the logs of what came. */
#include "sim_parts.h"

#include <stdio.h>
#include <stdlib.h>

void *sim_need(void *memory)
{
	if (!memory) {
		perror("wire_sim");
		abort();
	}
	return memory;
}

static bool sooner(const struct sim_node *a, const struct sim_node *b)
{
	return a->time != b->time ? a->time < b->time : a->seq < b->seq;
}

void sim_queue_push(struct sim_queue *queue, struct sim_node *node)
{
	size_t i;

	if (queue->count == queue->room) {
		queue->room = queue->room ? 2 * queue->room : 64;
		queue->node = sim_need(realloc(queue->node, queue->room * sizeof(*queue->node)));
	}
	for (i = queue->count++; i && sooner(node, queue->node[(i - 1) / 2]); i = (i - 1) / 2)
		queue->node[i] = queue->node[(i - 1) / 2];
	queue->node[i] = node;
}

struct sim_node *sim_queue_pop(struct sim_queue *queue)
{
	struct sim_node *top = queue->node[0], *last = queue->node[--queue->count];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < queue->count) {
		if (child + 1 < queue->count && sooner(queue->node[child + 1], queue->node[child]))
			child++;
		if (!sooner(queue->node[child], last))
			break;
		queue->node[i] = queue->node[child];
		i = child;
	}
	queue->node[i] = last;
	return top;
}

uint64_t sim_queue_time(const struct sim_queue *queue)
{
	return queue->count ? queue->node[0]->time : SIM_NEVER;
}

void sim_log_put(struct sim_log *log, const struct sim_event *event)
{
	if (log->head == log->count)
		log->head = log->count = 0;
	if (log->count == log->room) {
		log->room = log->room ? 2 * log->room : 16;
		log->item = sim_need(realloc(log->item, log->room * sizeof(*log->item)));
	}
	log->item[log->count++] = *event;
}

bool sim_log_take(struct sim_log *log, struct sim_event *event)
{
	if (log->head == log->count)
		return false;
	*event = log->item[log->head++];
	return true;
}
