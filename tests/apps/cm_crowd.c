/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cm_crowd CLIENTS: as many, of four processes, connect to one listener at the
 * same moment. All get in.
 */
#include "cm_side.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 4

static void run_clients(int sock, int count)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id **id = calloc(count, sizeof(*id));
	uint16_t port;

	if (!channel || !id || read(sock, &port, sizeof(port)) != sizeof(port))
		rc_fail("no start");
	for (int i = 0; i < count; i++)
		id[i] = cm_resolve(channel, port);
	rc_barrier(sock);
	for (int i = 0; i < count; i++)
		cm_connect(id[i]);
	for (int i = 0; i < count; i++)
		cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	rc_barrier(sock);
	for (int i = 0; i < count; i++)
		cm_destroy(id[i]);
	free(id);
}

/* Whatever order requests and connections come in. */
static void accept_all(struct rdma_event_channel *channel, int count)
{
	struct rdma_cm_id *id;
	int established = 0;

	while (established < count) {
		int type = cm_next(channel, 30000, &id);

		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			cm_accept(id);
		else if (type == RDMA_CM_EVENT_ESTABLISHED)
			established++;
		else
			rc_fail("%s after %d connections",
			        type < 0 ? "nothing" :
			                   rdma_event_str((enum rdma_cm_event_type)type),
			        established);
	}
}

int main(int argc, char **argv)
{
	int clients = argc > 1 ? atoi(argv[1]) : 200;
	struct rdma_event_channel *channel;
	int sock[PROCESSES], status;
	uint16_t port;

	alarm(120);
	for (int i = 0; i < PROCESSES; i++) {
		if (!rc_fork(&sock[i])) {
			run_clients(sock[i], clients / PROCESSES);
			_exit(0);
		}
	}
	channel = rdma_create_event_channel();
	if (!channel)
		rc_fail("rdma_create_event_channel");
	cm_listen(channel, &port);
	for (int i = 0; i < PROCESSES; i++)
		if (write(sock[i], &port, sizeof(port)) != sizeof(port))
			rc_fail("a client is gone");
	for (int i = 0; i < PROCESSES; i++)
		rc_barrier(sock[i]);
	accept_all(channel, clients / PROCESSES * PROCESSES);
	for (int i = 0; i < PROCESSES; i++)
		rc_barrier(sock[i]);
	for (int i = 0; i < PROCESSES; i++)
		if (wait(&status) < 0 || status)
			rc_fail("a client failed");
	printf("%d clients\n", clients);
	return 0;
}
