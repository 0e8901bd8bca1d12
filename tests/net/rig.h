/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two connected queue pairs (RC unless told otherwise) on a simulated wire, with one registered buffer
 * each, and the few verbs that tests speak: post, run, expect a completion.
 * Everything that does not come out as said fails the running cmocka test.
 */
#ifndef TESTS_NET_RIG_H
#define TESTS_NET_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire_sim.h"

#define RIG_BUF (1u << 20)
#define RIG_SGES 8
#define RIG_INLINE 128
#define RIG_ALL_ACCESS                                                                             \
	(EMU_ACCESS_LOCAL_WRITE | EMU_ACCESS_REMOTE_WRITE | EMU_ACCESS_REMOTE_READ |               \
	 EMU_ACCESS_REMOTE_ATOMIC)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define US 1000ull
#define MS 1000000ull
#define SECOND 1000000000ull
/* Far beyond any timer of a test that does not set its own. */
#define LONG (100 * SECOND)

/* One end. */
struct node {
	struct rig *rig;
	unsigned engine;
	struct emu_dev *dev;
	struct emu_pd *pd;
	struct emu_cq *scq, *rcq;
	struct emu_srq *srq; /* if rig.srq_wr */
	struct emu_qp *qp;
	uint8_t *buf;            /* RIG_BUF bytes of heap, 16-byte aligned */
	struct emu_mr *mr;       /* all of buf, all rights */
	struct emu_qp_attr attr; /* what this end is, or will be, connected with */
};

struct rig {
	struct sim *sim;
	struct sim_params params;
	struct node a, b;
	unsigned send_cqe, recv_cqe;
	struct emu_qp_cap cap;
	struct emu_limits limits;
	enum emu_qp_type type; /* RC or UC */
	uint32_t srq_wr;       /* not 0: receives go to an SRQ of that size */
	bool sig_all;
	bool loopback; /* both ends on engine 0 */
};

/* A rig with defaults; change what you like, then rig_up(). Freed by rig_down(). */
struct rig *rig_new(enum sim_flavour flavour, uint64_t seed);
/* Engines, objects and the connection: both QPs in RTS. */
void rig_up(struct rig *rig);
/* As rig_up, but the QPs are left in RESET. */
void rig_create(struct rig *rig);
void rig_down(struct rig *rig);

struct emu_qp *rig_make_qp(struct node *node);
/* One transition with the attributes it requires. Returns emu_qp_modify's answer. */
int rig_modify(struct node *node, enum emu_qp_state to);
/* RESET to RTS with node->attr, towards the other end's QP as it is now. */
void rig_connect(struct node *node);
struct node *rig_other(struct node *node);

struct emu_sge rig_sge(const struct node *node, size_t offset, uint32_t length);
/* A signaled request of one opcode; remote: an offset into the other end's buffer. */
struct emu_send_wr rig_wr(struct node *node, enum emu_wr_opcode opcode, uint64_t wr_id,
                          const struct emu_sge *sge, uint64_t remote);
/* Posts, rings, and expects 0. */
void rig_post(struct node *node, const struct emu_send_wr *wr);
void rig_post_recv(struct node *node, uint64_t wr_id, const struct emu_sge *sge, uint32_t num_sge);
/* The same with one piece of the node's own buffer. */
void rig_send(struct node *node, enum emu_wr_opcode opcode, uint64_t wr_id, size_t local,
              uint32_t length, uint64_t remote);
void rig_recv(struct node *node, uint64_t wr_id, size_t local, uint32_t length);

/* Until a CQ of that end has a completion; takes it. Fails if none comes before limit. */
struct emu_wc rig_wait(struct node *node, struct emu_cq *cq);
/* rig_wait, and check wr_id, status, qp_num. Returns the rest for more checks. */
struct emu_wc rig_expect(struct node *node, struct emu_cq *cq, uint64_t wr_id,
                         enum emu_wc_status status);
/* The error completion of the table: also vendor_err. */
void rig_expect_error(struct node *node, struct emu_cq *cq, uint64_t wr_id,
                      enum emu_wc_status status, uint32_t vendor_err);
void rig_expect_none(struct node *node);
void rig_expect_state(struct node *node, enum emu_qp_state state);
/* The next asynchronous event of the node's QP, or none (EMU_EVENT_NONE). */
void rig_expect_async(struct node *node, enum emu_event_type type);
/* Lets everything come to rest that is due within limit nanoseconds. */
void rig_rest(struct rig *rig, uint64_t limit);

/* Deterministic bytes for a buffer. */
void rig_fill(uint8_t *buf, size_t len, uint32_t salt);
/* A copy of the node's buffer, and the check that nothing in it has changed; frees the copy. */
uint8_t *rig_snapshot(const struct node *node);
void rig_check_memory(const struct node *node, uint8_t *expected);

/* A filter for packets: passes all but those that match, which meet the verdict `times` times. */
struct rig_filter {
	unsigned src;
	uint8_t opcode, opcode_mask; /* of the BTH's first byte */
	enum sim_verdict verdict;
	unsigned skip, times, seen;
};
enum sim_verdict rig_filter(void *filter, const struct sim_frame *frame);

/* The opcode byte of RC packets (IBTA table 38), as far as tests name them. */
enum {
	PKT_SEND_ONLY = 0x04,
	PKT_WRITE_ONLY = 0x0a,
	PKT_READ_REQUEST = 0x0c,
	PKT_READ_RESPONSE_ONLY = 0x10,
	PKT_ACK = 0x11,
	PKT_ATOMIC_ACK = 0x12,
	PKT_COMPARE_SWAP = 0x13,
	PKT_FETCH_ADD = 0x14,
};

/* One test on both flavours of the wire: state arrives as enum sim_flavour * . */
extern enum sim_flavour rig_lossy, rig_reliable;
#define ON_BOTH_WIRES(test)                                                                        \
	{#test " (lossy)", test, NULL, NULL, &rig_lossy},                                          \
	{                                                                                          \
#test " (reliable)", test, NULL, NULL, &rig_reliable                               \
	}

#endif
