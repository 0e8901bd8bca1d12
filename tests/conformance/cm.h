/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of rdma_cm share: a listener and a client in one process, the
 * steps of a connection, and events with a bound on the waiting. Public calls
 * only; CONFORMANCE_IP is an address of the device (default 127.0.0.1).
 */
#ifndef CONFORMANCE_CM_H
#define CONFORMANCE_CM_H

#include "fixture.h"

#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

/* What rdma_cm shows of private data, whatever was sent. */
#define REQUEST_DATA 56
#define ACCEPT_DATA 196
#define REJECT_DATA 148

struct ends {
	enum rdma_port_space ps;
	struct rdma_event_channel *server, *client; /* channels */
	struct rdma_cm_id *listener, *active, *passive; /* NULL: not there (any more) */
	uint16_t port; /* network order */
};

struct sockaddr_in address(uint16_t port);
const char *ip(void);

/* A listener on a free port, and the channel for a client. */
struct ends listening(enum rdma_port_space ps, int backlog);
/* The client: address and route resolved. */
void resolved(struct ends *e);
/* Its connect, and the server's CONNECT_REQUEST: passive is set, the event acknowledged. */
void requested(struct ends *e, const struct rdma_conn_param *param);
/* All of it, with QPs on both sides. */
struct ends connected(const struct rdma_conn_param *param);
/* Destroys what there is, in an order that rdma_cm allows. */
void finish(struct ends *e);

struct rdma_conn_param plain_param(void);
void make_qp(struct rdma_cm_id *id);
enum ibv_qp_state qp_state_of(struct rdma_cm_id *id);

/* The next event, within five seconds; it must be of that type. To be acknowledged. */
struct rdma_cm_event *next_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* The same, acknowledged. */
void expect_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
void expect_no_event(struct rdma_event_channel *channel, int ms);
/* len bytes: those of data, then zeros. */
void expect_padded(const void *seen, uint8_t seen_len, const char *data, uint8_t len);

#define assert_fails(call, error)                                                                  \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal(call, -1);                                                        \
		assert_int_equal(errno, error);                                                    \
	} while (0)

#endif
