/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The private node of libibverbs, drop-in form only. perftest and others link
 * libmlx5 and libefa, which import these names and register themselves in a
 * constructor; with the drop-in loaded, all of that binds here. Registrations
 * are kept until the real library is there, the rest is passed on to it. In an
 * emulating process nothing calls them: only a real device leads to a provider.
 */
#include <abi/private.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#define MAX_DRIVERS 64

struct verbs_device_ops;
void verbs_register_driver_34(const struct verbs_device_ops *ops);
EXPORT extern bool verbs_allow_disassociate_destroy;

/*
 * Wide enough for every private function: the widest, ibv_cmd_rereg_mr, has 11
 * parameters. Words a function has no parameter for are passed and not looked at.
 */
typedef long forward_fn(long, long, long, long, long, long, long, long, long, long, long, long);

static long no_device(long a, long b, long c, long d, long e, long f, long g, long h, long i,
                      long j, long k, long l)
{
	return EOPNOTSUPP;
}

enum {
#define PRIVATE(name) AT_##name,
#include <abi/private.def>
	PRIVATE_COUNT,
};

static forward_fn *forward[PRIVATE_COUNT] = {
#define PRIVATE(name) [AT_##name] = no_device,
#include <abi/private.def>
};

#define PRIVATE(name)                                                                              \
	forward_fn name;                                                                           \
	EXPORT long name(long a, long b, long c, long d, long e, long f, long g, long h, long i,   \
	                 long j, long k, long l)                                                   \
	{                                                                                          \
		return forward[AT_##name](a, b, c, d, e, f, g, h, i, j, k, l);                     \
	}
#include <abi/private.def>

/* The real library and its providers share this one when it is loaded behind us. */
bool verbs_allow_disassociate_destroy;

static void (*register_real)(const struct verbs_device_ops *ops);
static const struct verbs_device_ops *drivers[MAX_DRIVERS];
static unsigned driver_count;

EXPORT void verbs_register_driver_34(const struct verbs_device_ops *ops)
{
	if (register_real)
		register_real(ops);
	else if (driver_count < MAX_DRIVERS)
		drivers[driver_count++] = ops;
}

void vs_private_bind(void *handle)
{
	static const char *const names[] = {
#define PRIVATE(name) #name,
#include <abi/private.def>
	};

	for (unsigned i = 0; i < PRIVATE_COUNT; i++) {
		void *fn = dlsym(handle, names[i]);

		if (fn)
			forward[i] = (forward_fn *)fn;
	}
	register_real = (void (*)(const struct verbs_device_ops *))dlsym(
		handle, "verbs_register_driver_34");
	for (unsigned i = 0; register_real && i < driver_count; i++)
		register_real(drivers[i]);
}
