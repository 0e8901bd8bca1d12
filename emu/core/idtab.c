// SPDX-License-Identifier: BSD-2-Clause
#include "idtab.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

void emu_idtab_init(struct emu_idtab *tab, uint32_t first, uint32_t max)
{
	memset(tab, 0, sizeof(*tab));
	tab->first = tab->high = first;
	tab->max = max;
}

void emu_idtab_fini(struct emu_idtab *tab)
{
	free(tab->obj);
	free(tab->freed);
}

static int grow(struct emu_idtab *tab)
{
	uint32_t room = tab->room ? tab->room * 2 : 64;
	void **obj;

	if (tab->high < tab->room)
		return 0;
	obj = realloc(tab->obj, room * sizeof(*obj));
	if (!obj)
		return -EMU_ENOMEM;
	memset(obj + tab->room, 0, (room - tab->room) * sizeof(*obj));
	tab->obj = obj;
	tab->room = room;
	return 0;
}

int emu_idtab_add(struct emu_idtab *tab, void *obj, uint32_t *index)
{
	uint32_t i;

	/* Allocated here, so that a release never fails. */
	if (!tab->freed && !(tab->freed = calloc(tab->max, sizeof(*tab->freed))))
		return -EMU_ENOMEM;
	if (tab->high < tab->max) {
		while (tab->high >= tab->room)
			if (grow(tab))
				return -EMU_ENOMEM;
		i = tab->high++;
	} else if (tab->nfreed) {
		i = tab->freed[tab->head];
		tab->head = (tab->head + 1) % tab->max;
		tab->nfreed--;
	} else {
		return -EMU_ENOMEM;
	}
	tab->obj[i] = obj;
	tab->used++;
	*index = i;
	return 0;
}

void emu_idtab_del(struct emu_idtab *tab, uint32_t index)
{
	tab->obj[index] = NULL;
	tab->freed[(tab->head + tab->nfreed++) % tab->max] = index;
	tab->used--;
}
