/* SPDX-License-Identifier: BSD-2-Clause */
/* The environment: defaults, values, refusals. Each case reads it in a process of its own. */
#include <emu/config.h>

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* True if check says so of the configuration under NAME=value. */
static bool reads(const char *name, const char *value, bool (*check)(const struct sv_config *))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDERR_FILENO);
		if (name)
			setenv(name, value, 1);
		errno = 0;
		_exit(check(sv_config()) ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool is_default(const struct sv_config *c)
{
	return c && c->mode == SV_MODE_AUTO && c->log_level == SV_LOG_WARN &&
	       !strcmp(c->device, "softverbs0") && c->link_layer == EMU_LINK_ETHERNET &&
	       c->mtu == 5 && c->vendor_id == 0x02c9 && c->vendor_part_id == 4119 &&
	       c->port_base == 28672 && !strcmp(c->provider, "tcp") && !*c->secret &&
	       !c->allow_count && !c->fast_death && c->sysfs;
}

static bool is_refused(const struct sv_config *c)
{
	return !c && errno == EINVAL && !sv_config() && errno == EINVAL;
}

static bool mtu_is_1024(const struct sv_config *c)
{
	return c && c->mtu == 3;
}

static bool vendor_is_hex(const struct sv_config *c)
{
	return c && c->vendor_id == 0x1234;
}

static bool mode_is_emulate(const struct sv_config *c)
{
	return c && c->mode == SV_MODE_EMULATE;
}

static bool base_is_highest(const struct sv_config *c)
{
	return c && c->port_base == 61440;
}

static bool dies_fast(const struct sv_config *c)
{
	return c && c->fast_death;
}

static bool two_nets(const struct sv_config *c)
{
	struct in6_addr ten, six;

	inet_pton(AF_INET6, "::ffff:10.0.0.0", &ten);
	inet_pton(AF_INET6, "fd00::", &six);
	return c && c->allow_count == 2 && c->allow[0].prefix == 104 && c->allow[1].prefix == 8 &&
	       !memcmp(&c->allow[0].addr, &ten, 16) && !memcmp(&c->allow[1].addr, &six, 16);
}

static bool one_host(const struct sv_config *c)
{
	return c && c->allow_count == 1 && c->allow[0].prefix == 128;
}

static void values_are_read_or_refused(void **state)
{
	static const struct {
		const char *name, *value;
		bool (*check)(const struct sv_config *);
	} rows[] = {
		{ NULL, NULL, is_default },
		{ "SOFTVERBS_MTU", "", is_default },
		{ "SOFTVERBS_MTU", "1024", mtu_is_1024 },
		{ "SOFTVERBS_MTU", "1500", is_refused },
		{ "SOFTVERBS_MTU", "x", is_refused },
		{ "SOFTVERBS_MODE", "Emulate", mode_is_emulate },
		{ "SOFTVERBS_MODE", "emu", is_refused },
		{ "SOFTVERBS_LOG", "loud", is_refused },
		{ "SOFTVERBS_LINK_LAYER", "token-ring", is_refused },
		{ "SOFTVERBS_VENDOR_ID", "0x1234", vendor_is_hex },
		{ "SOFTVERBS_VENDOR_ID", "-1", is_refused },
		{ "SOFTVERBS_VENDOR_ID", "0x100000000", is_refused },
		{ "SOFTVERBS_VENDOR_ID", "12 ", is_refused },
		{ "SOFTVERBS_PORT_BASE", "61440", base_is_highest },
		{ "SOFTVERBS_PORT_BASE", "61441", is_refused },
		{ "SOFTVERBS_PORT_BASE", "80", is_refused },
		{ "SOFTVERBS_DEVICE", "../etc", is_refused },
		{ "SOFTVERBS_DEVICE", "a-name-that-is-longer-than-32-bytes", is_refused },
		{ "SOFTVERBS_FAST_DEATH", "yes", dies_fast },
		{ "SOFTVERBS_FAST_DEATH", "maybe", is_refused },
		{ "SOFTVERBS_ALLOW", "10.0.0.0/8, fd00::/8", two_nets },
		{ "SOFTVERBS_ALLOW", "10.1.2.3", one_host },
		{ "SOFTVERBS_ALLOW", "10.0.0.0/33", is_refused },
		{ "SOFTVERBS_ALLOW", "10.0.0/8", is_refused },
		{ "SOFTVERBS_ALLOW", "fd00::/129", is_refused },
		{ "SOFTVERBS_ALLOW", "everyone", is_refused },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!reads(rows[i].name, rows[i].value, rows[i].check))
			fail_msg("%s=%s", rows[i].name, rows[i].value);
}

static void table_names_every_variable_once(void **state)
{
	unsigned n;
	const struct sv_variable *v = sv_variables(&n);

	assert_true(n >= 14);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(strncmp(v[i].name, "SOFTVERBS_", 10), 0);
		assert_true(*v[i].value && *v[i].help && v[i].def);
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(v[i].name, v[k].name);
	}
}

static void loopback_is_the_first_gid(void **state)
{
	static const uint8_t loopback[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };
	static const uint8_t zero[16];
	struct emu_gid gid[8];
	char netdev[8][16];
	unsigned n = sv_host_gids(gid, netdev, 8);

	assert_in_range(n, 1, 8);
	assert_memory_equal(gid[0].raw, loopback, 16);
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(!memcmp(gid[i].raw, zero, 16), i >= n);
		assert_int_equal(!netdev[i][0], i >= n);
		for (unsigned k = 0; k < i && i < n; k++)
			assert_memory_not_equal(gid[i].raw, gid[k].raw, 16);
	}
	assert_int_equal(sv_host_gids(gid, NULL, 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read_or_refused),
		cmocka_unit_test(table_names_every_variable_once),
		cmocka_unit_test(loopback_is_the_first_gid),
	};
	unsigned n;
	const struct sv_variable *v = sv_variables(&n);

	while (n--)
		unsetenv(v[n].name);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
