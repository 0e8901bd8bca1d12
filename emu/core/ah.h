/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address handles: a path. A posted WR holds its handle, so that destroying it
 * right after the post does no harm.
 */
#ifndef EMU_AH_H
#define EMU_AH_H

#include "mr.h"

struct emu_ah {
	struct emu_pd *pd;
	struct emu_ah_attr attr;
	_Atomic uint32_t refs; /* the owner's, and one for each WQE */
};

/* Is there such a path from this device? */
bool emu_ah_path_usable(const struct emu_dev *dev, const struct emu_ah_attr *attr);
/* Poster. */
void emu_ah_hold(struct emu_ah *ah);
void emu_ah_release(struct emu_ah *ah);

#endif
