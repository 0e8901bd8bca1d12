/* SPDX-License-Identifier: BSD-2-Clause */
#include <sysfs/identity.h>

#include <unistd.h>

/* FNV-1a, 64 bit. */
static uint64_t hash(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h;
}

uint64_t vs_node_guid(const char *device)
{
	char host[256] = "";
	uint64_t h = 0xcbf29ce484222325u;

	gethostname(host, sizeof(host) - 1);
	h = hash(hash(h, host), device);
	/* An EUI-64 that is local and of one station, as of a device with no assigned number. */
	h = (h & ~((uint64_t)1 << 56)) | (uint64_t)1 << 57;
	return h;
}
