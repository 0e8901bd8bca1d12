/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packet opcodes of opcode.def. A frame may carry a run of packets of one
 * message under one header; its opcode then says what the run holds: ONLY the
 * whole message, FIRST its start, LAST its end, MIDDLE neither.
 */
#ifndef EMU_OPCODE_H
#define EMU_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

#include <emu/types.h>

enum emu_hdr {
	EMU_HDR_RETH = 1 << 0,
	EMU_HDR_ATOMIC = 1 << 1,
	EMU_HDR_AETH = 1 << 2,
	EMU_HDR_ATOMIC_ACK = 1 << 3,
	EMU_HDR_IMM = 1 << 4,
	EMU_HDR_IETH = 1 << 5,
	EMU_HDR_DETH = 1 << 6,
	EMU_HDR_GRH = 1 << 7, /* travels in front of the BTH on a physical link, last here */
};

enum emu_pkt_class {
	EMU_CLASS_NONE,
	EMU_CLASS_SEND,
	EMU_CLASS_WRITE,
	EMU_CLASS_READ,
	EMU_CLASS_ATOMIC,
	EMU_CLASS_READ_RESP,
	EMU_CLASS_ATOMIC_ACK,
	EMU_CLASS_ACK,
	EMU_CLASS_DATAGRAM,
};

/* FIRST and LAST as bits: ONLY is both, MIDDLE neither. */
enum emu_pkt_pos {
	EMU_POS_MIDDLE = 0,
	EMU_POS_FIRST = 1,
	EMU_POS_LAST = 2,
	EMU_POS_ONLY = 3,
};

enum emu_pkt_opcode {
#define PKT(name, code, cls, pos, hdrs) EMU_PKT_##name = code,
#include "opcode.def"
#undef PKT
};

struct emu_opcode {
	const char *name; /* NULL: no such opcode */
	uint8_t code;
	uint8_t cls; /* enum emu_pkt_class */
	uint8_t pos; /* enum emu_pkt_pos */
	uint8_t hdrs; /* enum emu_hdr */
};

/* The row of a BTH opcode, or NULL. */
const struct emu_opcode *emu_opcode(uint8_t code);
/* A QP type's opcode of this class, position and set of immediate/invalidate headers, or NULL. */
const struct emu_opcode *emu_opcode_find(enum emu_qp_type type, enum emu_pkt_class cls,
					 enum emu_pkt_pos pos, uint8_t tail_hdrs);
/* The type of the QPs that the packet travels between: IBTA table 37, the upper three bits. */
enum emu_qp_type emu_opcode_type(const struct emu_opcode *op);
/* Bytes of BTH and extended headers. */
uint32_t emu_opcode_hdr_len(const struct emu_opcode *op);

static inline bool emu_opcode_is_response(const struct emu_opcode *op)
{
	return op->cls >= EMU_CLASS_READ_RESP && op->cls <= EMU_CLASS_ACK;
}

#endif
