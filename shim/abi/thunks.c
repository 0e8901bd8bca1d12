/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The exported symbols. Each is a load, a load and a jump through the table in
 * use. That is at first a table of functions which choose (vs_mode()), so that
 * nothing is decided, opened or started before the program calls a verb.
 */
#include <abi/api.h>

#include <emu/config.h>
#include <sysfs/mode.h>

#include <pthread.h>
#include <stdatomic.h>

#define EXPORT __attribute__((visibility("default")))

static const struct verbs_api first_api;
static _Atomic(const struct verbs_api *) current = &first_api;

static const struct verbs_api *choose(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static __thread bool choosing;
	const struct verbs_api *api;

	/* The real library calls its own verbs by name, and those names are ours. */
	if (choosing)
		return vs_real_api();
	pthread_mutex_lock(&lock);
	api = atomic_load(&current);
	if (api == &first_api) {
		choosing = true;
		api = &vs_emulated_api;
		if (vs_mode(NULL) == SV_MODE_REAL) {
			api = vs_real_api();
			if (!api) {
				sv_log(SV_LOG_ERROR, "no real libibverbs.so.1 was found");
				api = &vs_emulated_api;
			}
		}
		atomic_store(&current, api);
		choosing = false;
	}
	pthread_mutex_unlock(&lock);
	return api;
}

#define SYM(version, ret, symbol, name, params, args)                                              \
	static ret first_##name params                                                             \
	{                                                                                          \
		return (choose()->name)args;                                                       \
	}
#include <abi/verbs.def>

static const struct verbs_api first_api = {
#define SYM(version, ret, symbol, name, params, args) .name = first_##name,
#include <abi/verbs.def>
};

#define SYM(version, ret, symbol, name, params, args)                                              \
	EXPORT ret(symbol) params                                                                  \
	{                                                                                          \
		return (atomic_load_explicit(&current, memory_order_acquire)->name)args;           \
	}
#include <abi/verbs.def>
