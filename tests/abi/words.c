/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints what the string and enumeration helpers of libibverbs answer, in and out of range. */
#include <infiniband/verbs.h>
#include <stdio.h>

#define MULTIPLES 500
#define MEGABITS 1300000

int main(void)
{
	for (int i = -2; i < 30; i++) {
		printf("node type %d: %s\n", i, ibv_node_type_str((enum ibv_node_type)i));
		printf("port state %d: %s\n", i, ibv_port_state_str((enum ibv_port_state)i));
		printf("event %d: %s\n", i, ibv_event_type_str((enum ibv_event_type)i));
		printf("status %d: %s\n", i, ibv_wc_status_str((enum ibv_wc_status)i));
		printf("rate %d: %d times, %d Mbit/s\n", i, ibv_rate_to_mult((enum ibv_rate)i),
		       ibv_rate_to_mbps((enum ibv_rate)i));
	}
	for (int i = -1; i < MULTIPLES; i++)
		if (mult_to_ibv_rate(i) != IBV_RATE_MAX)
			printf("%d times: rate %d\n", i, mult_to_ibv_rate(i));
	for (int i = -1; i < MEGABITS; i++)
		if (mbps_to_ibv_rate(i) != IBV_RATE_MAX)
			printf("%d Mbit/s: rate %d\n", i, mbps_to_ibv_rate(i));
	return 0;
}
