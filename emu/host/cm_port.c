/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports that ids of the connection manager are bound to. */
#include "cm_port.h"

#include "progress.h"
#include "watch.h"

#include "ofi_sock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct nic_cm_port {
	struct nic_watch watch;
	uint16_t number;
};

static void readable(struct nic *nic, struct nic_watch *watch)
{
	nic_cm_asked(nic, watch->fd);
}

static void set_option(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value));
}

static socklen_t length_of(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
					    sizeof(struct sockaddr_in6);
}

/* The socket, or -errno. */
static int bind_socket(const struct sv_config *cfg, const struct sockaddr *addr, unsigned flags)
{
	int fd, err;

	if (addr->sa_family != AF_INET && addr->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	fd = socket(addr->sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (addr->sa_family == AF_INET6)
		set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, !!(flags & NIC_CM_IPV6_ONLY));
	if (flags & NIC_CM_REUSE)
		set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	ofi_sock_restrict(fd, cfg->allow, cfg->allow_count);
	if (!bind(fd, addr, length_of(addr)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static uint16_t number_of(int fd)
{
	union ofi_sockaddr addr = { .sa.sa_family = AF_UNSPEC };
	socklen_t len = sizeof(addr);

	getsockname(fd, &addr.sa, &len);
	return ntohs(addr.sa.sa_family == AF_INET ? addr.in.sin_port : addr.in6.sin6_port);
}

int nic_cm_bind(struct nic *nic, const struct sockaddr *addr, unsigned flags,
		struct nic_cm_port **out)
{
	struct nic_cm_port *port = calloc(1, sizeof(*port));
	int err;

	if (!port)
		return -ENOMEM;
	port->watch.readable = readable;
	port->watch.fd = bind_socket(nic->cfg, addr, flags);
	if (port->watch.fd < 0) {
		err = port->watch.fd;
		goto err_free;
	}
	port->number = number_of(port->watch.fd);
	nic_enter(nic);
	err = atomic_load(&nic->inert) ? -EIO : nic_watch_add(nic, &port->watch);
	nic_leave(nic);
	if (err)
		goto err_close;
	*out = port;
	return 0;

err_close:
	close(port->watch.fd);
err_free:
	free(port);
	return err;
}

uint16_t nic_cm_port_number(const struct nic_cm_port *port)
{
	return port->number;
}

void nic_cm_unbind(struct nic *nic, struct nic_cm_port *port)
{
	nic_enter(nic);
	/* In a child or at the end it is closed already. */
	if (!atomic_load(&nic->inert)) {
		nic_watch_remove(nic, &port->watch);
		close(port->watch.fd);
	}
	nic_leave(nic);
	free(port);
}

void nic_cm_events(struct nic *nic, void (*handler)(const struct emu_cm_event *event))
{
	nic_enter(nic);
	nic->cm_event = handler;
	nic_leave(nic);
}
