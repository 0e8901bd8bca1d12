/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device list, and what can be asked of a device before it is opened:
 * ibv_get_device_list(3), ibv_get_device_name(3), ibv_get_device_guid(3),
 * ibv_get_device_index(3).
 */
#include <config.h>

#include <abi/emulated.h>
#include <verbs/device.h>

#include <emu/config.h>
#include <emu/nic.h>
#include <sysfs/identity.h>

#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define DEVICES 1

static struct vs_device devices[DEVICES];

static void describe(struct vs_device *dev, const char *name, int index)
{
	dev->ibv.node_type = IBV_NODE_CA;
	dev->ibv.transport_type = IBV_TRANSPORT_IB;
	snprintf(dev->ibv.name, sizeof(dev->ibv.name), "%s", name);
	snprintf(dev->ibv.dev_name, sizeof(dev->ibv.dev_name), "uverbs%d", index);
	snprintf(dev->ibv.dev_path, sizeof(dev->ibv.dev_path), "/sys/class/infiniband_verbs/%s",
	         dev->ibv.dev_name);
	snprintf(dev->ibv.ibdev_path, sizeof(dev->ibv.ibdev_path), "/sys/class/infiniband/%s",
	         dev->ibv.name);
	dev->node_guid = htobe64(vs_node_guid(name));
	dev->index = index;
}

static void describe_all(void)
{
	const struct sv_config *cfg = sv_config();

	if (cfg)
		describe(&devices[0], cfg->device, 0);
}

/*
 * libfabric asks for devices while the engine starts it. A private copy of it
 * (dlmopen) gets a private copy of the drop-in as well when LD_LIBRARY_PATH
 * leads there; that one must not start an engine within the engine.
 */
static bool asked_by_engine(void)
{
	struct link_map *self;
	Dl_info where;
	Lmid_t space;

	if (nic_inside_engine())
		return true;
	if (!dladdr1(devices, &where, (void **)&self, RTLD_DL_LINKMAP) ||
	    dlinfo(self, RTLD_DI_LMID, &space))
		return false;
	return space != LM_ID_BASE;
}

struct ibv_device **vs_get_device_list(int *num_devices)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct ibv_device **list;
	int n = 0;

	if (num_devices)
		*num_devices = 0;
	pthread_once(&once, describe_all);
	if (!devices[0].ibv.name[0]) {
		errno = EINVAL;
		return NULL;
	}
	list = calloc(DEVICES + 1, sizeof(*list));
	if (!list) {
		errno = ENOMEM;
		return NULL;
	}
	if (!asked_by_engine())
		for (; n < DEVICES; n++)
			list[n] = &devices[n].ibv;
	if (num_devices)
		*num_devices = n;
	return list;
}

void vs_free_device_list(struct ibv_device **list)
{
	free(list);
}

struct vs_device *vs_device(struct ibv_device *ibv)
{
	for (int i = 0; i < DEVICES; i++)
		if (&devices[i].ibv == ibv && ibv->name[0])
			return &devices[i];
	errno = EINVAL;
	return NULL;
}

const char *vs_get_device_name(struct ibv_device *device)
{
	return device->name;
}

__be64 vs_get_device_guid(struct ibv_device *device)
{
	const struct vs_device *dev = vs_device(device);

	return dev ? dev->node_guid : 0;
}

int vs_get_device_index(struct ibv_device *device)
{
	const struct vs_device *dev = vs_device(device);

	return dev ? dev->index : -1;
}
