// SPDX-License-Identifier: BSD-2-Clause
#include "cm/msg.h"

#include <assert.h>
#include <string.h>

#define MAD_HEADER 24
#define MAD_BASE_VERSION 1
#define MAD_CLASS_CM 7
#define MAD_CM_VERSION 2
#define MAD_METHOD_SEND 3

/* REQ: the primary path's GIDs. */
#define REQ_LOCAL_GID 56
#define REQ_REMOTE_GID 72

/* RDMA IP CM private data header (IBTA annex A11.3). */
#define IP_HEADER 36
#define IP_VERSION 1
#define IP_PORT 2
#define IP_SRC 4
#define IP_DST 20

#define SERVICE_ID_PS_SHIFT 16
#define MTU_MAX 5

struct layout {
	uint16_t attr;
	uint8_t at, size; /* private data */
};

static const struct layout layouts[EMU_CM_KINDS] = {
#define CM_MSG(name, attr, at, size) { attr, at, size },
#include "msg.def"
#undef CM_MSG
};

struct field {
	enum emu_cm_kind kind;
	uint16_t member; /* offset in struct emu_cm_msg */
	uint16_t bit; /* from the first one behind the MAD header */
	uint8_t bits, shift;
};

static const struct field fields[] = {
#define CM_FIELD(kind, name, byte, bit, bits, shift)                                              \
	{ EMU_CM_MSG_##kind, offsetof(struct emu_cm_msg, name), (byte) * 8 + (bit), bits, shift },
#include "msg.def"
#undef CM_FIELD
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* ---- bits and bytes -------------------------------------------------------- */

static void put_bits(uint8_t *p, uint32_t bit, uint32_t bits, uint64_t value)
{
	for (uint32_t i = 0; i < bits; i++) {
		uint32_t at = bit + i;

		if (value >> (bits - 1 - i) & 1)
			p[at / 8] |= (uint8_t)(0x80 >> at % 8);
	}
}

static uint64_t get_bits(const uint8_t *p, uint32_t bit, uint32_t bits)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < bits; i++) {
		uint32_t at = bit + i;

		value = value << 1 | (p[at / 8] >> (7 - at % 8) & 1);
	}
	return value;
}

static uint64_t *member(struct emu_cm_msg *msg, const struct field *f)
{
	return (uint64_t *)((char *)msg + f->member);
}

static bool carries_ip_header(enum emu_cm_kind kind)
{
	return kind == EMU_CM_MSG_REQ || kind == EMU_CM_MSG_SIDR_REQ;
}

uint32_t emu_cm_data_size(enum emu_cm_kind kind)
{
	return layouts[kind].size - (carries_ip_header(kind) ? IP_HEADER : 0);
}

/* ---- addresses --------------------------------------------------------------- */

static const uint8_t mapped[12] = { [10] = 0xff, 0xff };

static bool is_ipv4(const struct emu_gid *ip)
{
	return memcmp(ip, mapped, sizeof(mapped)) == 0;
}

/* An IPv4 address stands in the last 4 of the 16 bytes, behind zeros. */
static void put_ip(uint8_t *p, const struct emu_gid *ip, bool v4)
{
	if (v4)
		memcpy(p + 12, ip->raw + 12, 4);
	else
		memcpy(p, ip, sizeof(*ip));
}

static void get_ip(const uint8_t *p, struct emu_gid *ip, bool v4)
{
	if (v4) {
		memcpy(ip, mapped, sizeof(mapped));
		memcpy(ip->raw + 12, p + 12, 4);
	} else {
		memcpy(ip, p, sizeof(*ip));
	}
}

static void put_ip_header(uint8_t *p, const struct emu_cm_msg *msg)
{
	bool v4 = is_ipv4(&msg->dst.ip);

	p[IP_VERSION] = v4 ? 0x40 : 0x60;
	put_bits(p, IP_PORT * 8, 16, msg->src.port);
	put_ip(p + IP_SRC, &msg->src.ip, v4);
	put_ip(p + IP_DST, &msg->dst.ip, v4);
}

static bool get_ip_header(const uint8_t *p, struct emu_cm_msg *msg)
{
	bool v4 = p[IP_VERSION] == 0x40;
	uint64_t ps = msg->service_id >> SERVICE_ID_PS_SHIFT;

	if (p[0] || (!v4 && p[IP_VERSION] != 0x60) || ps > UINT16_MAX || !emu_cm_ps_known((uint32_t)ps))
		return false;
	msg->ps = (uint16_t)ps;
	msg->src.port = (uint16_t)get_bits(p, IP_PORT * 8, 16);
	msg->dst.port = (uint16_t)msg->service_id;
	get_ip(p + IP_SRC, &msg->src.ip, v4);
	get_ip(p + IP_DST, &msg->dst.ip, v4);
	return true;
}

bool emu_cm_ps_known(uint32_t ps)
{
	return ps == EMU_CM_PS_IPOIB || ps == EMU_CM_PS_TCP || ps == EMU_CM_PS_UDP ||
	       ps == EMU_CM_PS_IB;
}

/* ---- transport (IBTA 12.6.5) ---------------------------------------------------- */

static const struct {
	uint8_t qp_type, transport, extended;
} transports[] = {
	{ EMU_QPT_RC, 0, 0 },
	{ EMU_QPT_UC, 1, 0 },
	{ EMU_QPT_XRC_SEND, 3, 1 },
};

#define TRANSPORTS (sizeof(transports) / sizeof(transports[0]))

bool emu_cm_transport_of(uint32_t qp_type, struct emu_cm_msg *msg)
{
	for (size_t i = 0; i < TRANSPORTS; i++) {
		if (transports[i].qp_type == qp_type) {
			msg->transport = transports[i].transport;
			msg->extended_transport = transports[i].extended;
			return true;
		}
	}
	return false;
}

uint8_t emu_cm_qp_type_of(const struct emu_cm_msg *msg)
{
	for (size_t i = 0; i < TRANSPORTS; i++)
		if (transports[i].transport == msg->transport &&
		    transports[i].extended == msg->extended_transport)
			return transports[i].qp_type;
	return 0;
}

/* ---- whole messages -------------------------------------------------------------- */

void emu_cm_pack(const struct emu_cm_msg *msg, uint8_t *mad)
{
	const struct layout *layout = &layouts[msg->kind];
	struct emu_cm_msg value = *msg;
	uint8_t *body = mad + MAD_HEADER, *data = body + layout->at;

	assert(msg->data_len <= emu_cm_data_size(msg->kind));
	memset(mad, 0, EMU_MAD_BYTES);
	mad[0] = MAD_BASE_VERSION;
	mad[1] = MAD_CLASS_CM;
	mad[2] = MAD_CM_VERSION;
	mad[3] = MAD_METHOD_SEND;
	put_bits(mad, 64, 64, msg->tid);
	put_bits(mad, 128, 16, layout->attr);
	/* Attribute modifier: the options of enhanced connection establishment. */
	put_bits(mad, 160, 32, msg->ece_options);
	for (size_t i = 0; i < FIELDS; i++)
		if (fields[i].kind == msg->kind)
			put_bits(body, fields[i].bit, fields[i].bits,
				 *member(&value, &fields[i]) >> fields[i].shift);
	if (msg->kind == EMU_CM_MSG_REQ) {
		memcpy(body + REQ_LOCAL_GID, &msg->src.ip, sizeof(msg->src.ip));
		memcpy(body + REQ_REMOTE_GID, &msg->dst.ip, sizeof(msg->dst.ip));
	}
	if (carries_ip_header(msg->kind)) {
		put_ip_header(data, msg);
		data += IP_HEADER;
	}
	memcpy(data, msg->data, msg->data_len);
}

static bool parse_header(const uint8_t *mad, size_t len, struct emu_cm_msg *msg)
{
	uint64_t attr;

	if (len != EMU_MAD_BYTES || mad[0] != MAD_BASE_VERSION || mad[1] != MAD_CLASS_CM ||
	    mad[2] != MAD_CM_VERSION || mad[3] != MAD_METHOD_SEND)
		return false;
	attr = get_bits(mad, 128, 16);
	msg->tid = get_bits(mad, 64, 64);
	msg->ece_options = get_bits(mad, 160, 32);
	for (int kind = 0; kind < EMU_CM_KINDS; kind++) {
		if (layouts[kind].attr == attr) {
			msg->kind = (enum emu_cm_kind)kind;
			return true;
		}
	}
	return false;
}

/* The path must be that between the two addresses: on RoCE v2 a GID is an IP address. */
static bool parse_request(const uint8_t *body, struct emu_cm_msg *msg)
{
	if (!get_ip_header(body + layouts[msg->kind].at, msg))
		return false;
	if (msg->kind == EMU_CM_MSG_SIDR_REQ)
		return true;
	return emu_cm_qp_type_of(msg) && msg->mtu >= 1 && msg->mtu <= MTU_MAX &&
	       !memcmp(body + REQ_LOCAL_GID, &msg->src.ip, sizeof(msg->src.ip)) &&
	       !memcmp(body + REQ_REMOTE_GID, &msg->dst.ip, sizeof(msg->dst.ip));
}

bool emu_cm_parse(const uint8_t *mad, size_t len, struct emu_cm_msg *msg)
{
	const uint8_t *body, *data;

	memset(msg, 0, sizeof(*msg));
	if (!parse_header(mad, len, msg))
		return false;
	body = mad + MAD_HEADER;
	for (size_t i = 0; i < FIELDS; i++)
		if (fields[i].kind == msg->kind)
			*member(msg, &fields[i]) |=
				get_bits(body, fields[i].bit, fields[i].bits) << fields[i].shift;
	data = body + layouts[msg->kind].at;
	if (carries_ip_header(msg->kind)) {
		if (!parse_request(body, msg))
			return false;
		data += IP_HEADER;
	}
	msg->data_len = emu_cm_data_size(msg->kind);
	memcpy(msg->data, data, msg->data_len);
	return true;
}
