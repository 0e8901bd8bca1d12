/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libfabric's fi_getinfo asks libibverbs for devices, whatever the provider.
 * Where libfabric shares the program's namespace (sanitizer builds) that is our
 * own shim, in the middle of the engine's start: this thread must find none.
 */
#include "inside.h"

#include <emu/nic.h>

static __thread bool inside_engine;

void nic_inside_set(bool inside)
{
	inside_engine = inside;
}

bool nic_inside_engine(void)
{
	return inside_engine;
}
