/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An event behind its rdma_cm_event, from the moment it happens until the
 * program has acknowledged it. While nobody has fetched it, it stands in the
 * list of its id and in the queue of that id's channel.
 *
 * Locks: device lock, then the id's, then the queue's.
 */
#ifndef CS_NOTICE_H
#define CS_NOTICE_H

#include <emu/cm.h>
#include <verbs/event.h>

#include <rdma/rdma_cma.h>

struct cs_id;
struct cs_group;

struct cs_notice {
	struct rdma_cm_event event; /* first: a program's pointer is ours */
	struct vs_event ev; /* owner: the notice */
	struct cs_id *id; /* who waits for its ack: of a CONNECT_REQUEST the listener */
	struct cs_notice *next; /* in the id's list */
	struct cs_group *group; /* multicast events */
	bool dead; /* its id goes away: who fetched it shall forget it */

	/* What the core said; zero for events of our own. */
	enum emu_cm_event_type type;
	struct emu_cm_id *cm;
	struct emu_cm_addr src, dst;
	struct emu_cm_params params;
	uint8_t data[EMU_CM_REP_DATA];
	/* Of a CONNECT_REQUEST nobody has fetched: what happened to its connection meanwhile. */
	struct cs_notice *followers;
	struct cs_notice *next_request;
};

static inline struct cs_notice *cs_notice(const struct rdma_cm_event *event)
{
	return (struct cs_notice *)(uintptr_t)event;
}

/* NULL: no memory. */
struct cs_notice *cs_notice_new(struct cs_id *id, enum rdma_cm_event_type type, int status);
void cs_notice_free(struct cs_notice *n);
/* To the id's channel; the notice is the id's now. */
void cs_notice_post(struct cs_notice *n);
/* Both in one, for events of our own. 0, -ENOMEM. */
int cs_notice_say(struct cs_id *id, enum rdma_cm_event_type type);

/* The id goes away: forget what nobody has fetched. Device lock. */
void cs_notices_cancel(struct cs_id *id);
/* The one notice of a group that nobody has fetched, if any. */
void cs_notices_cancel_group(struct cs_id *id, struct cs_group *group);
/* Move what nobody has fetched to another channel, and the id with it. */
void cs_notices_move(struct cs_id *id, struct rdma_event_channel *to);
/* Block until all that was fetched is acknowledged. */
void cs_notices_wait_acked(struct cs_id *id);

#endif
