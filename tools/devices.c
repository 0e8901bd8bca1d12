/* SPDX-License-Identifier: BSD-2-Clause */
/* `softverbs devices`: what a program started now would see, and why. */
#include <config.h>

#include "softverbs.h"

#include <emu/config.h>
#include <emu/emu.h>
#include <sysfs/identity.h>
#include <sysfs/mode.h>

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void print_gids(const struct sv_config *cfg)
{
	struct emu_gid gid[EMU_GIDS];
	char netdev[EMU_GIDS][16], text[INET6_ADDRSTRLEN];
	unsigned count = sv_host_gids(gid, netdev, EMU_GIDS);

	for (unsigned i = 0; i < count; i++)
		printf("  GID %-3u %-40s %s\n", i,
		       inet_ntop(AF_INET6, gid[i].raw, text, sizeof(text)), netdev[i]);
}

static void print_device(const struct sv_config *cfg)
{
	bool ethernet = cfg->link_layer == EMU_LINK_ETHERNET;

	printf("device: %s, node GUID %016" PRIx64 "\n", cfg->device, vs_node_guid(cfg->device));
	printf("port 1: active, %s, MTU %u\n", ethernet ? "Ethernet (RoCE v2)" : "InfiniBand",
	       128u << cfg->mtu);
	print_gids(cfg);
}

int devices_command(int argc, char **argv)
{
	const struct sv_config *cfg = sv_config();
	enum sv_mode mode;
	const char *why;

	if (argc > 1) {
		complain("devices takes no arguments");
		return EXIT_USAGE;
	}
	if (!cfg)
		return EXIT_USAGE;
	mode = vs_mode(&why);
	printf("mode: %s (%s)\n", mode == SV_MODE_REAL ? "real" : "emulate", why);
	if (mode == SV_MODE_EMULATE)
		print_device(cfg);
	else
		puts("Programs see the devices of this machine: see ibv_devices(1).");
	return EXIT_SUCCESS;
}
