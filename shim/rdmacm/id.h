/* SPDX-License-Identifier: BSD-2-Clause */
/* A communication identifier behind its rdma_cm_id. */
#ifndef CS_ID_H
#define CS_ID_H

#include "channel.h"
#include "device.h"
#include "notice.h"

#include <rdma/rdma_cma.h>

enum cs_state {
	CS_IDLE,
	CS_BOUND,
	CS_ADDR_RESOLVED,
	CS_ROUTE_RESOLVED,
	CS_LISTENING,
	CS_CONNECTING, /* and all that follows from it, on both sides: the core knows the rest */
};

enum cs_option_set {
	CS_REUSE_ADDR = 1 << 0,
	CS_AF_ONLY = 1 << 1,
};

struct cs_group;

struct cs_id {
	struct rdma_cm_id id; /* first: a program's pointer is ours */

	/* Under the device lock once there is a device. */
	enum cs_state state;
	struct cs_device *dev; /* NULL until the first call that needs it */
	struct emu_cm_id *cm; /* a connection, from connect or CONNECT_REQUEST on */
	struct emu_cm_listener *listener;
	struct nic_cm_port *port; /* bound to one of the program's choice, or to listen */
	struct cs_group *groups;

	/* The connection, as far as QPs need it. */
	struct emu_cm_params local, remote; /* what the sides said; private_data is not valid */
	uint8_t responder_resources, initiator_depth; /* of this side, agreed */
	bool passive; /* comes of a request */
	bool connect_error; /* the QP did not follow: what comes after is not told */

	/* Options. */
	unsigned options; /* enum cs_option_set */
	uint8_t traffic_class;
	uint8_t ack_timeout; /* code; 0: the default */
	struct ibv_ece local_ece;

	/* Events. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct cs_notice *notices, **last_notice; /* nobody has fetched them */
	uint32_t fetched, acked;
	bool sync; /* its calls block; the channel is its own */

	/* rdma_create_ep */
	struct ibv_qp_init_attr *request_qp; /* for the ids of requests; NULL: no QP */
	struct ibv_pd *request_pd;
	void *connect_data;
	uint8_t connect_len;
};

static inline struct cs_id *cs_id(struct rdma_cm_id *id)
{
	return (struct cs_id *)id;
}

/* A new id on channel (NULL: synchronous). 0, -errno. */
int cs_id_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
	      enum ibv_qp_type qp_type, struct cs_id **out);
/* Undoes cs_id_new on an id that nothing has happened to. */
void cs_id_free(struct cs_id *id);
/* Fill in the device of an id that has got an address of it. */
void cs_id_attach(struct cs_id *id);

#endif
