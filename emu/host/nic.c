/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Life of the NIC: one per process, made at the first nic_get and unmade at the
 * last nic_put. Everything it needs is opened here and nothing is left behind.
 */
#include "addr.h"
#include "cm_port.h"
#include "flush.h"
#include "fork.h"
#include "guard.h"
#include "mcast.h"
#include "inside.h"
#include "nic_state.h"
#include "progress.h"
#include "thread.h"
#include "watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct nic *nic_current;
pthread_mutex_t nic_process_lock = PTHREAD_MUTEX_INITIALIZER;

static void forward_cq_event(void *host, void *cq_user)
{
	struct nic *nic = host;

	nic->sink.cq_event(cq_user);
}

static void forward_async_event(void *host, enum emu_event_type type, void *user)
{
	struct nic *nic = host;

	nic->sink.async_event(type, user);
}

static void forward_cm_event(void *host, const struct emu_cm_event *event)
{
	struct nic *nic = host;

	if (nic->cm_event)
		nic->cm_event(event);
}

static int open_descriptors(struct nic *nic)
{
	nic->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	nic->standby_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	nic->deadline_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	nic->watch_fd = epoll_create1(EPOLL_CLOEXEC);
	nic->deadline_ns = UINT64_MAX;
	if (nic->doorbell < 0 || nic->standby_timer < 0 || nic->deadline_timer < 0 ||
	    nic->watch_fd < 0) {
		int ret = -errno;

		sv_log(SV_LOG_ERROR, "no file descriptor can be had: %s", strerror(-ret));
		return ret;
	}
	return 0;
}

static int create_device(struct nic *nic)
{
	struct emu_config *cfg = calloc(1, sizeof(*cfg));
	int ret;

	if (!cfg)
		return -ENOMEM;
	nic->env = (struct emu_env){
		.peer_get = nic_peer_get,
		.copy = guard_copy,
		.touch = guard_touch,
		.cas64 = guard_cas64,
		.faa64 = guard_faa64,
		.cq_event = forward_cq_event,
		.async_event = forward_async_event,
		.mcast = nic_mcast,
		.cm_lookup = nic_cm_lookup,
		.cm_event = forward_cm_event,
	};
	cfg->limits = emu_default_limits;
	cfg->port.link_layer = nic->cfg->link_layer;
	cfg->port.active_mtu = nic->cfg->mtu;
	cfg->port.gid_tbl_len = EMU_GIDS;
	cfg->port.pkey_tbl_len = 1;
	cfg->fast_death = nic->cfg->fast_death;
	sv_host_gids(cfg->port.gid, NULL, EMU_GIDS);
	if (getrandom(&cfg->seed, sizeof(cfg->seed), GRND_NONBLOCK) < 0)
		cfg->seed = (uint32_t)nic_now();
	ret = emu_dev_create(cfg, &nic->env, nic, &nic->dev);
	free(cfg);
	return ret;
}

/* Whatever nic_start had opened when it failed, or all of it. */
static void destroy(struct nic *nic)
{
	if (nic->ofi)
		wire_ofi_mute(nic->ofi);
	if (nic->dev)
		emu_dev_destroy(nic->dev);
	if (nic->ofi)
		wire_ofi_close(nic->ofi);
	wire_loop_close(nic->loop);
	nic_mcast_close(nic);
	nic_watch_close(nic);
	nic_cm_close(nic);
	nic_addresses_forget(nic);
	if (nic->doorbell >= 0)
		close(nic->doorbell);
	if (nic->standby_timer >= 0)
		close(nic->standby_timer);
	if (nic->deadline_timer >= 0)
		close(nic->deadline_timer);
	pthread_mutex_destroy(&nic->lock);
	free(nic);
}

static int open_wires(struct nic *nic)
{
	int ret;

	ret = wire_loop_open(nic->dev, &nic->loop);
	if (ret)
		return ret;
	nic_inside_set(true);
	ret = wire_ofi_open(nic->cfg, nic->dev, &nic->ofi);
	nic_inside_set(false);
	if (ret)
		return ret;
	ret = nic_add_slot(nic);
	if (ret)
		sv_log(SV_LOG_ERROR, "no TCP port from %u on can be had: %s",
		       nic->cfg->port_base, strerror(-ret));
	return ret;
}

static int start(const struct nic_sink *sink, struct nic **out)
{
	struct nic *nic;
	int ret;

	if (!sv_config())
		return -EINVAL;
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return -ENOMEM;
	nic->cfg = sv_config();
	nic->sink = *sink;
	nic->doorbell = nic->standby_timer = nic->deadline_timer = nic->watch_fd = -1;
	pthread_mutex_init(&nic->lock, NULL);

	ret = guard_install();
	if (!ret)
		ret = open_descriptors(nic);
	if (!ret)
		ret = create_device(nic);
	if (!ret)
		ret = open_wires(nic);
	if (!ret)
		ret = nic_watch_process();
	if (!ret)
		ret = nic_thread_start(nic);
	if (ret) {
		destroy(nic);
		return ret;
	}
	*out = nic;
	return 0;
}

int nic_get(const struct nic_sink *sink, struct nic **out)
{
	int ret = 0;

	pthread_mutex_lock(&nic_process_lock);
	if (!nic_current)
		ret = start(sink, &nic_current);
	if (!ret) {
		nic_current->refs++;
		*out = nic_current;
	}
	pthread_mutex_unlock(&nic_process_lock);
	return ret;
}

void nic_put(struct nic *nic)
{
	bool last = false;

	pthread_mutex_lock(&nic_process_lock);
	/* A child has no business with its parent's; at exit it stays for those who come late. */
	if (nic == nic_current && !atomic_load(&nic->inert) && --nic->refs == 0) {
		nic_current = NULL;
		last = true;
	}
	if (last) {
		nic_thread_stop(nic);
		nic_flush(nic);
		destroy(nic);
	}
	pthread_mutex_unlock(&nic_process_lock);
}

bool nic_alive(const struct nic *nic)
{
	return !atomic_load(&nic->inert);
}

bool nic_exiting(const struct nic *nic)
{
	return atomic_load(&nic->exiting);
}

struct emu_dev *nic_lock(struct nic *nic)
{
	(void)guard_install();
	nic_enter(nic);
	if (!atomic_load(&nic->inert))
		nic_tick(nic);
	return nic->dev;
}

void nic_unlock(struct nic *nic)
{
	const char *notice;

	if (!atomic_load(&nic->inert) && nic_leftover(nic))
		nic_run_and_send(nic);
	notice = nic_cm_notice(nic);
	nic_leave(nic);
	if (notice)
		sv_log(SV_LOG_WARN, "%s", notice);
}

int nic_qp_create(struct nic *nic, struct emu_pd *pd, const struct emu_qp_init *init,
		  struct emu_qp **out)
{
	int ret = emu_qp_create(pd, init, out);

	if (ret != -ENOSPC || atomic_load(&nic->inert))
		return ret;
	ret = nic_add_slot(nic);
	return ret ? -ENOMEM : emu_qp_create(pd, init, out);
}
