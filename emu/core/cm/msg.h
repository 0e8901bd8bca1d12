/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A CM message and its form as a MAD of 256 bytes (IBTA 13.4, 12.6, annex A11).
 * emu_cm_parse is the one door for hostile ones: what it lets through has every
 * field in its range.
 */
#ifndef EMU_CM_MSG_H
#define EMU_CM_MSG_H

#include <emu/cm.h>

#define EMU_MAD_BYTES 256
#define EMU_CM_DATA_MAX 224

enum emu_cm_kind {
#define CM_MSG(name, attr, at, size) EMU_CM_MSG_##name,
#include "msg.def"
#undef CM_MSG
	EMU_CM_KINDS,
};

/* What an MRA or REJ is about (IBTA 12.6.6, 12.6.7). */
enum emu_cm_about {
	EMU_CM_ABOUT_REQ,
	EMU_CM_ABOUT_REP,
	EMU_CM_ABOUT_OTHER,
};

/* Fields that a message does not have are zero. */
struct emu_cm_msg {
	enum emu_cm_kind kind;
	uint64_t tid;
	uint64_t local_id, remote_id; /* the sender's and the receiver's communication id */
	uint64_t service_id, ca_guid;
	uint64_t qkey, qpn, psn;
	uint64_t responder_resources, initiator_depth, flow_control;
	uint64_t retry_count, rnr_retry, srq, mtu, pkey;
	uint64_t transport, extended_transport;
	uint64_t remote_response_timeout, local_response_timeout, max_retries;
	uint64_t traffic_class, hop_limit, ack_timeout;
	uint64_t about, service_timeout;
	uint64_t reason; /* REJ; the status of a SIDR_REP */
	uint64_t ece_vendor, ece_options;
	uint16_t ps; /* REQ, SIDR_REQ: what service id and IP CM header say */
	struct emu_cm_addr src, dst;
	uint32_t data_len; /* the user's part */
	uint8_t data[EMU_CM_DATA_MAX];
};

/* Bytes of private data a program can send in it; they always arrive in full. */
uint32_t emu_cm_data_size(enum emu_cm_kind kind);
/* data: data_len of them, at most emu_cm_data_size. mad: EMU_MAD_BYTES. */
void emu_cm_pack(const struct emu_cm_msg *msg, uint8_t *mad);
/* False: not a CM message that this CM speaks, nothing of msg counts. */
bool emu_cm_parse(const uint8_t *mad, size_t len, struct emu_cm_msg *msg);

/* The transport fields of a REQ for enum emu_qp_type. False: no such. */
bool emu_cm_transport_of(uint32_t qp_type, struct emu_cm_msg *msg);
/* And back; 0: none. */
uint8_t emu_cm_qp_type_of(const struct emu_cm_msg *msg);
bool emu_cm_ps_known(uint32_t ps);

#endif
