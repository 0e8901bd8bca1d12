/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine's own libibverbs. In the drop-in form a plain dlopen of its name
 * would find the drop-in again, so it is looked for by absolute path, where the
 * dynamic linker would have looked: what is loaded already, LD_LIBRARY_PATH,
 * the linker's cache, its default directories. It is loaded RTLD_GLOBAL because
 * providers take their private symbols from it.
 */
#include <config.h>

#include <abi/api.h>
#include <abi/ldcache.h>

#include <emu/config.h>

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SONAME "libibverbs.so.1"

static struct verbs_api real_api;
static char real_path[PATH_MAX];

/* A call of something that this libibverbs is too old to have. */
static void absent(void)
{
	sv_log(SV_LOG_ERROR, "the program needs a newer libibverbs than %s", real_path);
	abort();
}

static void *find_symbol(void *handle, const char *symbol, const char *version)
{
	void *fn = dlvsym(handle, symbol, version);

	if (!fn)
		fn = dlsym(handle, symbol);
	return fn ? fn : (void *)absent;
}

static void fill_table(void *handle)
{
#define SYM(version, ret, symbol, name, params, args)                                              \
	real_api.name =                                                                            \
		(__typeof__(real_api.name))find_symbol(handle, #symbol, "IBVERBS_" #version);
#include <abi/verbs.def>
}

/* Ours, of any form and installation, have the engine among their dependencies. */
static bool is_softverbs(void *handle)
{
	return dlsym(handle, "sv_config") != NULL;
}

static void *open_real(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);

	if (!handle)
		return NULL;
	if (!is_softverbs(handle)) {
		snprintf(real_path, sizeof(real_path), "%s", path);
		return handle;
	}
	dlclose(handle);
	return NULL;
}

static void *open_in(const char *dir, size_t len)
{
	char path[PATH_MAX];

	if (!len ||
	    (size_t)snprintf(path, sizeof(path), "%.*s/" SONAME, (int)len, dir) >= sizeof(path))
		return NULL;
	return open_real(path);
}

/* The preload form in front of a program that is linked with the library. */
static void *open_loaded(void)
{
	void *fn = dlsym(RTLD_NEXT, "ibv_get_device_list");
	Dl_info info;

	if (!fn || !dladdr(fn, &info))
		return NULL;
	return open_real(info.dli_fname);
}

static void *open_in_search_path(void)
{
	const char *dir = getenv("LD_LIBRARY_PATH");
	void *handle = NULL;

	while (dir && *dir && !handle) {
		size_t len = strcspn(dir, ":;");

		handle = open_in(dir, len);
		dir += len + !!dir[len];
	}
	return handle;
}

static void *open_in_cache(void)
{
	char path[PATH_MAX];

	if (!vs_ldcache_find(SONAME, path, sizeof(path)))
		return NULL;
	return open_real(path);
}

static void *open_in_defaults(void)
{
	Dl_serinfo size, *info;
	struct link_map *self;
	Dl_info where;
	void *handle = NULL;

	if (!dladdr1((void *)vs_real_api, &where, (void **)&self, RTLD_DL_LINKMAP) ||
	    dlinfo(self, RTLD_DI_SERINFOSIZE, &size))
		return NULL;
	info = malloc(size.dls_size);
	if (!info)
		return NULL;
	info->dls_size = size.dls_size;
	info->dls_cnt = size.dls_cnt;
	if (!dlinfo(self, RTLD_DI_SERINFO, info))
		for (unsigned i = 0; i < info->dls_cnt && !handle; i++)
			handle = open_in(info->dls_serpath[i].dls_name,
			                 strlen(info->dls_serpath[i].dls_name));
	free(info);
	return handle;
}

const struct verbs_api *vs_real_api(void)
{
	static void *(*const ways[])(void) = {open_loaded, open_in_search_path, open_in_cache,
	                                      open_in_defaults};
	static void *handle;

	if (handle)
		return &real_api;
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]) && !handle; i++)
		handle = ways[i]();
	if (!handle)
		return NULL;
	fill_table(handle);
	vs_private_bind(handle);
	sv_log(SV_LOG_INFO, "using the real %s", real_path);
	return &real_api;
}
