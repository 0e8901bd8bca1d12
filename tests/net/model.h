/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What RC queue pairs must do, in a few lines: no packets, no timers, only
 * queues, bytes and statuses. The fuzz posts to the model and to the engine and
 * shows the model every completion.
 *
 * Concurrent requests never touch the same bytes in conflicting ways (the
 * locks of an arena), so the bytes of each are known when it is posted.
 */
#ifndef TESTS_NET_MODEL_H
#define TESTS_NET_MODEL_H

#include <emu/types.h>

#define MODEL_SGES 4
#define MODEL_DEPTH 32          /* of each queue */
#define MODEL_RECV EMU_WR_COUNT /* "opcode" of a receive */
#define GRANULE 64u

/* One engine's memory: what it is and what it should be. */
struct arena {
	uint8_t *real, *image;
	size_t size;
	size_t locked;     /* bytes of the locks below */
	uint16_t *readers; /* by granule: requests that read it */
	bool *writer;      /* by granule: a request that writes it */
};

struct range {
	struct arena *arena; /* NULL: none */
	size_t at, len;
	bool write;
};

struct model_op {
	uint64_t id;
	unsigned opcode; /* enum emu_wr_opcode or MODEL_RECV */
	bool signaled;
	enum emu_wc_status fault; /* injected: this is how it must end; SUCCESS: none */
	struct emu_sge sge[MODEL_SGES];
	unsigned num_sge;
	uint32_t len;
	uint32_t imm;
	struct range local, remote;      /* locked until it is done */
	bool word;                       /* remote is an atomic word, locked by its owner instead */
	uint64_t word_after;             /* what the atomic leaves there */
	uint8_t *data;                   /* len bytes that will be where they go */
	unsigned *users[MODEL_SGES + 1]; /* counters of the regions it names */
	/* A receive, once the request that takes it is known. */
	bool matched;
	unsigned by; /* opcode */
	uint32_t got;
};

struct model_queue {
	struct model_op *op[MODEL_DEPTH];
	unsigned head, count;
	unsigned slots; /* taken on the engine's side */
	bool failed;    /* everything from now on is flushed */
	bool silenced;  /* the peer may be in ERR, and its NAK lost: may time out */
	bool disturbed; /* may be flushed, or time out, through no fault of its own */
};

struct model_qp {
	struct model_qp *peer;
	struct model_queue sq, rq;
	/* Requests that take a receive and found none yet; and receives that nobody takes yet. */
	struct model_op *waiting[MODEL_DEPTH];
	unsigned waiting_count;
	unsigned next_recv; /* index in rq, from head */
};

/* Says what was wrong with the last call that returned false. */
extern char model_complaint[256];

bool arena_init(struct arena *arena, size_t size, uint32_t salt);
void arena_free(struct arena *arena);
/* May this range be locked so? */
bool range_free(const struct range *range);
/* Are the real bytes as they should be? */
bool arena_check(const struct arena *arena, size_t at, size_t len);

/* Takes over a filled, allocated op; locks its ranges and foresees its bytes. */
void model_post(struct model_qp *qp, struct model_op *op);
/* Bytes of receive that the next taker will find, or UINT32_MAX: none is posted. */
uint32_t model_next_recv(const struct model_qp *taker);
/* How many receives qp owes to requests of its peer. */
unsigned model_owed(const struct model_qp *qp);
bool model_complete_send(struct model_qp *qp, const struct emu_wc *wc);
bool model_complete_recv(struct model_qp *qp, const struct emu_wc *wc);
/* Does nothing owe a completion? Unsignaled requests that succeeded owe none. */
bool model_idle(const struct model_qp *qp);
/* The QP was reset: what is outstanding ends, its targets hold what they hold. */
void model_reset(struct model_qp *qp);
/* Is any atomic of qp outstanding on that word? */
bool model_uses_word(const struct model_qp *qp, const struct arena *arena, size_t at);

#endif
