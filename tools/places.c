/* SPDX-License-Identifier: BSD-2-Clause */
/* Where things are: the shim's libraries, and the program to run. */
#include <config.h>

#include "softverbs.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define DROPIN "libibverbs.so.1"
#define PRELOAD "libsoftverbs-preload.so"
#define SYSFS "libsoftverbs-sysfs.so"

static bool join(char *out, const char *dir, const char *name)
{
	return (size_t)snprintf(out, PATH_MAX, "%s/%s", dir, name) < PATH_MAX;
}

static bool has_dropin(const char *dir)
{
	char path[PATH_MAX];

	return join(path, dir, DROPIN) && !access(path, R_OK);
}

/* The directory this binary is in. */
static bool own_directory(char *dir)
{
	ssize_t len = readlink("/proc/self/exe", dir, PATH_MAX - 1);
	char *slash;

	if (len < 0)
		return false;
	dir[len] = '\0';
	slash = strrchr(dir, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

/* From BINDIR to PKGLIBDIR by ".." steps, so that an installed tree can be moved. */
static void relative_pkglibdir(char *out, size_t size)
{
	const char *bin = BINDIR, *lib = PKGLIBDIR;
	size_t same = 0, at = 0;

	for (size_t i = 0; bin[i] && bin[i] == lib[i]; i++)
		if (bin[i] == '/')
			same = i + 1;
	for (const char *part = bin + same; part; part = strchr(part, '/')) {
		part += *part == '/';
		at += snprintf(out + at, size - at, "../");
	}
	snprintf(out + at, size - at, "%s", lib + same);
}

static bool find_directory(char *dir)
{
	char own[PATH_MAX], relative[PATH_MAX], candidate[2 * PATH_MAX + 2];
	const char *const below[] = {"../shim/.libs", relative};

	relative_pkglibdir(relative, sizeof(relative));
	if (own_directory(own)) {
		for (unsigned i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
			snprintf(candidate, sizeof(candidate), "%s/%s", own, below[i]);
			if (has_dropin(candidate) && realpath(candidate, dir))
				return true;
		}
	}
	if (has_dropin(PKGLIBDIR) && realpath(PKGLIBDIR, dir))
		return true;
	complain("%s is missing in %s: is softverbs installed completely?", DROPIN, PKGLIBDIR);
	return false;
}

bool find_shim(struct shim *shim)
{
	if (!find_directory(shim->dir))
		return false;
	/* Both variables are lists of names between these, and know no quoting. */
	if (strpbrk(shim->dir, ": ;\t\n'")) {
		complain("the dynamic linker cannot take a library from '%s'", shim->dir);
		return false;
	}
	if (!join(shim->preload, shim->dir, PRELOAD) || !join(shim->sysfs, shim->dir, SYSFS)) {
		complain("the path of the libraries is too long");
		return false;
	}
	return true;
}

/* As execvp(3) searches: the first executable file of that name. */
static bool search_path(const char *command, char *path)
{
	const char *dir = getenv("PATH");

	if (strchr(command, '/'))
		return snprintf(path, PATH_MAX, "%s", command) < PATH_MAX &&
		       (!access(path, F_OK) || errno == EACCES);
	for (dir = dir ? dir : "/usr/local/bin:/bin:/usr/bin"; *dir;) {
		size_t len = strcspn(dir, ":");
		struct stat st;

		if ((size_t)snprintf(path, PATH_MAX, "%.*s%s%s", (int)len, dir, len ? "/" : "",
		                     command) < PATH_MAX &&
		    !access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode))
			return true;
		dir += len;
		dir += *dir == ':';
	}
	return false;
}

enum linkage {
	NOT_ELF, /* a script: what it starts inherits the environment */
	DYNAMIC,
	STATIC,
	FOREIGN,
};

static bool has_interpreter(int fd, const ElfW(Ehdr) * ehdr)
{
	ElfW(Phdr) phdr;

	for (unsigned i = 0; i < ehdr->e_phnum; i++) {
		off_t at = ehdr->e_phoff + (off_t)i * ehdr->e_phentsize;

		if (pread(fd, &phdr, sizeof(phdr), at) != (ssize_t)sizeof(phdr))
			return false;
		if (phdr.p_type == PT_INTERP)
			return true;
	}
	return false;
}

static enum linkage linkage_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), own;
	enum linkage linkage = NOT_ELF;
	ElfW(Ehdr) ehdr, self;

	if (fd < 0)
		return NOT_ELF;
	own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (read(fd, &ehdr, sizeof(ehdr)) == (ssize_t)sizeof(ehdr) &&
	    !memcmp(ehdr.e_ident, ELFMAG, SELFMAG)) {
		linkage = has_interpreter(fd, &ehdr) ? DYNAMIC : STATIC;
		if (own >= 0 && read(own, &self, sizeof(self)) == (ssize_t)sizeof(self) &&
		    (ehdr.e_ident[EI_CLASS] != self.e_ident[EI_CLASS] ||
		     ehdr.e_machine != self.e_machine))
			linkage = FOREIGN;
	}
	if (own >= 0)
		close(own);
	close(fd);
	return linkage;
}

/* Will the kernel start it in a way that makes the dynamic linker ignore our variables? */
static bool gains_privilege(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	return (st.st_mode & S_ISUID && st.st_uid != getuid()) ||
	       (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getgid()) ||
	       (getuid() && getxattr(path, "security.capability", NULL, 0) > 0);
}

int find_program(const char *command, char *path)
{
	struct stat st;

	if (!search_path(command, path)) {
		complain("%s: command not found", command);
		return EXIT_NOT_FOUND;
	}
	if (stat(path, &st) || S_ISDIR(st.st_mode) || access(path, X_OK)) {
		complain("%s is not executable", path);
		return EXIT_NOT_RUNNABLE;
	}
	if (gains_privilege(path)) {
		complain("%s is setuid, setgid or has capabilities: it takes no library of ours",
		         path);
		return EXIT_NOT_RUNNABLE;
	}
	switch (linkage_of(path)) {
	case STATIC:
		complain("%s is statically linked: it takes no library of ours", path);
		return EXIT_NOT_RUNNABLE;
	case FOREIGN:
		complain("%s is built for another architecture than softverbs", path);
		return EXIT_NOT_RUNNABLE;
	case NOT_ELF:
	case DYNAMIC:
		break;
	}
	return 0;
}
