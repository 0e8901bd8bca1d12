/* SPDX-License-Identifier: BSD-2-Clause */
#include "growth.h"

#include "rc_side.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

static long resident_bytes(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%*d %ld", &pages) != 1)
		rc_fail("/proc/self/statm");
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

static int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	if (!dir)
		rc_fail("/proc/self/fd");
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

struct growth growth_now(void)
{
	return (struct growth){resident_bytes(), open_files()};
}

void growth_check(const char *who, const struct growth *before, long bound)
{
	struct growth now = growth_now();
	long bytes = now.bytes - before->bytes;
	int files = now.files - before->files;

	printf("%s: memory %+ld KiB, files %+d\n", who, bytes / 1024, files);
	fflush(stdout);
	if (bytes > bound || files > 0)
		rc_fail("%s grew", who);
}
