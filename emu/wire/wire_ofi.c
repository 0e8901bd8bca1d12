/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The libfabric wire as the host sees it: opening, one pass, sleeping, closing.
 * Its parts: ofi_fabric (the library), ofi_cm (connections), ofi_link (life of
 * links and peers), ofi_send and ofi_recv (frames), ofi_sock (sockets below),
 * ofi_proof (the secret).
 */
#include "wire_ofi.h"

#include "ofi_cm.h"
#include "ofi_link.h"
#include "ofi_recv.h"
#include "ofi_send.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Looking at the event queue is a system call; connections can wait this long. */
#define EQ_INTERVAL_NS 100000u
#define STALL_NS 1000000u
/* Bytes of a batch that may wait for company: an ACK. */
#define LAZY 32

int wire_ofi_open(const struct sv_config *cfg, struct emu_dev *dev, struct wire_ofi **out)
{
	struct wire_ofi *ofi = calloc(1, sizeof(*ofi));
	int ret;

	if (!ofi)
		return -ENOMEM;
	ofi->cfg = cfg;
	ofi->dev = dev;
	ofi->eq_due = true;
	TAILQ_INIT(&ofi->links);
	TAILQ_INIT(&ofi->dead);
	TAILQ_INIT(&ofi->dirty);
	for (int i = 0; i < OFI_PEER_BUCKETS; i++)
		LIST_INIT(&ofi->peers[i]);
	ret = ofi_fabric_open(&ofi->fabric, cfg->provider);
	if (ret) {
		free(ofi);
		return ret;
	}
	ofi_sock_cloexec(ofi->fabric.eq_fd);
	ofi_sock_cloexec(ofi->fabric.cq_fd);
	*out = ofi;
	return 0;
}

int wire_ofi_listen(struct wire_ofi *ofi, uint32_t slot)
{
	bool first = !ofi->listeners;
	int ret = ofi_listen(ofi, slot);

	if (!ret && first)
		ofi->primary_slot = (uint16_t)slot;
	return ret;
}

struct wire_peer *wire_ofi_peer(struct wire_ofi *ofi, const struct wire_addr *addr)
{
	struct ofi_peer *peer = ofi_peer_get(ofi, addr);

	return peer ? &peer->wire : NULL;
}

/* ---- a pass --------------------------------------------------------------- */

void wire_ofi_tick(struct wire_ofi *ofi, uint64_t now_ns)
{
	ofi->now_ns = now_ns;
}

static void read_events_if_due(struct wire_ofi *ofi)
{
	if (!ofi->eq_due && !ofi->opening && ofi->now_ns - ofi->eq_read_ns < EQ_INTERVAL_NS)
		return;
	ofi->eq_due = false;
	ofi->eq_read_ns = ofi->now_ns;
	ofi_read_events(ofi);
}

static void break_failed(struct wire_ofi *ofi)
{
	struct ofi_link *link;

	while (ofi->any_failed) {
		ofi->any_failed = false;
		TAILQ_FOREACH(link, &ofi->links, entry) {
			if (!link->failed)
				continue;
			ofi->any_failed = true;
			ofi_link_break(link);
			break; /* the core may have broken others */
		}
	}
}

/* libfabric had no room: try again what waits, and let the core try. */
static void retry_stalled(struct wire_ofi *ofi)
{
	struct ofi_link *link;

	if (!ofi->any_stalled)
		return;
	ofi->any_stalled = false;
	TAILQ_FOREACH(link, &ofi->links, entry) {
		if (!link->stalled)
			continue;
		link->stalled = false;
		ofi_link_dirty(link);
		if (link->outgoing)
			ofi_peer_unblock(link->peer);
	}
}

bool wire_ofi_poll(struct wire_ofi *ofi)
{
	bool more;

	if (ofi->muted)
		return false;
	read_events_if_due(ofi);
	more = ofi_read_completions(ofi);
	break_failed(ofi);
	ofi_expire(ofi);
	retry_stalled(ofi);
	return more || ofi->any_failed;
}

static bool can_wait(const struct ofi_link *link)
{
	return link->batch && link->batch->used <= LAZY && !link->pong_due && !link->ping_due &&
	       !link->ping_out;
}

void wire_ofi_flush(struct wire_ofi *ofi, bool lazy)
{
	struct ofi_link *link, *next;

	if (ofi->muted)
		return;
	for (link = TAILQ_FIRST(&ofi->dirty); link; link = next) {
		next = TAILQ_NEXT(link, dirty_entry);
		if (lazy && can_wait(link))
			continue;
		TAILQ_REMOVE(&ofi->dirty, link, dirty_entry);
		link->dirty = false;
		ofi_link_flush(link);
	}
}

bool wire_ofi_deferred(const struct wire_ofi *ofi)
{
	return !ofi->muted && !TAILQ_EMPTY(&ofi->dirty);
}

const char *wire_ofi_notice(struct wire_ofi *ofi)
{
	const char *notice = ofi->noticed ? NULL : ofi->notice;

	ofi->noticed |= notice != NULL;
	return notice;
}

/* ---- sleeping --------------------------------------------------------------- */

uint64_t wire_ofi_deadline(const struct wire_ofi *ofi)
{
	if (ofi->muted)
		return UINT64_MAX;
	if (ofi->any_failed)
		return ofi->now_ns;
	return ofi->any_stalled ? ofi->now_ns + STALL_NS : ofi_expiry(ofi);
}

void wire_ofi_confirm(struct wire_ofi *ofi)
{
	struct ofi_link *link;

	if (ofi->muted)
		return;
	TAILQ_FOREACH(link, &ofi->links, entry) {
		if (link->state != OFI_LINK_UP || link->failed || link->injected == link->confirmed)
			continue;
		link->confirm_due = true;
		ofi_link_dirty(link);
	}
}

bool wire_ofi_sending(const struct wire_ofi *ofi)
{
	return !ofi->muted && (ofi->busy || !TAILQ_EMPTY(&ofi->dirty) || ofi->any_stalled);
}

void wire_ofi_wait_fds(const struct wire_ofi *ofi, int fds[WIRE_OFI_FDS])
{
	fds[0] = ofi->fabric.cq_fd;
	fds[1] = ofi->fabric.eq_fd;
}

bool wire_ofi_may_sleep(struct wire_ofi *ofi)
{
	if (ofi->muted)
		return true;
	/* Whoever wakes up looks at both queues. */
	ofi->eq_due = true;
	return !ofi->any_failed && ofi_fabric_may_sleep(&ofi->fabric);
}

/* ---- the end ------------------------------------------------------------------ */

void wire_ofi_mute(struct wire_ofi *ofi)
{
	struct ofi_link *link;

	if (ofi->muted)
		return;
	while ((link = TAILQ_FIRST(&ofi->links)))
		ofi_link_break(link);
	for (unsigned i = 0; i < ofi->listeners; i++)
		fi_close(&ofi->listener[i].pep->fid);
	ofi->listeners = 0;
	ofi->muted = true;
}

void wire_ofi_close(struct wire_ofi *ofi)
{
	struct ofi_peer *peer;

	wire_ofi_mute(ofi);
	ofi_fabric_close(&ofi->fabric);
	ofi_link_reap(ofi);
	for (int i = 0; i < OFI_PEER_BUCKETS; i++) {
		while ((peer = LIST_FIRST(&ofi->peers[i]))) {
			LIST_REMOVE(peer, entry);
			free(peer);
		}
	}
	free(ofi);
}

void wire_ofi_forget(struct wire_ofi *ofi)
{
	struct ofi_link *link;

	ofi->muted = true;
	TAILQ_FOREACH(link, &ofi->links, entry)
		if (link->fd >= 0)
			close(link->fd);
	for (unsigned i = 0; i < ofi->listeners; i++)
		if (ofi->listener[i].fd >= 0)
			close(ofi->listener[i].fd);
	close(ofi->fabric.cq_fd);
	close(ofi->fabric.eq_fd);
}
