/* SPDX-License-Identifier: BSD-2-Clause */
/* softverbs(1): puts the shim under a program. One table of subcommands. */
#include <config.h>

#include "softverbs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int help_command(int argc, char **argv);
static int version_command(int argc, char **argv);

static const struct command {
	const char *name, *alias;
	int (*main)(int argc, char **argv);
	const char *usage, *help;
} commands[] = {
	{"run", NULL, run_command, "run [--preload] [-e VAR=VALUE]... [--] COMMAND [ARG]...",
         "run a verbs program"},
	{"env", NULL, env_command, "env [--preload]", "lines for a shell to source"},
	{"env --help", NULL, NULL, "env --help", "all SOFTVERBS_ variables"},
	{"devices", NULL, devices_command, "devices", "what a program will see, and why"},
	{"help", "--help", help_command, "--help", "this text"},
	{"version", "--version", version_command, "--version", "the version"},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

void complain(const char *fmt, ...)
{
	va_list ap;

	fputs("softverbs: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static int help_command(int argc, char **argv)
{
	puts("Runs RDMA programs where there is no RDMA hardware.\n");
	for (unsigned i = 0; i < COMMANDS; i++)
		printf("  softverbs %s\n        %s\n", commands[i].usage, commands[i].help);
	puts("\nExample:  softverbs run -- ibv_devinfo\nMore:     man softverbs");
	return EXIT_SUCCESS;
}

static int version_command(int argc, char **argv)
{
	puts(PACKAGE_STRING);
	return EXIT_SUCCESS;
}

static const struct command *find_command(const char *name)
{
	for (unsigned i = 0; i < COMMANDS; i++)
		if (commands[i].main && (!strcmp(commands[i].name, name) ||
		                         (commands[i].alias && !strcmp(commands[i].alias, name))))
			return &commands[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		help_command(argc, argv);
		return EXIT_USAGE;
	}
	command = find_command(argv[1]);
	if (!command) {
		complain("no subcommand '%s'; see softverbs --help", argv[1]);
		return EXIT_USAGE;
	}
	return command->main(argc - 1, argv + 1);
}
