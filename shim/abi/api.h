/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the exported symbols lead: a table of function pointers, one slot for
 * each row of verbs.def. A process uses the emulated table or the real one,
 * never both: the choice is made once, at the first call of any verb.
 */
#ifndef ABI_API_H
#define ABI_API_H

#include <abi/undeclared.h>

struct verbs_api {
#define SYM(version, ret, symbol, name, params, args) ret(*name) params;
#include <abi/verbs.def>
};

/* The emulator's verbs. */
extern const struct verbs_api vs_emulated_api;

/*
 * The verbs of the machine's own libibverbs, loaded at the first call and
 * never unloaded. NULL when there is none. Not thread-safe: the chooser calls it.
 */
const struct verbs_api *vs_real_api(void);

/* Called from vs_real_api when the library is there, before any verb of it is called. */
void vs_private_bind(void *handle);

#endif
