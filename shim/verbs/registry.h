/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The set of live objects of this process. A control-path verb looks its
 * argument up here before it follows the pointer, as the kernel looks up a
 * handle: a stale or foreign pointer is EINVAL, never a crash.
 */
#ifndef VS_REGISTRY_H
#define VS_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

enum vs_kind {
	VS_CONTEXT,
	VS_PD,
	VS_MR,
	VS_AH,
	VS_CHANNEL,
	VS_CQ,
	VS_SRQ,
	VS_QP,
	/* Destroyed, but the program still owes acks for events about it. */
	VS_CQ_GOING,
	VS_SRQ_GOING,
	VS_QP_GOING,
	/* Somebody is destroying it. */
	VS_GOING,
};

/* Enter obj, which belongs to owner (its context). Any thread. 0, -ENOMEM. */
int vs_registry_add(const void *obj, enum vs_kind kind, const void *owner);
/* Take obj out; false if it was not there (so only one of two destroyers wins). */
bool vs_registry_remove(const void *obj, enum vs_kind kind);
/*
 * Give obj another kind; false if it was not there with the old one. Destroyers
 * claim an object so before they follow the pointer: only one of them wins.
 */
bool vs_registry_rename(const void *obj, enum vs_kind from, enum vs_kind to);
bool vs_registry_has(const void *obj, enum vs_kind kind);
/*
 * Take out any one object of that kind that belongs to owner; NULL: none left.
 * *from, 0 at first, is where to look on, so that n of them take n steps.
 */
void *vs_registry_pop(const void *owner, enum vs_kind kind, size_t *from);

#endif
