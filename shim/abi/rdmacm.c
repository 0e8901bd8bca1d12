/* SPDX-License-Identifier: BSD-2-Clause */
/* The exported symbols of librdmacm. */
#include <abi/rdmacm.h>

#define ABI_DEF <abi/rdmacm.def>
#define ABI_SONAME "librdmacm.so.1"
#define ABI_NODE "RDMACM_"
#define ABI_EMULATED(name) cs_##name
#define ABI_LOADED NULL
#include <abi/expand.h>
