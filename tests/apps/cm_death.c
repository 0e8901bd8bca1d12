/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cm_death TIMES: as often, for each state of a connection, one side is killed in
 * it. The other one gets the event that a kernel would send in the dead one's
 * name, soon, and the dead one's port is free.
 */
#include "cm_side.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Milliseconds until the survivor must know. */
#define SOON 15000

struct fate {
	const char *state;
	/* In the victim: go there, write the port (a server), then wait for the end. */
	void (*die)(int sock, struct rdma_event_channel *channel);
	/* In the survivor: go there, kill, see what comes. */
	void (*survive)(int sock, pid_t victim, struct rdma_event_channel *channel);
};

static void tell(int sock, uint16_t port)
{
	if (write(sock, &port, sizeof(port)) != sizeof(port))
		rc_fail("the other side is gone");
}

static uint16_t hear(int sock)
{
	uint16_t port;

	if (read(sock, &port, sizeof(port)) != sizeof(port))
		rc_fail("the other side is gone");
	return port;
}

static void kill_it(pid_t victim)
{
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
}

/* One of the types must come. */
static void expect_one_of(struct rdma_event_channel *channel, uint32_t types, const char *state)
{
	int type = cm_next(channel, SOON, NULL);

	if (type < 0 || !(types & 1u << type))
		rc_fail("%s: %s", state,
		        type < 0 ? "no event" : rdma_event_str((enum rdma_cm_event_type)type));
}

#define BIT(type) (1u << RDMA_CM_EVENT_##type)

/* ---- a client dies ----------------------------------------------------------------- */

static void client_of_a_request(int sock, struct rdma_event_channel *channel)
{
	cm_connect(cm_resolve(channel, hear(sock)));
}

static void server_of_a_request(int sock, pid_t victim, struct rdma_event_channel *channel)
{
	uint16_t port;
	struct rdma_cm_id *listener = cm_listen(channel, &port), *id;

	tell(sock, port);
	id = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	kill_it(victim);
	expect_one_of(channel, BIT(REJECTED) | BIT(UNREACHABLE) | BIT(DISCONNECTED), "request");
	cm_destroy(id);
	cm_destroy(listener);
}

static void connected_client(int sock, struct rdma_event_channel *channel)
{
	cm_connect(cm_resolve(channel, hear(sock)));
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED);
}

static void server_of_a_connection(int sock, pid_t victim, struct rdma_event_channel *channel)
{
	uint16_t port;
	struct rdma_cm_id *listener = cm_listen(channel, &port), *id;

	tell(sock, port);
	id = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_accept(id);
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	kill_it(victim);
	expect_one_of(channel, BIT(DISCONNECTED), "connection, client");
	cm_destroy(id);
	cm_destroy(listener);
}

static void disconnecting_client(int sock, struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = cm_resolve(channel, hear(sock));

	cm_connect(id);
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	rdma_disconnect(id);
}

static void server_of_a_disconnect(int sock, pid_t victim, struct rdma_event_channel *channel)
{
	uint16_t port;
	struct rdma_cm_id *listener = cm_listen(channel, &port), *id;

	tell(sock, port);
	id = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_accept(id);
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	expect_one_of(channel, BIT(DISCONNECTED), "disconnect");
	kill_it(victim);
	rdma_disconnect(id);
	expect_one_of(channel, BIT(TIMEWAIT_EXIT), "disconnect");
	cm_destroy(id);
	cm_destroy(listener);
}

/* ---- a server dies ------------------------------------------------------------------ */

static void listening_server(int sock, struct rdma_event_channel *channel)
{
	uint16_t port;

	cm_listen(channel, &port);
	tell(sock, port);
}

static void bind_again(struct rdma_event_channel *channel, uint16_t port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = port,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, (struct sockaddr *)&addr))
		rc_fail("the dead one's port: %s", strerror(errno));
	cm_destroy(id);
}

static void client_of_a_listener(int sock, pid_t victim, struct rdma_event_channel *channel)
{
	uint16_t port = hear(sock);
	struct rdma_cm_id *id = cm_resolve(channel, port);

	kill_it(victim);
	cm_connect(id);
	expect_one_of(channel, BIT(REJECTED), "listener");
	bind_again(channel, port);
	cm_destroy(id);
}

static void asked_server(int sock, struct rdma_event_channel *channel)
{
	listening_server(sock, channel);
	cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	tell(sock, 0);
}

static void client_of_an_asked_one(int sock, pid_t victim, struct rdma_event_channel *channel)
{
	uint16_t port = hear(sock);
	struct rdma_cm_id *id = cm_resolve(channel, port);

	cm_connect(id);
	hear(sock);
	kill_it(victim);
	expect_one_of(channel, BIT(REJECTED) | BIT(UNREACHABLE), "request, server");
	bind_again(channel, port);
	cm_destroy(id);
}

static void accepting_server(int sock, struct rdma_event_channel *channel)
{
	listening_server(sock, channel);
	cm_accept(cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST));
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	tell(sock, 0);
}

static void client_of_an_accepting_one(int sock, pid_t victim, struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = cm_resolve(channel, hear(sock));

	cm_connect(id);
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	hear(sock);
	kill_it(victim);
	expect_one_of(channel, BIT(DISCONNECTED), "connection, server");
	cm_destroy(id);
}

static const struct fate fates[] = {
	{"a client that has asked", client_of_a_request, server_of_a_request},
	{"a connected client", connected_client, server_of_a_connection},
	{"a client that disconnects", disconnecting_client, server_of_a_disconnect},
	{"a listener", listening_server, client_of_a_listener},
	{"a server that was asked", asked_server, client_of_an_asked_one},
	{"a connected server", accepting_server, client_of_an_accepting_one},
};

static void live_through(const struct fate *fate)
{
	struct rdma_event_channel *channel;
	int sock;
	pid_t victim = rc_fork(&sock);

	channel = rdma_create_event_channel();
	if (!channel)
		rc_fail("rdma_create_event_channel");
	if (!victim) {
		fate->die(sock, channel);
		pause();
	}
	fate->survive(sock, victim, channel);
	rdma_destroy_event_channel(channel);
	close(sock);
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 20, sock, status;

	alarm(280);
	for (size_t i = 0; i < sizeof(fates) / sizeof(fates[0]); i++) {
		for (int n = 0; n < times; n++) {
			/* Each survivor is a process of its own: a victim starts with no device. */
			pid_t survivor = rc_fork(&sock);

			if (!survivor) {
				live_through(&fates[i]);
				_exit(0);
			}
			if (waitpid(survivor, &status, 0) != survivor || status)
				rc_fail("death of %s, number %d", fates[i].state, n);
			close(sock);
		}
		printf("%d times %s\n", times, fates[i].state);
	}
	return 0;
}
