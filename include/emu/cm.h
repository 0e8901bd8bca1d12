/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection manager of the core: IBTA chapter 12 with the RDMA IP CM
 * service of annex A11, as the messages and events that rdma_cm is made of.
 *
 * Two kinds of objects. A listener takes requests for a port. An id is one
 * connection, or one datagram service resolution (SIDR), from its request to
 * its end; emu_cm_connect makes the asking side's, an event of type REQUEST or
 * SIDR_REQUEST brings the listening side's. QPs are the caller's business: the
 * CM carries their numbers and parameters and never touches one.
 *
 *      asking side                        listening side
 *      emu_cm_connect  -- (look-up) REQ ->  REQUEST
 *      RESPONSE        <------- REP ------  emu_cm_accept
 *      emu_cm_establish ------- RTU ----->  ESTABLISHED
 *      ...
 *      emu_cm_disconnect ------ DREQ ---->  DISCONNECTED
 *      DISCONNECTED    <------- DREP -----  emu_cm_disconnect
 *      TIMEWAIT_EXIT                        TIMEWAIT_EXIT
 *
 * Every function and both entries of struct emu_env run under the device lock.
 * Nothing is sent, and no event comes, from inside a call: emu_run sends, and
 * emu_run and emu_input report. Sizes are bytes, ports host order.
 */
#ifndef EMU_CM_H
#define EMU_CM_H

#include <emu/emu.h>

/* Exported by the engine library. */
#pragma GCC visibility push(default)

struct emu_cm_id;
struct emu_cm_listener;

/* Port spaces; a service id is ps << 16 | port (IBTA annex A11). */
enum emu_cm_ps {
	EMU_CM_PS_IPOIB = 0x0002,
	EMU_CM_PS_TCP = 0x0106,
	EMU_CM_PS_UDP = 0x0111,
	EMU_CM_PS_IB = 0x013f,
};

/* What a program may send along, and what the other side always sees, padded with zeros. */
enum emu_cm_private_data {
	EMU_CM_REQ_DATA = 56,
	EMU_CM_REP_DATA = 196,
	EMU_CM_REJ_DATA = 148,
	EMU_CM_SIDR_REQ_DATA = 180,
	EMU_CM_SIDR_REP_DATA = 136,
};

/* Reasons of a REJ (IBTA table 99): the status of REJECTED. */
enum emu_cm_reason {
	EMU_CM_REJ_NO_QP = 1,
	EMU_CM_REJ_NO_RESOURCES = 3,
	EMU_CM_REJ_TIMEOUT = 4,
	EMU_CM_REJ_UNSUPPORTED = 5,
	EMU_CM_REJ_INVALID_COMM_ID = 6,
	EMU_CM_REJ_INVALID_SERVICE_ID = 8, /* nobody listens */
	EMU_CM_REJ_INVALID_TRANSPORT_TYPE = 9,
	EMU_CM_REJ_STALE_CONN = 10, /* that QP is in another connection already */
	EMU_CM_REJ_CONSUMER_DEFINED = 28, /* the program said so, or went away */
	EMU_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED = 35, /* rdma_reject_ece */
};

/* Status of a SIDR_REP (IBTA table 107): the status of UNREACHABLE. */
enum emu_cm_sidr_status {
	EMU_CM_SIDR_SUCCESS = 0,
	EMU_CM_SIDR_UNSUPPORTED = 1, /* nobody listens */
	EMU_CM_SIDR_REJECT = 2,
	EMU_CM_SIDR_NO_QP = 3,
};

/* Status of UNREACHABLE, and of a DISCONNECTED that was never answered: no answer in time. */
#define EMU_CM_TIMED_OUT (-110)

struct emu_cm_addr {
	struct emu_gid ip; /* an IPv4 address mapped; all zero: any */
	uint16_t port;
};

/*
 * What the two sides tell each other. Each field is the teller's own; in an
 * event responder_resources and initiator_depth are swapped, so that they can
 * be used as the receiver's own values (as rdma_cm does).
 */
struct emu_cm_params {
	uint32_t qpn;
	uint32_t psn; /* REQ, REP: where the teller's send queue starts */
	uint32_t qkey; /* SIDR_REP */
	uint8_t qp_type; /* REQ: enum emu_qp_type: RC, UC, XRC_SEND */
	uint8_t responder_resources, initiator_depth;
	uint8_t flow_control;
	uint8_t retry_count; /* REQ only: 0 to 7 */
	uint8_t rnr_retry_count; /* 0 to 7 */
	uint8_t srq;
	uint8_t path_mtu; /* REQ: enum ibv_mtu, 1 to 5 */
	uint8_t ack_timeout; /* REQ: local ACK timeout code of the path, 0 to 31 */
	uint8_t traffic_class;
	uint32_t ece_vendor; /* REQ, REP: enhanced connection establishment; 24 bits */
	uint32_t ece_options;
	const void *private_data; /* in an event: valid until it returns */
	uint32_t private_data_len; /* in an event: the full size, zero-padded */
};

/* ---- events ---------------------------------------------------------------- */

enum emu_cm_event_type {
	/*
	 * Somebody wants to connect: id is new and the receiver's, user the
	 * listener's. Tell emu_cm_taken when the program has got it. With params.
	 */
	EMU_CM_REQUEST,
	EMU_CM_RESPONSE, /* accepted, with params. Next: emu_cm_establish or emu_cm_reject */
	EMU_CM_ESTABLISHED, /* listening side: the other side is ready */
	EMU_CM_REJECTED, /* status: enum emu_cm_reason; private data */
	EMU_CM_UNREACHABLE, /* EMU_CM_TIMED_OUT, or enum emu_cm_sidr_status with private data */
	EMU_CM_DISCONNECTED, /* once for a connection; status 0 or EMU_CM_TIMED_OUT */
	EMU_CM_TIMEWAIT_EXIT, /* no packet of the old connection can come any more */
	EMU_CM_SIDR_REQUEST, /* as REQUEST; private data. Next: emu_cm_sidr_reply */
	EMU_CM_SIDR_RESPONSE, /* qpn, qkey, private data */
};

struct emu_cm_event {
	enum emu_cm_event_type type;
	int status;
	struct emu_cm_id *id;
	struct emu_cm_listener *listener; /* REQUEST, SIDR_REQUEST; else NULL */
	void *user; /* the id's; of REQUEST and SIDR_REQUEST the listener's */
	uint16_t ps;
	struct emu_cm_addr src, dst; /* local and remote, from the receiver's point of view */
	struct emu_cm_params params; /* zero where the type says nothing of it */
};

/*
 * Entries of struct emu_env (emu.h):
 *
 * void cm_event(void *host, const struct emu_cm_event *event)
 *	The event and what it points to are valid during the call only. Must not
 *	call back into the core.
 *
 * void cm_lookup(void *host, const struct emu_cm_addr *dst, uint16_t ps, uint32_t cookie)
 *	Find the process that listens for dst. Answer later, never from inside,
 *	with emu_cm_found or emu_cm_refused, or not at all: then it is asked again
 *	at the CM's timeout, with the same cookie. Extra and late answers are fine.
 */

/* The process that owns QP numbers slot << 12 | n listens there. */
void emu_cm_found(struct emu_dev *dev, uint32_t cookie, uint32_t slot);
/* The address is alive and nobody listens: REJECTED 8, or UNREACHABLE 1 of a SIDR. */
void emu_cm_refused(struct emu_dev *dev, uint32_t cookie);

/* ---- listeners -------------------------------------------------------------- */

/* Which requests an address of "any" takes (rdma_set_option AFONLY). */
enum emu_cm_family {
	EMU_CM_ANY_FAMILY,
	EMU_CM_IPV4_ONLY,
	EMU_CM_IPV6_ONLY,
};

struct emu_cm_listen {
	uint16_t ps;
	struct emu_cm_addr addr; /* ip all zero: any; the port is not */
	enum emu_cm_family family;
	/*
	 * Requests not yet taken by the program; one more is dropped and its
	 * sender tries again at its timeout. 0: 1,024.
	 */
	uint32_t backlog;
	void *user;
};

/*
 * 0; -EADDRINUSE: this device has a listener there (equal address, or one of
 * the two is "any" of an overlapping family); -EINVAL: port 0, unknown ps;
 * -ENOMEM.
 */
int emu_cm_listen(struct emu_dev *dev, const struct emu_cm_listen *listen,
		  struct emu_cm_listener **out);
/*
 * Ids whose REQUEST was not taken yet are destroyed with it (REJ 28): drop
 * such events unseen, before or right after, under the same hold of the lock.
 * Ids that were taken live on.
 */
void emu_cm_unlisten(struct emu_cm_listener *listener);
/* What REQUEST events carry from now on. */
void emu_cm_listener_set_user(struct emu_cm_listener *listener, void *user);
void emu_cm_listener_set_backlog(struct emu_cm_listener *listener, uint32_t backlog);
/* Is there a listener that would take a request for dst? Hosts answer look-ups with it. */
bool emu_cm_listening(const struct emu_dev *dev, uint16_t ps, const struct emu_cm_addr *dst);

/* ---- ids -------------------------------------------------------------------- */

struct emu_cm_connect {
	uint16_t ps;
	struct emu_cm_addr src; /* one of the device's GIDs, and a port */
	struct emu_cm_addr dst;
	struct emu_cm_params params;
};

/*
 * Ask dst for a connection. Ends in RESPONSE, REJECTED or UNREACHABLE.
 * 0; -EINVAL (an address is zero, a field or private data too big); -ENOMEM.
 */
int emu_cm_connect(struct emu_dev *dev, const struct emu_cm_connect *connect, void *user,
		   struct emu_cm_id **out);
/*
 * Ask dst for a datagram QP; only private_data of params counts.
 * Ends in SIDR_RESPONSE or UNREACHABLE. Errors as emu_cm_connect.
 */
int emu_cm_sidr_connect(struct emu_dev *dev, const struct emu_cm_connect *connect, void *user,
			struct emu_cm_id **out);

/* The program has got the REQUEST or SIDR_REQUEST: makes room in the backlog. Once or more. */
void emu_cm_taken(struct emu_cm_id *id);
/* What events carry from now on; at any time. An id of a REQUEST starts with NULL. */
void emu_cm_set_user(struct emu_cm_id *id, void *user);

/*
 * The calls below return 0, or -EINVAL when the id is not in the state for it
 * (or an argument is bad) and nothing has happened.
 */

/* After REQUEST: sends REP. Ends in ESTABLISHED, REJECTED, UNREACHABLE or DISCONNECTED. */
int emu_cm_accept(struct emu_cm_id *id, const struct emu_cm_params *params);
/* After RESPONSE: the QP is ready; sends RTU. No event follows from that. */
int emu_cm_establish(struct emu_cm_id *id);
/* After REQUEST or RESPONSE: sends REJ. What is left is emu_cm_destroy. */
int emu_cm_reject(struct emu_cm_id *id, enum emu_cm_reason reason, const void *data, uint32_t len);
/* After SIDR_REQUEST. qpn and qkey count for EMU_CM_SIDR_SUCCESS only. */
int emu_cm_sidr_reply(struct emu_cm_id *id, enum emu_cm_sidr_status status,
		      const struct emu_cm_params *params);
/*
 * Connected: sends DREQ, DISCONNECTED follows. After DISCONNECTED: sends DREP.
 * When that has been done already: 0, nothing happens.
 */
int emu_cm_disconnect(struct emu_cm_id *id);
/*
 * A packet came on the QP before the RTU did (COMM_EST): ESTABLISHED is
 * reported as if it had come. Also -EISCONN: is connected.
 */
int emu_cm_notify(struct emu_cm_id *id);
/*
 * In any state; the id is not valid afterwards and reports nothing more. The
 * other side is told: an unanswered REQUEST or RESPONSE is rejected (28), a
 * request of one's own withdrawn, a connection disconnected; what that takes
 * goes on unseen.
 */
void emu_cm_destroy(struct emu_cm_id *id);

/* Are there messages that no wire has taken yet? */
bool emu_cm_sending(const struct emu_dev *dev);
/* Ids that exist, those included that only see their end through. */
uint32_t emu_cm_count(const struct emu_dev *dev);

#pragma GCC visibility pop

#endif
