// SPDX-License-Identifier: BSD-2-Clause
#include "opcode.h"

#include <stddef.h>

#define BTH_LEN 12
#define TAIL_HDRS (EMU_HDR_IMM | EMU_HDR_IETH)

static const struct emu_opcode opcodes[] = {
#define PKT(n, c, k, p, h)                                                                        \
	[c] = { .name = #n, .code = c, .cls = EMU_CLASS_##k, .pos = EMU_POS_##p, .hdrs = h },
#include "opcode.def"
#undef PKT
};

#define OPCODES (sizeof(opcodes) / sizeof(opcodes[0]))

#define TRANSPORT_SHIFT 5
static const uint8_t type_of[8] = { [0] = EMU_QPT_RC, [1] = EMU_QPT_UC, [3] = EMU_QPT_UD };

/* In the order in which they follow the BTH (IBTA 5.2). */
static const uint8_t hdr_len[] = { 16, 28, 4, 8, 4, 4, 8, 40 };

const struct emu_opcode *emu_opcode(uint8_t code)
{
	return code < OPCODES && opcodes[code].name ? &opcodes[code] : NULL;
}

enum emu_qp_type emu_opcode_type(const struct emu_opcode *op)
{
	return (enum emu_qp_type)type_of[op->code >> TRANSPORT_SHIFT];
}

const struct emu_opcode *emu_opcode_find(enum emu_qp_type type, enum emu_pkt_class cls,
					 enum emu_pkt_pos pos, uint8_t tail_hdrs)
{
	for (size_t i = 0; i < OPCODES; i++)
		if (opcodes[i].name && opcodes[i].cls == cls && opcodes[i].pos == pos &&
		    type_of[i >> TRANSPORT_SHIFT] == type &&
		    (opcodes[i].hdrs & TAIL_HDRS) == tail_hdrs)
			return &opcodes[i];
	return NULL;
}

uint32_t emu_opcode_hdr_len(const struct emu_opcode *op)
{
	uint32_t len = BTH_LEN;

	for (unsigned i = 0; i < sizeof(hdr_len); i++)
		if (op->hdrs & (1u << i))
			len += hdr_len[i];
	return len;
}
