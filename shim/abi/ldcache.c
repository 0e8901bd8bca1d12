/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the dynamic linker's cache (format "glibc-ld.so.cache1.1": a header,
 * an array of entries, strings). A file that is not as expected finds nothing.
 */
#include <abi/ldcache.h>

#include <link.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_FILE "/etc/ld.so.cache"
#define CACHE_MAGIC "glibc-ld.so.cache1.1"

struct cache_header {
	char magic[sizeof(CACHE_MAGIC) - 1];
	uint32_t nlibs, strings_len;
	uint8_t flags, pad[3];
	uint32_t extension, unused[3];
};

struct cache_entry {
	int32_t flags;
	uint32_t soname, path; /* offsets from the start of the file */
	uint32_t os_version;
	uint64_t hwcap;
};

struct cache {
	const char *base;
	size_t size;
};

static const char *string_at(const struct cache *c, uint32_t offset)
{
	if (offset >= c->size || !memchr(c->base + offset, 0, c->size - offset))
		return NULL;
	return c->base + offset;
}

/* The cache may list other architectures too: the ELF class and machine decide. */
static bool is_native(const char *path)
{
	ElfW(Ehdr) self, other;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	bool ok = fd >= 0 && read(fd, &self, sizeof(self)) == (ssize_t)sizeof(self);

	if (fd >= 0)
		close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (ok && read(fd, &other, sizeof(other)) == (ssize_t)sizeof(other))
		ok = self.e_machine == other.e_machine &&
		     self.e_ident[EI_CLASS] == other.e_ident[EI_CLASS];
	close(fd);
	return ok;
}

static bool search(const struct cache *c, const char *soname, char *out, size_t size)
{
	const struct cache_header *h = (const void *)c->base;
	const struct cache_entry *e = (const void *)(h + 1);

	if (c->size < sizeof(*h) || memcmp(h->magic, CACHE_MAGIC, sizeof(h->magic)) ||
	    h->nlibs > (c->size - sizeof(*h)) / sizeof(*e))
		return false;
	for (uint32_t i = 0; i < h->nlibs; i++) {
		const char *name = string_at(c, e[i].soname), *path = string_at(c, e[i].path);

		if (!name || !path || strcmp(name, soname) || !is_native(path))
			continue;
		return (size_t)snprintf(out, size, "%s", path) < size;
	}
	return false;
}

bool vs_ldcache_find(const char *soname, char *path, size_t size)
{
	int fd = open(CACHE_FILE, O_RDONLY | O_CLOEXEC);
	struct cache c = {0};
	struct stat st;
	bool found = false;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && st.st_size > 0) {
		void *map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

		if (map != MAP_FAILED) {
			c.base = map;
			c.size = st.st_size;
			found = search(&c, soname, path, size);
			munmap(map, st.st_size);
		}
	}
	close(fd);
	return found;
}
