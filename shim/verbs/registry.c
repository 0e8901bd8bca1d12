/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The set of live verbs objects: a hash table with linear probing, keyed by
 * address. Control path only; one mutex.
 */
#include "registry.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct entry {
	const void *obj;
	const void *owner;
	enum vs_kind kind;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct entry *table;
static size_t capacity; /* a power of two, or 0 */
static size_t used;

static void acquire(void)
{
	pthread_mutex_lock(&lock);
}

static void release(void)
{
	pthread_mutex_unlock(&lock);
}

/* A child that opens a device of its own needs a table no other thread was changing. */
static void survive_fork(void)
{
	pthread_atfork(acquire, release, release);
}

static size_t slot_of(const void *obj)
{
	return ((uintptr_t)obj >> 4) * 0x9e3779b97f4a7c15u >> 20 & (capacity - 1);
}

/* The slot that holds obj, or the free one where it would go. */
static size_t find_slot(const void *obj)
{
	size_t i = slot_of(obj);

	while (table[i].obj && table[i].obj != obj)
		i = (i + 1) & (capacity - 1);
	return i;
}

static int grow(void)
{
	size_t old_capacity = capacity;
	struct entry *old = table;
	struct entry *bigger;

	if (used < capacity / 2)
		return 0;
	bigger = calloc(capacity ? capacity * 2 : 64, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	table = bigger;
	capacity = capacity ? capacity * 2 : 64;
	for (size_t i = 0; i < old_capacity; i++) {
		if (old[i].obj)
			table[find_slot(old[i].obj)] = old[i];
	}
	free(old);
	return 0;
}

/* Close the gap so that no probe sequence is cut. */
static void erase(size_t hole)
{
	size_t i = hole;

	table[hole].obj = NULL;
	used--;
	for (;;) {
		size_t home;

		i = (i + 1) & (capacity - 1);
		if (!table[i].obj)
			return;
		home = slot_of(table[i].obj);
		if (((i - home) & (capacity - 1)) < ((i - hole) & (capacity - 1)))
			continue;
		table[hole] = table[i];
		table[i].obj = NULL;
		hole = i;
	}
}

int vs_registry_add(const void *obj, enum vs_kind kind, const void *owner)
{
	int err;

	pthread_once(&once, survive_fork);
	acquire();
	err = grow();
	if (!err) {
		table[find_slot(obj)] = (struct entry){obj, owner, kind};
		used++;
	}
	release();
	return err;
}

/* The entry of obj, NULL if it is not there with that kind. Lock held. */
static struct entry *look_up(const void *obj, enum vs_kind kind)
{
	struct entry *e;

	if (!obj || !capacity)
		return NULL;
	e = &table[find_slot(obj)];
	return e->obj && e->kind == kind ? e : NULL;
}

bool vs_registry_remove(const void *obj, enum vs_kind kind)
{
	struct entry *e;

	acquire();
	e = look_up(obj, kind);
	if (e)
		erase(e - table);
	release();
	return e;
}

bool vs_registry_rename(const void *obj, enum vs_kind from, enum vs_kind to)
{
	struct entry *e;

	acquire();
	e = look_up(obj, from);
	if (e)
		e->kind = to;
	release();
	return e;
}

bool vs_registry_has(const void *obj, enum vs_kind kind)
{
	bool found;

	acquire();
	found = look_up(obj, kind);
	release();
	return found;
}

void *vs_registry_pop(const void *owner, enum vs_kind kind, size_t *from)
{
	const void *obj = NULL;

	acquire();
	/* Once around from where the last one was: others may change the table in between. */
	for (size_t n = 0; n < capacity && !obj; n++) {
		size_t i = (*from + n) & (capacity - 1);

		if (table[i].obj && table[i].owner == owner && table[i].kind == kind) {
			obj = table[i].obj;
			erase(i);
			*from = i;
		}
	}
	release();
	return (void *)(uintptr_t)obj;
}
