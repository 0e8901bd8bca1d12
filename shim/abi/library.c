/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine's own libraries. In the drop-in form a plain dlopen of the name
 * would find the drop-in again, so it is looked for by absolute path, where the
 * dynamic linker would have looked: what is loaded already, LD_LIBRARY_PATH,
 * the linker's cache, its default directories. It is loaded RTLD_GLOBAL because
 * providers take their private symbols from libibverbs.
 */
#include <config.h>

#include <abi/ldcache.h>
#include <abi/library.h>

#include <emu/config.h>
#include <sysfs/mode.h>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENGINE "libsoftverbs.so"

/* A call of something that the real library is too old to have. */
static void absent(void)
{
	sv_log(SV_LOG_ERROR, "the program calls what this machine's rdma-core is too old to have");
	abort();
}

static void *find_symbol(void *handle, const struct abi_symbol *symbol)
{
	void *fn = dlvsym(handle, symbol->name, symbol->version);

	if (!fn)
		fn = dlsym(handle, symbol->name);
	return fn ? fn : (void *)absent;
}

static bool needs_engine(const struct link_map *map)
{
	const char *strings = NULL;
	const ElfW(Dyn) * d;

	for (d = map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB)
			strings = (const char *)d->d_un.d_ptr;
	}
	for (d = map->l_ld; strings && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_NEEDED && !strncmp(strings + d->d_un.d_val, ENGINE, strlen(ENGINE)))
			return true;
	}
	return false;
}

/*
 * Ours, of any form and installation, depend on the engine. The real librdmacm
 * has it behind it too, but through our libibverbs: the object itself must.
 */
static bool is_softverbs(void *handle, const struct abi_library *lib)
{
	void *fn = dlsym(handle, lib->symbols[0].name);
	struct link_map *map;
	Dl_info info;

	return fn && dladdr1(fn, &info, (void **)&map, RTLD_DL_LINKMAP) && needs_engine(map);
}

static void *open_real(struct abi_library *lib, const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);

	if (!handle)
		return NULL;
	if (!is_softverbs(handle, lib)) {
		snprintf(lib->path, sizeof(lib->path), "%s", path);
		return handle;
	}
	dlclose(handle);
	return NULL;
}

static void *open_in(struct abi_library *lib, const char *dir, size_t len)
{
	char path[PATH_MAX];

	if (!len || (size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)len, dir, lib->soname) >=
			    sizeof(path))
		return NULL;
	return open_real(lib, path);
}

/* The preload form in front of a program that is linked with the library. */
static void *open_loaded(struct abi_library *lib)
{
	void *fn = dlsym(RTLD_NEXT, lib->symbols[0].name);
	Dl_info info;

	if (!fn || !dladdr(fn, &info))
		return NULL;
	return open_real(lib, info.dli_fname);
}

static void *open_in_search_path(struct abi_library *lib)
{
	const char *dir = getenv("LD_LIBRARY_PATH");
	void *handle = NULL;

	while (dir && *dir && !handle) {
		size_t len = strcspn(dir, ":;");

		handle = open_in(lib, dir, len);
		dir += len + !!dir[len];
	}
	return handle;
}

static void *open_in_cache(struct abi_library *lib)
{
	char path[PATH_MAX];

	if (!vs_ldcache_find(lib->soname, path, sizeof(path)))
		return NULL;
	return open_real(lib, path);
}

static void *open_in_defaults(struct abi_library *lib)
{
	Dl_serinfo size, *info;
	struct link_map *self;
	Dl_info where;
	void *handle = NULL;

	if (!dladdr1((void *)abi_use_real, &where, (void **)&self, RTLD_DL_LINKMAP) ||
	    dlinfo(self, RTLD_DI_SERINFOSIZE, &size))
		return NULL;
	info = malloc(size.dls_size);
	if (!info)
		return NULL;
	info->dls_size = size.dls_size;
	info->dls_cnt = size.dls_cnt;
	if (!dlinfo(self, RTLD_DI_SERINFO, info))
		for (unsigned i = 0; i < info->dls_cnt && !handle; i++)
			handle = open_in(lib, info->dls_serpath[i].dls_name,
					 strlen(info->dls_serpath[i].dls_name));
	free(info);
	return handle;
}

static bool load(struct abi_library *lib)
{
	static void *(*const ways[])(struct abi_library *) = {
		open_loaded, open_in_search_path, open_in_cache, open_in_defaults
	};

	if (lib->handle)
		return true;
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]) && !lib->handle; i++)
		lib->handle = ways[i](lib);
	if (!lib->handle)
		return false;
	for (unsigned i = 0; i < lib->count; i++)
		lib->real[i] = find_symbol(lib->handle, &lib->symbols[i]);
	if (lib->loaded)
		lib->loaded(lib->handle);
	sv_log(SV_LOG_INFO, "using the real %s", lib->path);
	return true;
}

bool abi_use_real(struct abi_library *lib)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static __thread bool choosing;
	bool real;

	/* A real library calls its own symbols by name, and those names are ours. */
	if (choosing)
		return load(lib);
	pthread_mutex_lock(&lock);
	choosing = true;
	real = lib->handle || (vs_mode(NULL) == SV_MODE_REAL && load(lib));
	if (!real && !lib->decided && vs_mode(NULL) == SV_MODE_REAL)
		sv_log(SV_LOG_ERROR, "no real %s was found", lib->soname);
	lib->decided = true;
	choosing = false;
	pthread_mutex_unlock(&lock);
	return real;
}
