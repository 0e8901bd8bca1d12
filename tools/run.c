/* SPDX-License-Identifier: BSD-2-Clause */
/* `softverbs run` and `softverbs env`: the environment that puts the shim in place. */
#include <config.h>

#include "softverbs.h"

#include <emu/config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
	bool preload;
	bool help;
};

/* What a form puts in front of two variables; NULL: nothing. */
struct additions {
	const char *library_path, *preload;
};

static struct additions additions_of(const struct shim *shim, const struct options *opt)
{
	if (opt->preload)
		return (struct additions){.preload = shim->preload};
	return (struct additions){
		.library_path = shim->dir,
		.preload = sv_config()->sysfs ? shim->sysfs : NULL,
	};
}

/* Checks what additions_of() names. */
static bool is_complete(const struct additions *add)
{
	if (!add->preload || !access(add->preload, R_OK))
		return true;
	complain("%s is missing: is softverbs installed completely?", add->preload);
	return false;
}

/* Is item already the first of a list? Then one softverbs runs under another. */
static bool starts_with_item(const char *list, const char *item)
{
	size_t len = strlen(item);

	return !strncmp(list, item, len) && (!list[len] || list[len] == ':' || list[len] == ' ');
}

static bool put_in_front(const char *variable, const char *item)
{
	const char *old = getenv(variable);
	char *value;
	int rc;

	if (!item || (old && starts_with_item(old, item)))
		return true;
	if (asprintf(&value, "%s%s%s", item, old && *old ? ":" : "", old ? old : "") < 0)
		return false;
	rc = setenv(variable, value, 1);
	free(value);
	return rc == 0;
}

/* -e VAR=VALUE */
static bool set_variable(const char *text)
{
	const char *equals = text ? strchr(text, '=') : NULL;
	char name[256];

	if (!equals || equals == text || (size_t)(equals - text) >= sizeof(name)) {
		complain("-e takes VAR=VALUE");
		return false;
	}
	snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	return setenv(name, equals + 1, 1) == 0;
}

/* Index of the first word that is no option, or -1 after a message. */
static int parse_options(int argc, char **argv, struct options *opt)
{
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--"))
			return i + 1;
		if (!strcmp(argv[i], "--preload")) {
			opt->preload = true;
		} else if (!strcmp(argv[i], "--help")) {
			opt->help = true;
		} else if (!strcmp(argv[i], "-e")) {
			if (!set_variable(argv[++i]))
				return -1;
		} else {
			complain("%s: no option '%s'; see softverbs --help", argv[0], argv[i]);
			return -1;
		}
	}
	return i;
}

int run_command(int argc, char **argv)
{
	struct options opt = {0};
	struct additions add;
	struct shim shim;
	char path[PATH_MAX];
	int first = parse_options(argc, argv, &opt), rc;

	if (first < 0)
		return EXIT_USAGE;
	if (opt.help || first >= argc) {
		fputs("softverbs run [--preload] [-e VAR=VALUE]... [--] COMMAND [ARG]...\n",
		      opt.help ? stdout : stderr);
		return opt.help ? EXIT_SUCCESS : EXIT_USAGE;
	}
	/* Says by itself what it does not understand. */
	if (!sv_config())
		return EXIT_USAGE;
	if (!find_shim(&shim))
		return EXIT_FAILURE;
	add = additions_of(&shim, &opt);
	if (!is_complete(&add))
		return EXIT_FAILURE;
	rc = find_program(argv[first], path);
	if (rc)
		return rc;
	if (!put_in_front("LD_LIBRARY_PATH", add.library_path) ||
	    !put_in_front("LD_PRELOAD", add.preload)) {
		complain("no memory");
		return EXIT_FAILURE;
	}
	execv(path, argv + first);
	complain("%s: %s", path, strerror(errno));
	return EXIT_NOT_RUNNABLE;
}

static void print_line(const char *variable, const char *item)
{
	if (item)
		printf("%s='%s'${%s:+:$%s}; export %s\n", variable, item, variable, variable,
		       variable);
}

static int print_variables(void)
{
	unsigned count;
	const struct sv_variable *v = sv_variables(&count);

	for (unsigned i = 0; i < count; i++)
		printf("%s=%s\n        %s (default: %s)\n", v[i].name, v[i].value, v[i].help,
		       *v[i].def ? v[i].def : "empty");
	return EXIT_SUCCESS;
}

int env_command(int argc, char **argv)
{
	struct options opt = {0};
	struct additions add;
	struct shim shim;
	int first = parse_options(argc, argv, &opt);

	if (first < 0 || first < argc) {
		if (first >= 0)
			complain("env takes no arguments");
		return EXIT_USAGE;
	}
	if (opt.help)
		return print_variables();
	if (!sv_config())
		return EXIT_USAGE;
	if (!find_shim(&shim))
		return EXIT_FAILURE;
	add = additions_of(&shim, &opt);
	if (!is_complete(&add))
		return EXIT_FAILURE;
	print_line("LD_LIBRARY_PATH", add.library_path);
	print_line("LD_PRELOAD", add.preload);
	return EXIT_SUCCESS;
}
