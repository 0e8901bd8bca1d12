/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs that the emulator answers: int vs_query_device(...) for
 * ibv_query_device and so on, one prototype for each row of verbs.def, same
 * signature. They return what the man page of the verb says.
 */
#ifndef ABI_EMULATED_H
#define ABI_EMULATED_H

#include <abi/undeclared.h>

#define SYM(version, ret, symbol, name, params, args) ret vs_##name params;
#include <abi/verbs.def>

#endif
