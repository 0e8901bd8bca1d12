/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table of objects by small index. Freed indexes wait in a queue, so that a
 * number comes back as late as possible: stale keys and QP numbers miss.
 */
#ifndef EMU_IDTAB_H
#define EMU_IDTAB_H

#include <stdint.h>

struct emu_idtab {
	void **obj; /* [high] */
	uint32_t *freed; /* ring of max entries, allocated at the first use */
	uint32_t first, max; /* indexes first … max - 1 are handed out */
	uint32_t high; /* indexes below have been used at least once */
	uint32_t room; /* entries allocated in obj */
	uint32_t head, nfreed; /* ring */
	uint32_t used;
};

void emu_idtab_init(struct emu_idtab *tab, uint32_t first, uint32_t max);
void emu_idtab_fini(struct emu_idtab *tab);
/* 0 and the index; -ENOMEM when all are used or memory is short. */
int emu_idtab_add(struct emu_idtab *tab, void *obj, uint32_t *index);
void emu_idtab_del(struct emu_idtab *tab, uint32_t index);

static inline void *emu_idtab_get(const struct emu_idtab *tab, uint32_t index)
{
	return index >= tab->first && index < tab->high ? tab->obj[index] : 0;
}

#endif
