/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of the emulator's verbs, made from verbs.def. */
#include <abi/api.h>
#include <abi/emulated.h>

const struct verbs_api vs_emulated_api = {
#define SYM(version, ret, symbol, name, params, args) .name = vs_##name,
#include <abi/verbs.def>
};
