/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_OFI_H
#define WIRE_OFI_H

#include <emu/config.h>
#include <emu/emu.h>

/*
 * The wire between processes, on connected endpoints of a libfabric provider.
 * Everything runs under the device lock, never blocks and reads no clock.
 */
struct wire_ofi;

/* A process is found at an address and the TCP port base + slot. */
struct wire_addr {
	struct in6_addr ip; /* IPv4 as mapped IPv6 */
	uint32_t scope; /* interface index of a link-local address, else 0 */
	uint32_t slot;
};

#define WIRE_OFI_FDS 2

/* Loads libfabric, opens the provider. 0, -errno after a line on stderr. */
int wire_ofi_open(const struct sv_config *cfg, struct emu_dev *dev, struct wire_ofi **out);
/* After wire_ofi_mute and emu_dev_destroy: frees everything. */
void wire_ofi_close(struct wire_ofi *ofi);
/*
 * Take the port of a slot. The first slot is the one that this process shows
 * to its peers. 0, -EADDRINUSE, other -errno.
 */
int wire_ofi_listen(struct wire_ofi *ofi, uint32_t slot);
/* A reference for ops->put(). NULL: no memory. */
struct wire_peer *wire_ofi_peer(struct wire_ofi *ofi, const struct wire_addr *addr);

/* The time, before anything that follows; with every emu_tick. */
void wire_ofi_tick(struct wire_ofi *ofi, uint64_t now_ns);
/* Take in what arrived (bounded). True when there may be more. */
bool wire_ofi_poll(struct wire_ofi *ofi);
/*
 * Send what was batched. Lazy: leave what is as small as one ACK, because the
 * program is likely to add its answer at once; a later flush takes it along.
 */
void wire_ofi_flush(struct wire_ofi *ofi, bool lazy);
/* A lazy flush left something. */
bool wire_ofi_deferred(const struct wire_ofi *ofi);
/* When wire_ofi_poll must be called though no descriptor is readable; UINT64_MAX: never. */
uint64_t wire_ofi_deadline(const struct wire_ofi *ofi);
/*
 * The smallest frames leave without anybody being told. From now on those that have
 * been sent so far count as sending too, until they have left. Followed by a flush.
 */
void wire_ofi_confirm(struct wire_ofi *ofi);
/* Packets are batched or on their way out. */
bool wire_ofi_sending(const struct wire_ofi *ofi);
/* What the user should be told, once, without the lock; NULL: nothing. */
const char *wire_ofi_notice(struct wire_ofi *ofi);
/* To sleep on, level-triggered, after wire_ofi_may_sleep() said yes. */
void wire_ofi_wait_fds(const struct wire_ofi *ofi, int fds[WIRE_OFI_FDS]);
bool wire_ofi_may_sleep(struct wire_ofi *ofi);

/*
 * Close every link and listener. From now on no call reaches libfabric and
 * everything sent is lost: for exit handlers, and before wire_ofi_close.
 */
void wire_ofi_mute(struct wire_ofi *ofi);
/* In a forked child: close its copies of the sockets, so that peers see the parent's death. */
void wire_ofi_forget(struct wire_ofi *ofi);

#endif
