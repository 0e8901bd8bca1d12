/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ABI_PRIVATE_H
#define ABI_PRIVATE_H

/* The real libibverbs is there: pass on to it what it shares with its providers. */
void vs_private_bind(void *handle);

#endif
