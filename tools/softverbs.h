/* SPDX-License-Identifier: BSD-2-Clause */
/* The launcher's parts. Errors are one line on stderr and an exit status. */
#ifndef TOOLS_SOFTVERBS_H
#define TOOLS_SOFTVERBS_H

#include <limits.h>
#include <stdbool.h>

/* Exit statuses, as env(1) and shells have them. */
enum {
	EXIT_USAGE = 2,
	EXIT_NOT_RUNNABLE = 126,
	EXIT_NOT_FOUND = 127,
};

/* Where the shim is: of the build tree, beside this binary, or as installed. */
struct shim {
	char dir[PATH_MAX];     /* has the drop-in: for LD_LIBRARY_PATH */
	char preload[PATH_MAX]; /* the interposer form */
	char sysfs[PATH_MAX];   /* preloaded beside the drop-in */
};

/* False after a message: not there, or in a place that LD_PRELOAD cannot name. */
bool find_shim(struct shim *shim);

/*
 * The file that execvp(3) would run for command, into path: 0, or an exit
 * status after a message when it can't be run or can't be given a library.
 */
int find_program(const char *command, char *path);

void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The subcommands: argv[0] is the subcommand's name. */
int run_command(int argc, char **argv);
int env_command(int argc, char **argv);
int devices_command(int argc, char **argv);

#endif
