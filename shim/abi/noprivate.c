/* SPDX-License-Identifier: BSD-2-Clause */
/* Preload form: providers find the private node in the real library itself. */
#include <abi/private.h>

void vs_private_bind(void *handle)
{
}
