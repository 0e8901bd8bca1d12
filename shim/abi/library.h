/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One of the machine's own libraries that the shim stands in front of, and the
 * choice, made once at the first call of any symbol of it, between it and the
 * emulator.
 */
#ifndef ABI_LIBRARY_H
#define ABI_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

struct abi_symbol {
	const char *name, *version;
};

struct abi_library {
	const char *soname;
	const struct abi_symbol *symbols;
	unsigned count;
	void **real; /* filled with the functions of that many symbols */
	void (*loaded)(void *handle); /* before any of them is called; or NULL */
	/* state, zero at first */
	void *handle;
	bool decided;
	char path[PATH_MAX];
};

/*
 * Must calls go to lib->real? Loads the library if so, for good. While the
 * library itself is being loaded the answer is yes and lib->decided not yet
 * set. Any thread.
 */
bool abi_use_real(struct abi_library *lib);

#endif
