/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For files that define functions of libc in front of libc's own. To be
 * included first: the names must not be redirected by the headers.
 */
#ifndef SYSFS_NEXT_H
#define SYSFS_NEXT_H

#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>

#define EXPORT __attribute__((visibility("default")))

/*
 * The function that ours stands in front of. Looked up at its first use, not in
 * a constructor, since other libraries' constructors come earlier; racing
 * threads find the same.
 */
#define NEXT(fn)                                                                                   \
	({                                                                                         \
		static __typeof__(&fn) next_;                                                      \
		__typeof__(&fn) found_ = __atomic_load_n(&next_, __ATOMIC_RELAXED);                \
		if (!found_) {                                                                     \
			found_ = (__typeof__(&fn))dlsym(RTLD_NEXT, #fn);                           \
			__atomic_store_n(&next_, found_, __ATOMIC_RELAXED);                        \
		}                                                                                  \
		found_;                                                                            \
	})

#endif
