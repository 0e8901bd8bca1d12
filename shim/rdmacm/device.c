/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_get_devices, rdma_free_devices, and the device behind them. */
#include "device.h"

#include "incoming.h"

#include <abi/rdmacm.h>
#include <verbs/errno.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cs_device *current;

static void reset_lock(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void watch_fork(void)
{
	pthread_atfork(NULL, NULL, reset_lock);
}

static struct ibv_context *open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *verbs = NULL;

	if (!list)
		return NULL;
	if (list[0])
		verbs = ibv_open_device(list[0]);
	else
		errno = ENODEV;
	ibv_free_device_list(list);
	return verbs;
}

static int fill_in(struct cs_device *dev)
{
	const struct emu_config *cfg;
	int err;

	dev->pd = ibv_alloc_pd(dev->verbs);
	if (!dev->pd)
		return -errno;
	/* The context has the NIC already, so no sink is needed. */
	err = nic_get(NULL, &dev->nic);
	if (err) {
		ibv_dealloc_pd(dev->pd);
		return err;
	}
	cfg = emu_dev_config(nic_lock(dev->nic));
	nic_unlock(dev->nic);
	dev->port = &cfg->port;
	dev->max_rd_atom = cfg->limits.max_qp_rd_atom;
	nic_cm_events(dev->nic, cs_incoming);
	return 0;
}

static struct cs_device *open_device(void)
{
	struct cs_device *dev = calloc(1, sizeof(*dev));
	int err;

	if (!dev)
		return vs_null(-ENOMEM);
	dev->verbs = open_first();
	if (!dev->verbs) {
		free(dev);
		return NULL;
	}
	err = fill_in(dev);
	if (err) {
		ibv_close_device(dev->verbs);
		free(dev);
		return vs_null(err);
	}
	return dev;
}

struct cs_device *cs_device_get(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct cs_device *dev;

	pthread_once(&once, watch_fork);
	pthread_mutex_lock(&lock);
	/* The parent's is lost to the child, and so are the ids made with it. */
	if (!current || !nic_alive(current->nic))
		current = open_device();
	dev = current;
	pthread_mutex_unlock(&lock);
	return dev;
}

int cs_device_gid_index(const struct cs_device *dev, const struct emu_gid *gid)
{
	for (uint32_t i = 0; i < dev->port->gid_tbl_len; i++) {
		if (!memcmp(&dev->port->gid[i], gid, sizeof(*gid)))
			return (int)i;
	}
	return -ENODEV;
}

struct ibv_context **cs_get_devices(int *num_devices)
{
	struct cs_device *dev = cs_device_get();
	struct ibv_context **list;

	if (num_devices)
		*num_devices = 0;
	if (!dev)
		return NULL;
	list = calloc(2, sizeof(*list));
	if (!list)
		return vs_null(-ENOMEM);
	list[0] = dev->verbs;
	if (num_devices)
		*num_devices = 1;
	return list;
}

void cs_free_devices(struct ibv_context **list)
{
	free(list);
}
