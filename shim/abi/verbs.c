/* SPDX-License-Identifier: BSD-2-Clause */
/* The exported symbols of libibverbs. */
#include <abi/emulated.h>
#include <abi/private.h>

#define ABI_DEF <abi/verbs.def>
#define ABI_SONAME "libibverbs.so.1"
#define ABI_NODE "IBVERBS_"
#define ABI_EMULATED(name) vs_##name
#define ABI_LOADED vs_private_bind
#include <abi/expand.h>
