/* SPDX-License-Identifier: BSD-2-Clause */
/* Packet sequence numbers: 24 bits, compared within half the circle (IBTA 9.7.1). */
#ifndef EMU_PSN_H
#define EMU_PSN_H

#include <stdint.h>

#define EMU_PSN_MASK 0xffffffu

static inline uint32_t emu_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & EMU_PSN_MASK;
}

/* Steps from one forward to the other: where they may be half the circle apart. */
static inline uint32_t emu_psn_ahead(uint32_t from, uint32_t to)
{
	return (to - from) & EMU_PSN_MASK;
}

/* a - b, from -2^23 to 2^23 - 1: negative when a comes before b. */
static inline int32_t emu_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

#endif
