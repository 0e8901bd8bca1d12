/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the project's 0/-errno becomes what verbs documents. Each verb has one
 * of three conventions, and every one of them leaves the reason in errno too,
 * as a system call of rdma-core's would.
 */
#ifndef VS_ERRNO_H
#define VS_ERRNO_H

#include <errno.h>
#include <stddef.h>

/* Verbs that return 0 or the errno. err: 0 or -errno. */
static inline int vs_status(int err)
{
	if (err)
		errno = -err;
	return -err;
}

/* Verbs that return 0 or -1. err: 0 or -errno. */
static inline int vs_minus_one(int err)
{
	if (!err)
		return 0;
	errno = -err;
	return -1;
}

/* Verbs that return NULL for failure. err: -errno. */
static inline void *vs_null(int err)
{
	errno = -err;
	return NULL;
}

#endif
