/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOST_GUARD_H
#define HOST_GUARD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Access to memory of the program that may have gone since it was registered:
 * 0, or -EFAULT instead of a crash. The four of struct emu_env. Any thread
 * that does not block SIGSEGV and SIGBUS.
 */
int guard_copy(void *dst, const void *src, size_t len);
int guard_touch(const void *src, size_t len);
int guard_cas64(void *addr, uint64_t compare, uint64_t swap, uint64_t *old);
int guard_faa64(void *addr, uint64_t add, uint64_t *old);

/*
 * Take SIGSEGV and SIGBUS; faults that are not the guard's go to whoever had
 * them. Again now and then: the program may have set handlers since. 0, -errno.
 */
int guard_install(void);

#endif
