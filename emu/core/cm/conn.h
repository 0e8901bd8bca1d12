/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids and where they are found: by their own number, by the number or the QP
 * that the other side gave itself.
 */
#ifndef EMU_CM_CONN_H
#define EMU_CM_CONN_H

#include "cm/machine.h"
#include "dev.h"
#include "idtab.h"
#include "timer.h"

#define EMU_CM_BUCKETS 1024

/* Where MADs of a conversation go. peer: a reference, or NULL. */
struct emu_cm_route {
	struct wire_peer *peer;
	struct emu_gid local, remote;
	uint32_t qpn; /* of the other side's CM */
};

struct emu_cm_id {
	struct emu_cm *cm;
	void *user;
	enum emu_cm_state state;
	bool orphan; /* the program has destroyed it */
	uint16_t ps;
	struct emu_cm_addr src, dst;
	struct emu_cm_route route;

	uint32_t local_id, remote_id; /* 0: not known yet */
	uint64_t tid;
	uint32_t local_qpn, remote_qpn;
	uint64_t remote_guid; /* which life of a process: it may come back under its address */
	struct emu_cm_listener *listener; /* whose backlog it fills, or NULL */

	uint8_t retries; /* left */
	struct emu_timer timer;
	struct emu_timer verify; /* the link broke: ask the peer soon whether it is there */
	bool probing; /* it has been asked */
	uint8_t mad[EMU_MAD_BYTES]; /* the last one sent */

	struct emu_cm_id *next_by_id, *next_by_qpn;
	bool in_by_id, in_by_qpn;
};

struct emu_cm_listener {
	struct emu_cm *cm;
	struct emu_cm_listen args;
	uint32_t pending; /* requests not taken yet */
	struct emu_cm_listener *next;
};

struct emu_cm_out;

struct emu_cm {
	struct emu_dev *dev;
	struct emu_idtab ids; /* the low 16 bits of local_id */
	uint64_t rng;
	uint64_t guid; /* this life of this process */
	struct emu_cm_id *by_id[EMU_CM_BUCKETS]; /* remote_id */
	struct emu_cm_id *by_qpn[EMU_CM_BUCKETS]; /* remote_qpn */
	struct emu_cm_listener *listeners;
	struct emu_cm_out *out, **out_end; /* MADs to send, oldest first */
	struct emu_cm_out *blocked, **blocked_end; /* their peer was busy */
	uint32_t nout;
	uint32_t probing; /* ids that are */
};

/* A new id, or NULL: no memory, or 65,535 of them. */
struct emu_cm_id *emu_cm_id_new(struct emu_cm *cm, uint16_t ps);
void emu_cm_id_free(struct emu_cm_id *id);
/* The owner of this number, or NULL. */
struct emu_cm_id *emu_cm_id_get(const struct emu_cm *cm, uint64_t local_id);
/* i-th of all, for i below ids.high; NULL: no such. */
static inline struct emu_cm_id *emu_cm_id_at(const struct emu_cm *cm, uint32_t i)
{
	return emu_idtab_get(&cm->ids, i);
}

/* Note what the other side calls itself. */
void emu_cm_id_set_remote(struct emu_cm_id *id, const struct emu_cm_msg *msg);
/* The id of a conversation that peer calls remote_id. guid 0: in any of its lives. */
struct emu_cm_id *emu_cm_find_remote(const struct emu_cm *cm, const struct wire_peer *peer,
				     uint64_t remote_id, uint64_t guid);
/* Another connection than id with that QP of peer, not over yet. */
struct emu_cm_id *emu_cm_find_qpn(const struct emu_cm *cm, const struct emu_cm_id *id,
				  const struct wire_peer *peer, uint64_t remote_qpn);
/* The program has got the request, or never will. */
void emu_cm_id_take(struct emu_cm_id *id);

#endif
