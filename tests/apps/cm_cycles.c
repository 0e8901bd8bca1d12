/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cm_cycles CYCLES: as often, connect with rdma_cm, accept, disconnect, destroy.
 * Neither memory nor file descriptors grow after the first fifth, on either side.
 */
#include "cm_side.h"
#include "growth.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Bytes. What is over lives on for the two seconds of its TIMEWAIT, so there is
 * more of it the faster the machine happens to be.
 */
#define GROWTH_BOUND (2048 * 1024)

struct cycle {
	struct rdma_event_channel *channel;
	uint16_t port;
};

static void connect_and_leave(const struct cycle *c)
{
	struct rdma_cm_id *id = cm_resolve(c->channel, c->port);

	cm_connect(id);
	cm_expect(c->channel, RDMA_CM_EVENT_ESTABLISHED);
	if (rdma_disconnect(id))
		rc_fail("rdma_disconnect");
	cm_expect(c->channel, RDMA_CM_EVENT_DISCONNECTED);
	cm_destroy(id);
}

static void accept_and_wait(const struct cycle *c)
{
	struct rdma_cm_id *id = cm_expect(c->channel, RDMA_CM_EVENT_CONNECT_REQUEST);

	cm_accept(id);
	cm_expect(c->channel, RDMA_CM_EVENT_ESTABLISHED);
	cm_expect(c->channel, RDMA_CM_EVENT_DISCONNECTED);
	rdma_disconnect(id);
	cm_destroy(id);
}

static void repeat(const char *who, const struct cycle *c, long cycles,
                   void (*once)(const struct cycle *))
{
	struct growth before = {0};

	for (long i = 0; i < cycles; i++) {
		if (i == cycles / 5)
			before = growth_now();
		once(c);
	}
	growth_check(who, &before, GROWTH_BOUND);
}

int main(int argc, char **argv)
{
	long cycles = argc > 1 ? atol(argv[1]) : 1000;
	struct cycle c;
	int sock, status;
	pid_t child;

	alarm(600);
	child = rc_fork(&sock);
	c.channel = rdma_create_event_channel();
	if (!c.channel)
		rc_fail("rdma_create_event_channel");
	if (!child) {
		if (read(sock, &c.port, sizeof(c.port)) != sizeof(c.port))
			rc_fail("no port");
		repeat("client", &c, cycles, connect_and_leave);
		_exit(0);
	}
	cm_listen(c.channel, &c.port);
	if (write(sock, &c.port, sizeof(c.port)) != sizeof(c.port))
		rc_fail("no client");
	repeat("server", &c, cycles, accept_and_wait);
	if (waitpid(child, &status, 0) != child || status)
		rc_fail("the client failed");
	printf("%ld cycles\n", cycles);
	return 0;
}
