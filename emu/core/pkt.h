/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A packet as the protocol sees it, and its form on a wire: BTH and extended
 * headers of IBTA chapter 9, big endian, then the payload. Pad bytes and ICRC
 * belong to a physical link and are left off.
 */
#ifndef EMU_PKT_H
#define EMU_PKT_H

#include <stddef.h>

#include <emu/types.h>

#include "opcode.h"

/* AETH syndromes (IBTA 9.7.5.2.1, table 44) */
enum emu_syndrome {
	EMU_AETH_ACK = 0x1f, /* credit count "not limited" */
	EMU_AETH_RNR = 0x20, /* + RNR timer code */
	EMU_AETH_NAK_PSN_SEQ = 0x60,
	EMU_AETH_NAK_INV_REQ = 0x61,
	EMU_AETH_NAK_REM_ACCESS = 0x62,
	EMU_AETH_NAK_REM_OP = 0x63,
	EMU_AETH_TYPE_MASK = 0xe0,
	EMU_AETH_VALUE_MASK = 0x1f,
};

struct emu_pkt {
	const struct emu_opcode *op;
	bool solicited;
	bool ack_req;
	uint32_t dqpn;
	uint32_t psn;
	uint64_t va; /* RETH, AtomicETH */
	uint32_t rkey;
	uint32_t len; /* RETH: bytes of the whole message */
	uint64_t swap_add, compare; /* AtomicETH */
	uint8_t syndrome; /* AETH */
	uint32_t msn;
	uint64_t orig; /* AtomicAckETH */
	uint32_t qkey, src_qpn; /* DETH */
	struct emu_grh {
		uint8_t traffic_class, hop_limit;
		uint32_t flow_label;
		struct emu_gid sgid, dgid;
	} grh;
	uint32_t imm; /* ImmDt as it travels (network order), or the rkey of an IETH */
	const uint8_t *payload;
	uint32_t payload_len;
};

/* Write the headers; dst has EMU_HDR_MAX bytes. Returns their length. */
uint32_t emu_pkt_pack(const struct emu_pkt *pkt, uint8_t *dst);
/* The one door for hostile bytes: false if it is not a packet. payload points into frame. */
bool emu_pkt_parse(const void *frame, size_t len, struct emu_pkt *pkt);

/* Packets of mtu bytes in a message or run of len bytes; an empty one is one packet. */
static inline uint32_t emu_pkt_count(uint64_t len, uint32_t mtu)
{
	return len ? (uint32_t)((len + mtu - 1) / mtu) : 1;
}

#endif
