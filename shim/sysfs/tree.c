/* SPDX-License-Identifier: BSD-2-Clause */
#include <config.h>

#include <sysfs/tree.h>

#include <emu/config.h>
#include <emu/emu.h>
#include <sysfs/identity.h>

#include <net/if.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define CLASS "/sys/class/infiniband"
#define VERBS_CLASS "/sys/class/infiniband_verbs"
#define DEV "/dev/infiniband"

#define MAX_NODES 1024

static struct sysfs_node nodes[MAX_NODES];
static size_t node_count;

static const struct sysfs_node *find_node(const char *path)
{
	for (size_t i = 0; i < node_count; i++)
		if (!strcmp(nodes[i].path, path))
			return &nodes[i];
	return NULL;
}

static struct sysfs_node *add_node(enum sysfs_kind kind, const char *path)
{
	struct sysfs_node *node = &nodes[node_count];
	char *copy = strdup(path);

	if (!copy || node_count == MAX_NODES) {
		free(copy);
		return NULL;
	}
	node->kind = kind;
	node->number = node_count + 1;
	node->path = copy;
	node->name = strrchr(copy, '/') + 1;
	node->data = "";
	node_count++;
	return node;
}

/* Every directory above path, down to the three roots' own parents, which are real. */
static void add_parents(const char *path)
{
	const char *from =
		path + strlen(!strncmp(path, DEV, strlen(DEV)) ? "/dev/" : "/sys/class/");
	char dir[256];

	for (const char *slash = strchr(from, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
		if (!find_node(dir))
			add_node(SYSFS_DIR, dir);
	}
}

/* A file of one line below dir; both name and value are formats. */
static void add_file(const char *dir, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void add_file(const char *dir, const char *name, const char *fmt, ...)
{
	char path[512], *data;
	struct sysfs_node *node;
	va_list ap;
	int len;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	va_start(ap, fmt);
	len = vasprintf(&data, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	add_parents(path);
	node = add_node(SYSFS_FILE, path);
	if (!node) {
		free(data);
		return;
	}
	node->data = data;
	node->len = len;
}

static void add_guid(const char *dir, const char *name, uint64_t guid)
{
	add_file(dir, name, "%04x:%04x:%04x:%04x\n", (unsigned)(guid >> 48),
	         (unsigned)(guid >> 32 & 0xffff), (unsigned)(guid >> 16 & 0xffff),
	         (unsigned)(guid & 0xffff));
}

/* All CPUs, as the kernel writes a mask: words of 32 bits, highest first. */
static void add_cpus(const char *dir)
{
	int cpus = get_nprocs_conf();
	char mask[1024] = "";
	size_t at = 0;

	for (int word = (cpus - 1) / 32; word >= 0 && at < sizeof(mask) - 12; word--) {
		int bits = cpus - word * 32;

		at += snprintf(mask + at, sizeof(mask) - at, "%0*x%s", cpus < 32 ? 1 : 8,
		               bits >= 32 ? 0xffffffffu : (1u << bits) - 1, word ? "," : "");
	}
	add_file(dir, "local_cpus", "%s\n", mask);
	add_file(dir, "local_cpulist", "0-%d\n", cpus - 1);
}

static void add_gids(const char *port, const struct sv_config *cfg)
{
	bool ethernet = cfg->link_layer == EMU_LINK_ETHERNET;
	struct emu_gid gid[EMU_GIDS];
	char netdev[EMU_GIDS][16], name[64];
	unsigned count = sv_host_gids(gid, netdev, EMU_GIDS);

	for (unsigned i = 0; i < EMU_GIDS; i++) {
		const uint8_t *g = gid[i].raw;

		snprintf(name, sizeof(name), "gids/%u", i);
		add_file(
			port, name,
			"%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x\n",
			g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8], g[9], g[10], g[11],
			g[12], g[13], g[14], g[15]);
		if (i >= count)
			continue;
		snprintf(name, sizeof(name), "gid_attrs/types/%u", i);
		add_file(port, name, "%s\n", ethernet ? "RoCE v2" : "IB/RoCE v1");
		snprintf(name, sizeof(name), "gid_attrs/ndevs/%u", i);
		if (ethernet)
			add_file(port, name, "%s\n", netdev[i]);
	}
}

static void add_port(const char *device, const struct sv_config *cfg)
{
	bool ethernet = cfg->link_layer == EMU_LINK_ETHERNET;
	unsigned lid = ethernet ? 0 : VS_LID;
	char port[256];

	snprintf(port, sizeof(port), "%s/ports/1", device);
	add_file(port, "state", "4: ACTIVE\n");
	add_file(port, "phys_state", "5: LinkUp\n");
	add_file(port, "rate", "100 Gb/sec (4X EDR)\n");
	add_file(port, "link_layer", "%s\n", ethernet ? "Ethernet" : "InfiniBand");
	add_file(port, "lid", "0x%x\n", lid);
	add_file(port, "lid_mask_count", "0\n");
	add_file(port, "sm_lid", "0x%x\n", lid);
	add_file(port, "sm_sl", "0\n");
	add_file(port, "cap_mask", "0x%08x\n", ethernet ? 0x04010000u : 0x00010000u);
	add_file(port, "has_smi", "0\n");
	add_file(port, "pkeys/0", "0xffff\n");
	add_gids(port, cfg);
}

/* What would be the PCI function; net/ names the interfaces whose addresses are GIDs. */
static void add_hardware(const char *device, const struct sv_config *cfg)
{
	struct emu_gid gid[EMU_GIDS];
	char netdev[EMU_GIDS][16], dir[256], name[64];
	unsigned count = sv_host_gids(gid, netdev, EMU_GIDS);

	snprintf(dir, sizeof(dir), "%s/device", device);
	add_file(dir, "vendor", "0x%04x\n", cfg->vendor_id);
	add_file(dir, "device", "0x%04x\n", cfg->vendor_part_id);
	add_file(dir, "subsystem_vendor", "0x%04x\n", cfg->vendor_id);
	add_file(dir, "subsystem_device", "0x0000\n");
	add_file(dir, "class", "0x020000\n");
	add_file(dir, "numa_node", "-1\n");
	add_file(dir, "infiniband_verbs/uverbs0/dev", "%d:%d\n", SYSFS_UVERBS_MAJOR,
	         SYSFS_UVERBS_MINOR);
	add_cpus(dir);
	for (unsigned i = 0; i < count && cfg->link_layer == EMU_LINK_ETHERNET; i++) {
		char path[512];

		snprintf(name, sizeof(name), "net/%.15s/ifindex", netdev[i]);
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		if (!find_node(path))
			add_file(dir, name, "%u\n", if_nametoindex(netdev[i]));
	}
}

static void add_device(const struct sv_config *cfg)
{
	uint64_t guid = vs_node_guid(cfg->device);
	char dir[128];

	snprintf(dir, sizeof(dir), CLASS "/%s", cfg->device);
	add_file(dir, "node_type", "1: CA\n");
	add_guid(dir, "node_guid", guid);
	add_guid(dir, "sys_image_guid", guid);
	add_file(dir, "node_desc", "%s\n", cfg->device);
	add_file(dir, "fw_ver", VS_FW_VER "\n");
	add_file(dir, "hca_type", "softverbs\n");
	add_file(dir, "hw_rev", "0x%x\n", cfg->hw_ver);
	add_file(dir, "board_id", VS_BOARD_ID "\n");
	add_port(dir, cfg);
	add_hardware(dir, cfg);
}

static void add_uverbs(const struct sv_config *cfg)
{
	static const char path[] = DEV "/uverbs0";

	add_file(VERBS_CLASS, "abi_version", "6\n");
	add_file(VERBS_CLASS "/uverbs0", "ibdev", "%s\n", cfg->device);
	add_file(VERBS_CLASS "/uverbs0", "abi_version", "%d\n", VS_UVERBS_ABI);
	add_file(VERBS_CLASS "/uverbs0", "dev", "%d:%d\n", SYSFS_UVERBS_MAJOR, SYSFS_UVERBS_MINOR);
	add_parents(path);
	add_node(SYSFS_DEVICE, path);
}

static void build(void)
{
	const struct sv_config *cfg = sv_config();

	if (!cfg)
		return;
	add_device(cfg);
	add_uverbs(cfg);
}

static void build_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, build);
}

const struct sysfs_node *sysfs_find(const char *path)
{
	build_once();
	return find_node(path);
}

const struct sysfs_node *sysfs_numbered(unsigned number)
{
	build_once();
	return number && number <= node_count ? &nodes[number - 1] : NULL;
}

const struct sysfs_node *sysfs_next(const struct sysfs_node *dir, size_t *at)
{
	size_t len = strlen(dir->path);

	while (*at < node_count) {
		const struct sysfs_node *node = &nodes[(*at)++];

		if (node->name == node->path + len + 1 && !memcmp(node->path, dir->path, len))
			return node;
	}
	return NULL;
}
