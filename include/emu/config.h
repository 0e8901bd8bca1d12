/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the environment says, read once per process. Every SOFTVERBS_ variable
 * is one row of emu/host/config.def; there is no other getenv in the project.
 */
#ifndef EMU_CONFIG_H
#define EMU_CONFIG_H

#include <emu/types.h>

#include <netinet/in.h>

/* Exported by the engine library. */
#pragma GCC visibility push(default)

enum sv_mode {
	SV_MODE_AUTO,
	SV_MODE_EMULATE,
	SV_MODE_REAL,
};

enum sv_log_level {
	SV_LOG_ERROR,
	SV_LOG_WARN,
	SV_LOG_INFO,
	SV_LOG_DEBUG,
};

#define SV_ALLOW_MAX 32

/* A network that may connect, IPv4 as mapped IPv6. */
struct sv_net {
	struct in6_addr addr;
	unsigned prefix; /* of the 128 bits */
};

struct sv_config {
	enum sv_mode mode;
	enum sv_log_level log_level;
	char device[32]; /* name of the first device: softverbs0 */
	enum emu_link_layer link_layer;
	uint32_t mtu; /* enum ibv_mtu */
	uint32_t vendor_id, vendor_part_id, hw_ver;
	uint16_t port_base; /* first TCP port of the slot range */
	char provider[32]; /* libfabric provider: tcp */
	char secret[256]; /* empty: none */
	struct sv_net allow[SV_ALLOW_MAX];
	unsigned allow_count;
	bool fast_death; /* report a dead peer at once, not at the retry limit */
	bool sysfs; /* show the device under /sys/class/infiniband */
};

/*
 * Thread-safe. A bad value gets one line on stderr and ends the start-up of
 * the device (NULL, errno EINVAL), never a silent default.
 */
const struct sv_config *sv_config(void);

/* One row of the table, for `softverbs env --help` and the man page. */
struct sv_variable {
	const char *name, *value, *def, *help;
};
const struct sv_variable *sv_variables(unsigned *count);

/* One line to stderr, "softverbs: …", if the level is on. Never under the device lock. */
void sv_log(enum sv_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * The GID table of the device: RoCE v2 GIDs of this host's addresses, loopback
 * first. Fills gid[0..n), zeroes the rest, returns n; netdev[i] gets the
 * interface's name (IF_NAMESIZE bytes each). No device needs to be open.
 */
unsigned sv_host_gids(struct emu_gid *gid, char (*netdev)[16], unsigned max);

#pragma GCC visibility pop

#endif
