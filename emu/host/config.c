/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment, read once. config.def has one row per variable; each kind
 * of value has one parser, which gets the text and writes into the field.
 * Nothing is guessed: a value that a parser refuses stops the start-up.
 */
#include <emu/config.h>

#include "log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* How many TCP ports, hence processes, a host has: the slot is 12 bits of a QP number. */
#define PORT_RANGE 4096u

struct field {
	void *ptr;
	size_t size;
	struct sv_config *cfg;
};

struct word {
	const char *text;
	int value;
};

static bool find_word(const struct word *words, const char *text, int *value)
{
	for (; words->text; words++) {
		if (!strcasecmp(words->text, text)) {
			*value = words->value;
			return true;
		}
	}
	return false;
}

static bool parse_mode(const char *text, const struct field *f)
{
	static const struct word words[] = {
		{ "auto", SV_MODE_AUTO },
		{ "emulate", SV_MODE_EMULATE },
		{ "real", SV_MODE_REAL },
		{ NULL, 0 },
	};
	int value;

	if (!find_word(words, text, &value))
		return false;
	*(enum sv_mode *)f->ptr = value;
	return true;
}

static bool parse_level(const char *text, const struct field *f)
{
	static const struct word words[] = {
		{ "error", SV_LOG_ERROR }, { "warn", SV_LOG_WARN },   { "info", SV_LOG_INFO },
		{ "debug", SV_LOG_DEBUG }, { NULL, 0 },
	};
	int value;

	if (!find_word(words, text, &value))
		return false;
	*(enum sv_log_level *)f->ptr = value;
	return true;
}

static bool parse_link_layer(const char *text, const struct field *f)
{
	static const struct word words[] = {
		{ "ethernet", EMU_LINK_ETHERNET },
		{ "infiniband", EMU_LINK_INFINIBAND },
		{ NULL, 0 },
	};
	int value;

	if (!find_word(words, text, &value))
		return false;
	*(enum emu_link_layer *)f->ptr = value;
	return true;
}

static bool parse_mtu(const char *text, const struct field *f)
{
	/* enum ibv_mtu */
	static const struct word words[] = {
		{ "256", 1 },  { "512", 2 },  { "1024", 3 },
		{ "2048", 4 }, { "4096", 5 }, { NULL, 0 },
	};
	int value;

	if (!find_word(words, text, &value))
		return false;
	*(uint32_t *)f->ptr = value;
	return true;
}

static bool parse_bool(const char *text, const struct field *f)
{
	static const struct word words[] = {
		{ "yes", 1 }, { "no", 0 },  { "1", 1 },    { "0", 0 },
		{ "on", 1 },  { "off", 0 }, { "true", 1 }, { "false", 0 },
		{ NULL, 0 },
	};
	int value;

	if (!find_word(words, text, &value))
		return false;
	*(bool *)f->ptr = value;
	return true;
}

static bool parse_number(const char *text, unsigned long max, unsigned long *value)
{
	char *end;

	if (!*text || !strchr("0123456789", *text))
		return false;
	errno = 0;
	*value = strtoul(text, &end, 0);
	return !errno && !*end && *value <= max;
}

static bool parse_u32(const char *text, const struct field *f)
{
	unsigned long value;

	if (!parse_number(text, UINT32_MAX, &value))
		return false;
	*(uint32_t *)f->ptr = value;
	return true;
}

static bool parse_port_base(const char *text, const struct field *f)
{
	unsigned long value;

	if (!parse_number(text, 65536 - PORT_RANGE, &value) || value < 1024)
		return false;
	*(uint16_t *)f->ptr = value;
	return true;
}

/* A name that is safe as a file name and in a list of names. */
static bool parse_name(const char *text, const struct field *f)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t len = strlen(text);

	if (!len || len >= f->size || strspn(text, ok) != len)
		return false;
	memcpy(f->ptr, text, len + 1);
	return true;
}

static bool parse_secret(const char *text, const struct field *f)
{
	size_t len = strlen(text);

	if (len >= f->size)
		return false;
	memcpy(f->ptr, text, len + 1);
	return true;
}

/* ADDRESS or ADDRESS/PREFIX of either family. */
static bool parse_net(const char *text, size_t len, struct sv_net *net)
{
	char buf[INET6_ADDRSTRLEN + 4], *slash;
	struct in_addr v4;
	unsigned long prefix;
	unsigned bits;

	if (len >= sizeof(buf))
		return false;
	memcpy(buf, text, len);
	buf[len] = '\0';
	slash = strchr(buf, '/');
	if (slash)
		*slash++ = '\0';

	if (inet_pton(AF_INET, buf, &v4) == 1) {
		bits = 32;
		memset(&net->addr, 0, 10);
		memset(net->addr.s6_addr + 10, 0xff, 2);
		memcpy(net->addr.s6_addr + 12, &v4, 4);
	} else if (inet_pton(AF_INET6, buf, &net->addr) == 1) {
		bits = 128;
	} else {
		return false;
	}
	prefix = bits;
	if (slash && !parse_number(slash, bits, &prefix))
		return false;
	net->prefix = 128 - bits + prefix;
	return true;
}

static bool parse_allow(const char *text, const struct field *f)
{
	struct sv_config *cfg = f->cfg;

	cfg->allow_count = 0;
	while (*text) {
		size_t len = strcspn(text, ", ");

		if (len) {
			if (cfg->allow_count == SV_ALLOW_MAX ||
			    !parse_net(text, len, &cfg->allow[cfg->allow_count]))
				return false;
			cfg->allow_count++;
		}
		text += len;
		text += strspn(text, ", ");
	}
	return true;
}

/* Also what sv_variables() returns: the table as users see it. */
static const struct sv_variable variables[] = {
#define VAR(name, value, def, field, parser, help) { "SOFTVERBS_" #name, value, def, help },
#include "config.def"
#undef VAR
};

#define VARIABLES (sizeof(variables) / sizeof(variables[0]))

static bool (*const parsers[VARIABLES])(const char *, const struct field *) = {
#define VAR(name, value, def, field, parser, help) parser,
#include "config.def"
#undef VAR
};

static struct sv_config config;
static bool config_ok;

static const struct field fields[VARIABLES] = {
#define VAR(name, value, def, field, parser, help) { &config.field, sizeof(config.field), &config },
#include "config.def"
#undef VAR
};

static void read_environment(void)
{
	config_ok = true;
	for (unsigned i = 0; i < VARIABLES; i++) {
		const char *text = getenv(variables[i].name);

		if (!text || !*text)
			text = variables[i].def;
		if (parsers[i](text, &fields[i]))
			continue;
		config_ok = false;
		sv_log(SV_LOG_ERROR, "%s=%s is not understood; it takes %s", variables[i].name,
		       fields[i].ptr == config.secret ? "..." : text, variables[i].value);
	}
	if (config_ok)
		sv_log_set_level(config.log_level);
}

const struct sv_config *sv_config(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_environment);
	if (!config_ok) {
		errno = EINVAL;
		return NULL;
	}
	return &config;
}

const struct sv_variable *sv_variables(unsigned *count)
{
	*count = VARIABLES;
	return variables;
}
