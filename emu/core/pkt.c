// SPDX-License-Identifier: BSD-2-Clause
#include "pkt.h"

#include <string.h>

#include "psn.h"

#define DEFAULT_PKEY 0xffffu
#define SOLICITED_BIT 0x80
#define ACK_REQ_BIT 0x80
#define NEXT_HEADER_IBA 0x1b
#define PAYLOAD_MAX (1u << 31)

static uint8_t *put(uint8_t *p, uint64_t v, int bytes)
{
	for (int i = bytes - 1; i >= 0; i--)
		*p++ = (uint8_t)(v >> (8 * i));
	return p;
}

static uint64_t get(const uint8_t **p, int bytes)
{
	uint64_t v = 0;

	for (int i = 0; i < bytes; i++)
		v = v << 8 | *(*p)++;
	return v;
}

/* IBTA 8.3; the payload length is the frame's, the next header always IBA's. */
static uint8_t *put_grh(uint8_t *p, const struct emu_grh *grh)
{
	p = put(p, 6u << 28 | (uint32_t)grh->traffic_class << 20 | (grh->flow_label & 0xfffff), 4);
	p = put(p, NEXT_HEADER_IBA, 3);
	*p++ = grh->hop_limit;
	memcpy(p, &grh->sgid, sizeof(grh->sgid));
	memcpy(p + sizeof(grh->sgid), &grh->dgid, sizeof(grh->dgid));
	return p + 2 * sizeof(struct emu_gid);
}

static void get_grh(const uint8_t *p, struct emu_grh *grh)
{
	uint32_t word = (uint32_t)get(&p, 4);

	grh->traffic_class = (uint8_t)(word >> 20);
	grh->flow_label = word & 0xfffff;
	p += 3;
	grh->hop_limit = *p++;
	memcpy(&grh->sgid, p, sizeof(grh->sgid));
	memcpy(&grh->dgid, p + sizeof(grh->sgid), sizeof(grh->dgid));
}

uint32_t emu_pkt_pack(const struct emu_pkt *pkt, uint8_t *dst)
{
	uint8_t hdrs = pkt->op->hdrs;
	uint8_t *p = dst;

	*p++ = pkt->op->code;
	*p++ = pkt->solicited ? SOLICITED_BIT : 0;
	p = put(p, DEFAULT_PKEY, 2);
	p = put(p, pkt->dqpn, 4);
	*p++ = pkt->ack_req ? ACK_REQ_BIT : 0;
	p = put(p, pkt->psn, 3);
	if (hdrs & EMU_HDR_RETH) {
		p = put(p, pkt->va, 8);
		p = put(p, pkt->rkey, 4);
		p = put(p, pkt->len, 4);
	}
	if (hdrs & EMU_HDR_ATOMIC) {
		p = put(p, pkt->va, 8);
		p = put(p, pkt->rkey, 4);
		p = put(p, pkt->swap_add, 8);
		p = put(p, pkt->compare, 8);
	}
	if (hdrs & EMU_HDR_AETH) {
		*p++ = pkt->syndrome;
		p = put(p, pkt->msn, 3);
	}
	if (hdrs & EMU_HDR_ATOMIC_ACK)
		p = put(p, pkt->orig, 8);
	if (hdrs & EMU_HDR_IMM) {
		memcpy(p, &pkt->imm, 4);
		p += 4;
	}
	if (hdrs & EMU_HDR_IETH)
		p = put(p, pkt->imm, 4);
	if (hdrs & EMU_HDR_DETH) {
		p = put(p, pkt->qkey, 4);
		p = put(p, pkt->src_qpn, 4);
	}
	if (hdrs & EMU_HDR_GRH)
		p = put_grh(p, &pkt->grh);
	return (uint32_t)(p - dst);
}

static void parse_extended(const uint8_t *p, struct emu_pkt *pkt)
{
	uint8_t hdrs = pkt->op->hdrs;

	if (hdrs & EMU_HDR_RETH) {
		pkt->va = get(&p, 8);
		pkt->rkey = (uint32_t)get(&p, 4);
		pkt->len = (uint32_t)get(&p, 4);
	}
	if (hdrs & EMU_HDR_ATOMIC) {
		pkt->va = get(&p, 8);
		pkt->rkey = (uint32_t)get(&p, 4);
		pkt->swap_add = get(&p, 8);
		pkt->compare = get(&p, 8);
	}
	if (hdrs & EMU_HDR_AETH) {
		pkt->syndrome = *p++;
		pkt->msn = (uint32_t)get(&p, 3);
	}
	if (hdrs & EMU_HDR_ATOMIC_ACK)
		pkt->orig = get(&p, 8);
	if (hdrs & EMU_HDR_IMM) {
		memcpy(&pkt->imm, p, 4);
		p += 4;
	}
	if (hdrs & EMU_HDR_IETH)
		pkt->imm = (uint32_t)get(&p, 4);
	if (hdrs & EMU_HDR_DETH) {
		pkt->qkey = (uint32_t)get(&p, 4);
		pkt->src_qpn = (uint32_t)get(&p, 4) & EMU_PSN_MASK;
	}
	if (hdrs & EMU_HDR_GRH)
		get_grh(p, &pkt->grh);
}

bool emu_pkt_parse(const void *frame, size_t len, struct emu_pkt *pkt)
{
	const uint8_t *p = frame;
	uint32_t hdr_len;

	memset(pkt, 0, sizeof(*pkt));
	if (len == 0 || !(pkt->op = emu_opcode(*p)))
		return false;
	hdr_len = emu_opcode_hdr_len(pkt->op);
	if (len < hdr_len || len - hdr_len > PAYLOAD_MAX)
		return false;
	p++;
	pkt->solicited = *p++ & SOLICITED_BIT;
	if (get(&p, 2) != DEFAULT_PKEY)
		return false;
	pkt->dqpn = (uint32_t)get(&p, 4) & EMU_PSN_MASK;
	pkt->ack_req = *p++ & ACK_REQ_BIT;
	pkt->psn = (uint32_t)get(&p, 3);
	parse_extended(p, pkt);
	pkt->payload = (const uint8_t *)frame + hdr_len;
	pkt->payload_len = (uint32_t)(len - hdr_len);
	return true;
}
