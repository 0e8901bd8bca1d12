// SPDX-License-Identifier: BSD-2-Clause
#include "sge.h"

#include <assert.h>

uint64_t emu_sgl_length(const struct emu_sgl *sgl)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < sgl->n; i++)
		len += sgl->sge[i].length;
	return len;
}

enum emu_mr_verdict emu_sgl_check(const struct emu_sgl *sgl, uint32_t access)
{
	struct emu_mr *mr;

	for (uint32_t i = 0; i < sgl->n; i++) {
		const struct emu_sge *s = &sgl->sge[i];
		struct emu_access_req req = { s->addr, s->length, s->lkey, access };
		enum emu_mr_verdict v;

		if (s->length && (v = emu_mr_check_local(sgl->pd, &req, &mr)))
			return v;
	}
	return EMU_MR_OK;
}

enum emu_fault emu_fault_of_verdict(enum emu_mr_verdict verdict)
{
	static const enum emu_fault fault[] = {
		[EMU_MR_OK] = EMU_PASS,
		[EMU_MR_KEY] = EMU_FAULT_LOCAL_KEY,
		[EMU_MR_RIGHT] = EMU_FAULT_LOCAL_RIGHT,
		[EMU_MR_RANGE] = EMU_FAULT_LOCAL_RANGE,
	};

	return fault[verdict];
}

/* The next piece of [off, off + len): its SGE's part, as an access to check. */
struct piece {
	uint32_t i; /* SGE to look at next */
	uint64_t off, len; /* what is left, off relative to sge[i] */
};

static bool next_piece(const struct emu_sgl *sgl, struct piece *p, struct emu_access_req *req)
{
	for (; p->i < sgl->n && p->len; p->i++) {
		const struct emu_sge *s = &sgl->sge[p->i];
		uint64_t room;

		if (p->off >= s->length) {
			p->off -= s->length;
			continue;
		}
		room = s->length - p->off;
		req->va = s->addr + p->off;
		req->len = p->len < room ? p->len : room;
		req->key = s->lkey;
		p->len -= req->len;
		p->off = 0;
		p->i++;
		return true;
	}
	return false;
}

enum emu_mr_verdict emu_sgl_to_tx(const struct emu_sgl *sgl, uint64_t off, uint64_t len,
				  struct emu_tx *tx)
{
	struct piece p = { 0, off, len };
	struct emu_access_req req = { .access = 0 };
	struct emu_mr *mr;

	while (next_piece(sgl, &p, &req)) {
		enum emu_mr_verdict v = emu_mr_check_local(sgl->pd, &req, &mr);

		if (v)
			return v;
		assert(tx->niov < EMU_TX_IOV_MAX);
		tx->iov[tx->niov] = (struct emu_iov){ emu_mr_host(mr, req.va), req.len };
		tx->mr[tx->niov++] = mr;
		tx->payload += req.len;
	}
	return EMU_MR_OK;
}

enum emu_sgl_put emu_sgl_put(const struct emu_sgl *sgl, uint64_t off, const void *src, uint64_t len)
{
	const struct emu_env *env = sgl->pd->dev->env;
	struct piece p = { 0, off, len };
	struct emu_access_req req = { .access = EMU_ACCESS_LOCAL_WRITE };
	const uint8_t *from = src;
	struct emu_mr *mr;

	while (next_piece(sgl, &p, &req))
		if (emu_mr_check_local(sgl->pd, &req, &mr))
			return EMU_SGL_PUT_REFUSED;
	if (p.len)
		return EMU_SGL_PUT_SHORT;
	for (p = (struct piece){ 0, off, len }; next_piece(sgl, &p, &req); from += req.len) {
		emu_mr_check_local(sgl->pd, &req, &mr);
		if (env->copy(emu_mr_host(mr, req.va), from, req.len))
			return EMU_SGL_PUT_REFUSED;
	}
	return EMU_SGL_PUT_OK;
}
