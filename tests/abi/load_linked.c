/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that is linked with libibverbs: prints its devices, one a line. */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	struct ibv_device **list;
	int n = -1;

	list = ibv_get_device_list(&n);
	if (!list) {
		perror("ibv_get_device_list");
		return 1;
	}
	for (int i = 0; i < n; i++)
		puts(ibv_get_device_name(list[i]));
	if (list[n])
		return 1;
	ibv_free_device_list(list);
	return 0;
}
