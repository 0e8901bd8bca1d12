/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the conformance tests share: one open device, pairs of queue pairs
 * (RC unless asked otherwise) on it, requests with sensible defaults, and waiting with a bound. Public
 * verbs only, so the programs also run on real and soft devices:
 *
 *	CONFORMANCE_DEVICE	name of the device (default: the first)
 *	CONFORMANCE_GID		GID index (default 0)
 *	CONFORMANCE_CAPS	file of the device's known divergences
 */
#ifndef CONFORMANCE_FIXTURE_H
#define CONFORMANCE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#define BUF_SIZE 65536u
/* Receives land in the upper half; RDMA and sends use the lower. */
#define RECV_OFFSET 32768u
#define ALL_ACCESS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

extern struct ibv_context *ctx; /* open from the first test of a program to the last */
extern struct ibv_pd *pd;

/* What a pair is made with; change what the test is about. */
struct options {
	enum ibv_qp_type type; /* RC or UC */
	uint32_t srq_wr;       /* not 0: b's receives go to an SRQ of that size */
	struct ibv_qp_cap cap;
	unsigned access; /* of the QPs */
	int cqe;
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	enum ibv_mtu path_mtu;
	bool sq_sig_all;
	bool events;         /* the CQs get completion channels */
	bool extended;       /* ibv_create_qp_ex with the ibv_wr_* API */
	struct ibv_pd *pd_b; /* the responder's PD, if not the common one */
};

struct options defaults(void);

struct end {
	struct ibv_qp *qp;
	struct ibv_srq *srq; /* of b, if options.srq_wr */
	struct ibv_cq *scq, *rcq;
	struct ibv_comp_channel *channel; /* of rcq, if options.events */
	struct ibv_mr *mr;
	uint8_t *buf; /* BUF_SIZE bytes */
	struct end *peer;
};

/* a is the initiator in every test, b the responder. */
struct pair {
	struct end a, b;
	struct options opts;
};

/* Gone when the test ends. NULL: defaults(). */
struct pair *connected_pair(const struct options *o);
/* Both QPs in RESET. */
struct pair *unconnected_pair(const struct options *o);

/* One step of a QP towards RTS; the value of ibv_modify_qp. */
int to_init(struct end *e, const struct options *o);
int to_rtr(struct end *e, uint32_t dest_qpn, const struct options *o);
int to_rts(struct end *e, const struct options *o);
int to_state(struct end *e, enum ibv_qp_state state);
enum ibv_qp_state state_of(struct end *e);
/* Wait until the QP is in that state. */
void expect_state(struct end *e, enum ibv_qp_state state);

/* Attributes and mask of the step to RTR, for tests that change one of them. */
struct ibv_qp_attr rtr_attr(uint32_t dest_qpn, const struct options *o);
struct ibv_qp_attr rts_attr(const struct options *o);
struct ibv_qp_attr init_attr(const struct options *o);
#define INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR_MASK                                                                                   \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |            \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_MASK                                                                                   \
	(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |     \
	 IBV_QP_MAX_QP_RD_ATOMIC)

#define RTR_UC_MASK                                                                                \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTS_UC_MASK (IBV_QP_STATE | IBV_QP_SQ_PSN)

/* A signaled request of len bytes from e's buffer, aimed at the peer's. */
struct request {
	struct ibv_sge sge;
	struct ibv_send_wr wr;
};

struct request request(struct end *e, uint64_t id, enum ibv_wr_opcode op, uint32_t len);
/* The value of ibv_post_send, having checked *bad_wr. */
int post(struct end *e, struct request *r);
/* request() and post(), which must succeed. */
void do_post(struct end *e, uint64_t id, enum ibv_wr_opcode op, uint32_t len);
/* A receive of len bytes at RECV_OFFSET, on the SRQ if there is one; the value of the verb. */
int post_recv(struct end *e, uint64_t id, uint32_t len);

/* The next completion, within five seconds; it must have that wr_id and status. */
struct ibv_wc expect_wc(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status);
/* No completion comes within ms. */
void expect_no_wc(struct ibv_cq *cq, int ms);
/* Does fd become readable within ms? */
bool readable(int fd, int ms);
/* The next asynchronous event must be of that type; acknowledged. */
void expect_async(enum ibv_event_type type, const void *element);
void expect_no_async(int ms);
uint64_t now_ms(void);

/* Does the device's caps file say that it lacks this? */
bool lacks(const char *what);

/* Run a program's tests; those the caps file lists as divergent are skipped with the reason. */
int run(const struct CMUnitTest *tests, size_t count);
#define RUN(tests) run(tests, sizeof(tests) / sizeof((tests)[0]))
#define TEST(name) cmocka_unit_test(name)

#endif
