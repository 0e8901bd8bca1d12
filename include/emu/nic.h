/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host of the core: one NIC per process, with the device lock, the thread
 * that makes progress while the program does not, the clock and the wires.
 *
 * Thread rule: any thread, unless said otherwise. fork(): the child's copy is
 * inert (nic_alive() false, everything returns at once) until it opens its own.
 */
#ifndef EMU_NIC_H
#define EMU_NIC_H

#include <emu/cm.h>
#include <emu/config.h>
#include <emu/emu.h>

/* Exported by the engine library. */
#pragma GCC visibility push(default)

struct nic;

/* Called under the device lock; must not call back into nic_ or emu_ functions. */
struct nic_sink {
	void (*cq_event)(void *cq_user);
	void (*async_event)(enum emu_event_type type, void *user);
};

/*
 * The process's NIC, started at the first call: takes a slot (TCP port), loads
 * libfabric, starts the thread. Each success needs one nic_put. 0, or -errno
 * after one line on stderr (no libfabric, no free port, bad configuration).
 */
int nic_get(const struct nic_sink *sink, struct nic **out);
/* The last one flushes what is on its way (bounded), stops the thread, frees the port. */
void nic_put(struct nic *nic);
/* False in a forked child that inherited it, and at the end of the process. */
bool nic_alive(const struct nic *nic);
/* The process ends: it is nobody's any more, and who waits need not be told. */
bool nic_exiting(const struct nic *nic);

/* The device lock. Between the two the caller may call emu_ functions. */
struct emu_dev *nic_lock(struct nic *nic);
/* Also runs what the caller's calls left to do, and sends it. */
void nic_unlock(struct nic *nic);

/* emu_qp_create, taking another slot when the QP numbers run out. Device lock held. */
int nic_qp_create(struct nic *nic, struct emu_pd *pd, const struct emu_qp_init *init,
		  struct emu_qp **out);
/*
 * emu_mr_dereg for a caller without the lock: waits until no wire reads from
 * the region (bounded: then the links concerned are cut). 0, -EBUSY.
 */
int nic_mr_dereg(struct nic *nic, struct emu_mr *mr);

/* Hot path. After emu_qp_ring: one bounded pass here if the lock is free, else the doorbell. */
void nic_kick(struct nic *nic);
/* Hot path. A poll found nothing: one bounded pass if the lock is free. */
void nic_poll(struct nic *nic);
/* The program armed a CQ and will sleep: the thread takes the wire back at once. */
void nic_rest(struct nic *nic);
/*
 * Sleep until fd is readable, driving the NIC meanwhile, so that a blocked
 * program needs no thread switch. 0; -EINTR (a signal); -EAGAIN (fd is
 * O_NONBLOCK and not readable).
 */
int nic_wait_fd(struct nic *nic, int fd);

/*
 * Events of the connection manager go to handler, under the device lock: it must
 * not call back. Until it is set they are lost. Set once, before the first CM call.
 */
void nic_cm_events(struct nic *nic, void (*handler)(const struct emu_cm_event *event));

/*
 * Wait, bounded, until a wire has taken the messages of the calls so far: for a
 * program that may end before they leave, as it may where a kernel sends them.
 * The caller does not hold the device lock.
 */
void nic_cm_flush(struct nic *nic);

struct nic_cm_port;

enum nic_cm_bind_flags {
	NIC_CM_REUSE = 1, /* shared with others that say so too (rdma_set_option REUSEADDR) */
	NIC_CM_IPV6_ONLY = 2, /* "::" without IPv4 */
};

/*
 * Hold a port: the UDP port of the same number, at addr (AF_INET or AF_INET6),
 * for as long as the process lives or until nic_cm_unbind. Look-ups that come
 * to it are answered with the process's slot if emu_cm_listening says so.
 * Port 0: any free one. The caller does not hold the device lock.
 * 0; -EADDRINUSE; -EADDRNOTAVAIL (not this host's); -EINVAL; -EAFNOSUPPORT;
 * -EACCES; -EMFILE…
 */
int nic_cm_bind(struct nic *nic, const struct sockaddr *addr, unsigned flags,
		struct nic_cm_port **out);
/* Host order. */
uint16_t nic_cm_port_number(const struct nic_cm_port *port);
/* The port is free at once. The caller does not hold the device lock. */
void nic_cm_unbind(struct nic *nic, struct nic_cm_port *port);

/* Is the user memory [addr, addr+len) mapped, and writable if asked? 0, -EFAULT. */
int nic_mem_check(uint64_t addr, uint64_t len, bool write);

/* Does this thread stand in the engine's own start-up? Then the shim answers "no devices". */
bool nic_inside_engine(void);

#pragma GCC visibility pop

#endif
