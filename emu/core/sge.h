/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scatter/gather lists: checked against their regions, read as pieces for a
 * packet, or written from a payload. Every use checks the keys again, since a
 * region may be deregistered while a message is on its way.
 */
#ifndef EMU_SGE_H
#define EMU_SGE_H

#include "mr.h"

struct emu_sgl {
	const struct emu_pd *pd;
	const struct emu_sge *sge;
	uint32_t n;
};

/* Bytes in the list. */
uint64_t emu_sgl_length(const struct emu_sgl *sgl);
/* Are all SGEs valid for this access? Zero-length SGEs are not looked at. */
enum emu_mr_verdict emu_sgl_check(const struct emu_sgl *sgl, uint32_t access);
/* What a local verdict means for the work request. */
enum emu_fault emu_fault_of_verdict(enum emu_mr_verdict verdict);
/* Append the pieces of [off, off + len) to tx. len lies within the list. */
enum emu_mr_verdict emu_sgl_to_tx(const struct emu_sgl *sgl, uint64_t off, uint64_t len,
				  struct emu_tx *tx);

enum emu_sgl_put {
	EMU_SGL_PUT_OK,
	EMU_SGL_PUT_SHORT, /* the list ends before the data */
	EMU_SGL_PUT_REFUSED, /* an SGE is not valid, or its memory is gone */
};

/* Place len bytes at offset off of the list, ascending. Checked whole before a byte is placed. */
enum emu_sgl_put emu_sgl_put(const struct emu_sgl *sgl, uint64_t off, const void *src, uint64_t len);

#endif
