/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What becomes of the rows of a .def file: the exported symbols of one library.
 * Each is a load, a load and a jump through the table in use. That is at first
 * a table of functions which choose, so that nothing is decided, opened or
 * started before the program calls one. Included once by verbs.c and rdmacm.c,
 * which define
 *	ABI_DEF			the file
 *	ABI_SONAME, ABI_NODE	the library, the name of its version nodes without the number
 *	ABI_EMULATED(name)	the emulator's function for a row
 *	ABI_LOADED		see struct abi_library
 */
#include <abi/library.h>

#include <stdatomic.h>

#define EXPORT __attribute__((visibility("default")))

/* One slot for each row. A process uses the emulated table or the real one, never both. */
struct api {
#define SYM(version, ret, symbol, name, params, args) ret(*name) params;
#include ABI_DEF
};

static const struct api emulated = {
#define SYM(version, ret, symbol, name, params, args) .name = ABI_EMULATED(name),
#include ABI_DEF
};

static const struct abi_symbol symbols[] = {
#define SYM(version, ret, symbol, name, params, args) { #symbol, ABI_NODE #version },
#include ABI_DEF
};

static struct api real;

static struct abi_library library = {
	.soname = ABI_SONAME,
	.symbols = symbols,
	.count = sizeof(symbols) / sizeof(symbols[0]),
	.real = (void **)&real,
	.loaded = ABI_LOADED,
};

static const struct api first;
static _Atomic(const struct api *) current = &first;

static const struct api *choose(void)
{
	const struct api *api = abi_use_real(&library) ? &real : &emulated;

	if (library.decided)
		atomic_store(&current, api);
	return api;
}

#define SYM(version, ret, symbol, name, params, args)                                             \
	static ret first_##name params                                                            \
	{                                                                                         \
		return (choose()->name)args;                                                      \
	}
#include ABI_DEF

static const struct api first = {
#define SYM(version, ret, symbol, name, params, args) .name = first_##name,
#include ABI_DEF
};

#define SYM(version, ret, symbol, name, params, args)                                             \
	EXPORT ret(symbol) params                                                                 \
	{                                                                                         \
		return (atomic_load_explicit(&current, memory_order_acquire)->name)args;          \
	}
#include ABI_DEF
