/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ABI_LDCACHE_H
#define ABI_LDCACHE_H

#include <stdbool.h>
#include <stddef.h>

/* The path that /etc/ld.so.cache has for a SONAME of this architecture. Any thread. */
bool vs_ldcache_find(const char *soname, char *path, size_t size);

#endif
