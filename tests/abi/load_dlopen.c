/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that loads libibverbs at run time as NCCL does: the name without a
 * version first, then each symbol with the version it wants. Prints its devices.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>

static const struct {
	const char *name, *version;
} wanted[] = {
	{"ibv_get_device_list", "IBVERBS_1.1"},
	{"ibv_free_device_list", "IBVERBS_1.1"},
	{"ibv_get_device_name", "IBVERBS_1.1"},
	{"ibv_open_device", "IBVERBS_1.1"},
	{"ibv_close_device", "IBVERBS_1.1"},
	{"ibv_get_async_event", "IBVERBS_1.1"},
	{"ibv_ack_async_event", "IBVERBS_1.1"},
	{"ibv_query_device", "IBVERBS_1.1"},
	{"ibv_query_port", "IBVERBS_1.1"},
	{"ibv_query_gid", "IBVERBS_1.1"},
	{"ibv_query_qp", "IBVERBS_1.1"},
	{"ibv_alloc_pd", "IBVERBS_1.1"},
	{"ibv_dealloc_pd", "IBVERBS_1.1"},
	{"ibv_reg_mr", "IBVERBS_1.1"},
	{"ibv_reg_mr_iova2", "IBVERBS_1.8"},
	{"ibv_reg_dmabuf_mr", "IBVERBS_1.12"},
	{"ibv_dereg_mr", "IBVERBS_1.1"},
	{"ibv_create_comp_channel", "IBVERBS_1.0"},
	{"ibv_destroy_comp_channel", "IBVERBS_1.0"},
	{"ibv_create_cq", "IBVERBS_1.1"},
	{"ibv_destroy_cq", "IBVERBS_1.1"},
	{"ibv_create_qp", "IBVERBS_1.1"},
	{"ibv_modify_qp", "IBVERBS_1.1"},
	{"ibv_destroy_qp", "IBVERBS_1.1"},
	{"ibv_fork_init", "IBVERBS_1.1"},
	{"ibv_event_type_str", "IBVERBS_1.1"},
	{"ibv_query_ece", "IBVERBS_1.10"},
	{"ibv_set_ece", "IBVERBS_1.10"},
};

int main(void)
{
	struct ibv_device **(*get_list)(int *);
	const char *(*get_name)(struct ibv_device *);
	void *lib = dlopen("libibverbs.so", RTLD_NOW);
	struct ibv_device **list;
	int n;

	if (!lib)
		lib = dlopen("libibverbs.so.1", RTLD_NOW);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (!dlvsym(lib, wanted[i].name, wanted[i].version)) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
	}
	get_list =
		(struct ibv_device * *(*)(int *)) dlvsym(lib, "ibv_get_device_list", "IBVERBS_1.1");
	get_name = (const char *(*)(struct ibv_device *))dlvsym(lib, "ibv_get_device_name",
	                                                        "IBVERBS_1.1");
	list = get_list(&n);
	if (!list)
		return 1;
	for (int i = 0; i < n; i++)
		puts(get_name(list[i]));
	return 0;
}
