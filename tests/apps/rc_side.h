/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One side of a pair of processes joined by reliable connections. Public verbs
 * only, so these programs run on any RDMA device. Whatever goes wrong ends the
 * process with a line on stderr; whatever takes too long is ended by alarm(2).
 */
#ifndef RC_SIDE_H
#define RC_SIDE_H

#include <infiniband/verbs.h>

#include <stdbool.h>
#include <stddef.h>
#include <inttypes.h>
#include <sys/types.h>

struct rc_side {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq; /* of sends and receives */
	struct ibv_mr *mr;
	union ibv_gid gid;
	int sock; /* to the other side, for the hand-shake */
};

/* What a side tells the other of a QP and its memory. */
struct rc_address {
	uint32_t qpn;
	uint32_t rkey;
	uint64_t addr;
	union ibv_gid gid;
};

/* How long a QP waits for its peer: see ibv_modify_qp(3). */
struct rc_patience {
	uint8_t timeout, retry_cnt;
};

#define RC_RD_ATOMIC 4
extern const struct rc_patience rc_patient;

/* A line on stderr, then _exit(1). */
void rc_fail(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/*
 * A child that dies with its parent; both ends of a new socket pair. Call it
 * before anything of verbs. Returns as fork(2); *sock is this process's end.
 */
pid_t rc_fork(int *sock);

/* The first device, buf registered with all rights, a CQ of cqe entries. */
void rc_open(struct rc_side *side, int sock, void *buf, size_t len, int cqe);
void rc_close(struct rc_side *side);
/* A QP in RESET that can hold depth requests in either queue. */
struct ibv_qp *rc_qp(struct rc_side *side, uint32_t depth);
struct rc_address rc_address(const struct rc_side *side, const struct ibv_qp *qp);
/* RESET to RTS. */
void rc_connect(struct ibv_qp *qp, const struct rc_address *peer, struct rc_patience patience);
/* Swap len bytes with the other side. False: it is gone. */
bool rc_swap(int sock, const void *mine, void *theirs, size_t len);
/* Both sides have come here. Ends the process if the other one is gone. */
void rc_barrier(int sock);
/* Poll until a completion comes, whatever its status. */
void rc_wait(struct rc_side *side, struct ibv_wc *wc);
/* The same, for one that must have succeeded. */
void rc_wait_success(struct rc_side *side, struct ibv_wc *wc);

#endif
