/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loading and opening libfabric. It gets a link namespace of its own, where it
 * finds the real libibverbs it is linked to and not our shim, and shares no
 * state with a program that uses libfabric itself. Sanitizers and valgrind
 * cannot follow into a second namespace: for them it is loaded as usual.
 */
#include "config.h"
#include "ofi_fabric.h"

#include <emu/config.h>

#include <dlfcn.h>
#include <errno.h>
#include <rdma/fi_errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define API_VERSION FI_VERSION(1, 11)
#define CQ_SIZE 4096
#define EQ_SIZE 1024

/* All that is not an inline call through an object's operations. */
static struct {
	__typeof__(fi_getinfo) *getinfo;
	__typeof__(fi_freeinfo) *freeinfo;
	__typeof__(fi_dupinfo) *dupinfo;
	__typeof__(fi_fabric) *fabric;
	__typeof__(fi_strerror) *strerror;
	__typeof__(fi_version) *version;
} lib;

static const struct {
	const char *name;
	void *slot;
} symbols[] = {
	{ "fi_getinfo", &lib.getinfo },	  { "fi_freeinfo", &lib.freeinfo },
	{ "fi_dupinfo", &lib.dupinfo },	  { "fi_fabric", &lib.fabric },
	{ "fi_strerror", &lib.strerror }, { "fi_version", &lib.version },
};

static bool shared_namespace(void)
{
#ifdef SV_SANITIZED
	return true;
#else
	const char *preload = getenv("LD_PRELOAD");

	/* How valgrind and sanitizers that were not linked get into a process. */
	return preload && (strstr(preload, "vgpreload") || strstr(preload, "libasan") ||
			   strstr(preload, "libtsan"));
#endif
}

/* Never unloaded: libfabric leaves thread-locals and exit handlers behind. */
static int load_library(void)
{
	static const char name[] = "libfabric.so.1";
	static void *handle;
	void *sym;

	if (handle)
		return 0;
	handle = shared_namespace() ? dlopen(name, RTLD_NOW | RTLD_LOCAL) :
				      dlmopen(LM_ID_NEWLM, name, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		sv_log(SV_LOG_ERROR, "libfabric cannot be loaded: %s", dlerror());
		return -ENOENT;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		sym = dlsym(handle, symbols[i].name);
		if (!sym) {
			sv_log(SV_LOG_ERROR, "%s has no %s", name, symbols[i].name);
			dlclose(handle);
			handle = NULL;
			return -ENOENT;
		}
		memcpy(symbols[i].slot, &sym, sizeof(sym));
	}
	return 0;
}

static int find_provider(struct ofi_fabric *f, const char *provider)
{
	struct fi_info *hints = lib.dupinfo(NULL);
	int ret;

	if (!hints)
		return -ENOMEM;
	hints->caps = FI_MSG | FI_SEND | FI_RECV;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->addr_format = FI_SOCKADDR;
	hints->ep_attr->type = FI_EP_MSG;
	hints->domain_attr->mr_mode = 0;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->tx_attr->msg_order = FI_ORDER_SAS;
	hints->fabric_attr->prov_name = (char *)provider;
	ret = lib.getinfo(API_VERSION, NULL, NULL, 0, hints, &f->info);
	/* Another namespace has another malloc: nothing of ours may be freed there. */
	hints->fabric_attr->prov_name = NULL;
	lib.freeinfo(hints);
	if (ret)
		sv_log(SV_LOG_ERROR, "libfabric %u.%u has no provider %s with FI_EP_MSG: %s",
		       FI_MAJOR(lib.version()), FI_MINOR(lib.version()), provider,
		       lib.strerror(-ret));
	return ret;
}

static int open_objects(struct ofi_fabric *f)
{
	struct fi_eq_attr eq_attr = { .size = EQ_SIZE, .wait_obj = FI_WAIT_FD };
	struct fi_cq_attr cq_attr = {
		.size = CQ_SIZE,
		.format = FI_CQ_FORMAT_MSG,
		.wait_obj = FI_WAIT_FD,
	};
	int ret;

	ret = lib.fabric(f->info->fabric_attr, &f->fabric, NULL);
	if (!ret)
		ret = fi_domain(f->fabric, f->info, &f->domain, NULL);
	if (!ret)
		ret = fi_eq_open(f->fabric, &eq_attr, &f->eq, NULL);
	if (!ret)
		ret = fi_cq_open(f->domain, &cq_attr, &f->cq, NULL);
	if (!ret)
		ret = fi_control(&f->eq->fid, FI_GETWAIT, &f->eq_fd);
	if (!ret)
		ret = fi_control(&f->cq->fid, FI_GETWAIT, &f->cq_fd);
	return ret;
}

/* Libraries that libfabric brings along (PSM) set signal handlers; those are the program's. */
static void save_signals(struct sigaction saved[NSIG])
{
	for (int sig = 1; sig < NSIG; sig++)
		if (sigaction(sig, NULL, &saved[sig]))
			saved[sig].sa_handler = SIG_ERR;
}

static void restore_signals(const struct sigaction saved[NSIG])
{
	struct sigaction now;

	for (int sig = 1; sig < NSIG; sig++)
		if (saved[sig].sa_handler != SIG_ERR && !sigaction(sig, NULL, &now) &&
		    now.sa_handler != saved[sig].sa_handler)
			sigaction(sig, &saved[sig], NULL);
}

int ofi_fabric_open(struct ofi_fabric *f, const char *provider)
{
	struct sigaction saved[NSIG];
	int ret;

	memset(f, 0, sizeof(*f));
	save_signals(saved);
	ret = load_library();
	if (!ret)
		ret = find_provider(f, provider);
	restore_signals(saved);
	if (ret)
		return ret;
	ret = open_objects(f);
	if (ret) {
		sv_log(SV_LOG_ERROR, "libfabric's provider %s cannot be opened: %s", provider,
		       lib.strerror(-ret));
		ofi_fabric_close(f);
		return ret;
	}
	f->inject_max = f->info->tx_attr->inject_size;
	f->iov_max = f->info->tx_attr->iov_limit;
	return 0;
}

void ofi_fabric_close(struct ofi_fabric *f)
{
	if (f->cq)
		fi_close(&f->cq->fid);
	if (f->eq)
		fi_close(&f->eq->fid);
	if (f->domain)
		fi_close(&f->domain->fid);
	if (f->fabric)
		fi_close(&f->fabric->fid);
	if (f->info)
		lib.freeinfo(f->info);
	memset(f, 0, sizeof(*f));
}

static size_t sockaddr_len(const struct sockaddr *sa)
{
	return sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

void ofi_fabric_info(const struct ofi_fabric *f, const struct sockaddr *src,
		     const struct sockaddr *dest, struct fi_info *info)
{
	const struct sockaddr *any = src ? src : dest;

	*info = *f->info;
	info->next = NULL;
	info->handle = NULL;
	info->addr_format = any->sa_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	info->src_addr = (void *)src;
	info->src_addrlen = src ? sockaddr_len(src) : 0;
	info->dest_addr = (void *)dest;
	info->dest_addrlen = dest ? sockaddr_len(dest) : 0;
}

void ofi_fabric_freeinfo(struct fi_info *info)
{
	lib.freeinfo(info);
}

bool ofi_fabric_may_sleep(struct ofi_fabric *f)
{
	struct fid *fids[] = { &f->cq->fid, &f->eq->fid };

	return fi_trywait(f->fabric, fids, 2) == 0;
}
