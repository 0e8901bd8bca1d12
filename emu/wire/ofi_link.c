/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Life of peers and links. A link's memory outlives its endpoint until the
 * completion queue has been read empty once, because cancelled operations still
 * name it; user memory is free as soon as the endpoint is closed.
 */
#include "ofi_link.h"

#include "ofi_send.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Between two attempts to connect. */
#define RETRY_NS 10000000u
/* Only PONGs come back on a link that we opened. */
#define BACK_SIZE 64

/* ---- peers ---------------------------------------------------------------- */

static unsigned bucket_of(const struct wire_addr *addr)
{
	uint32_t hash = addr->slot * 2654435761u;

	for (int i = 0; i < 16; i++)
		hash = hash * 31 + addr->ip.s6_addr[i];
	return hash % OFI_PEER_BUCKETS;
}

static bool same_addr(const struct wire_addr *a, const struct wire_addr *b)
{
	return a->slot == b->slot && a->scope == b->scope && IN6_ARE_ADDR_EQUAL(&a->ip, &b->ip);
}

struct ofi_peer *ofi_peer_get(struct wire_ofi *ofi, const struct wire_addr *addr)
{
	struct ofi_peers *bucket = &ofi->peers[bucket_of(addr)];
	struct ofi_peer *peer;

	LIST_FOREACH(peer, bucket, entry) {
		if (same_addr(&peer->addr, addr)) {
			peer->refs++;
			return peer;
		}
	}
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	peer->wire.ops = &ofi_wire_ops;
	peer->wire.max_payload = OFI_MAX_PAYLOAD;
	peer->wire.host =
		ofi_sock_allowed(&addr->ip, NULL, 0) ? WIRE_THIS_HOST : WIRE_OTHER_HOSTS;
	peer->ofi = ofi;
	peer->addr = *addr;
	peer->refs = 1;
	LIST_INSERT_HEAD(bucket, peer, entry);
	return peer;
}

static void free_unused_peer(struct ofi_peer *peer)
{
	/* A link stays up without users: QPs come and go faster than connections. */
	if (peer->refs || peer->out)
		return;
	LIST_REMOVE(peer, entry);
	free(peer);
}

void ofi_peer_put(struct ofi_peer *peer)
{
	peer->refs--;
	free_unused_peer(peer);
}

void ofi_peer_unblock(struct ofi_peer *peer)
{
	if (!peer->blocked)
		return;
	peer->blocked = false;
	emu_wire_writable(peer->ofi->dev, &peer->wire);
	ofi_pong_peer(peer);
}

/* ---- links ---------------------------------------------------------------- */

static void free_link(struct ofi_link *link)
{
	for (int i = 0; i < OFI_SENDS; i++)
		free(link->send[i].buf);
	free(link->recv_memory);
	free(link);
}

static struct ofi_link *alloc_link(bool outgoing)
{
	size_t size = outgoing ? BACK_SIZE : OFI_FRAME_MAX;
	struct ofi_link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->recv_memory = malloc(OFI_RECVS * size);
	if (!link->recv_memory) {
		free(link);
		return NULL;
	}
	link->fd = -1;
	link->outgoing = outgoing;
	for (int i = 0; i < OFI_RECVS; i++) {
		link->recv[i].link = link;
		link->recv[i].kind = OFI_OP_RECV;
		link->recv[i].buf = link->recv_memory + (size_t)i * size;
		link->recv[i].size = size;
	}
	for (int i = 0; i < OFI_SENDS; i++) {
		link->send[i].link = link;
		link->send[i].next = link->free_ops;
		link->free_ops = &link->send[i];
	}
	link->pong.link = link;
	link->pong.kind = OFI_OP_PONG;
	return link;
}

static int post(struct ofi_op *op)
{
	ssize_t ret = fi_recv(op->link->ep, op->buf, op->size, NULL, FI_ADDR_UNSPEC, op);

	op->busy = !ret;
	return (int)ret;
}

static int open_endpoint(struct ofi_link *link, struct fi_info *info)
{
	struct ofi_fabric *f = &link->ofi->fabric;
	int ret;

	ret = fi_endpoint(f->domain, info, &link->ep, link);
	if (ret)
		return ret;
	ret = fi_ep_bind(link->ep, &f->eq->fid, 0);
	if (!ret)
		ret = fi_ep_bind(link->ep, &f->cq->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
	if (!ret)
		ret = fi_ep_bind(link->ep, &f->cq->fid, FI_RECV);
	if (!ret)
		ret = fi_enable(link->ep);
	for (int i = 0; !ret && i < OFI_RECVS; i++)
		ret = post(&link->recv[i]);
	return ret;
}

int ofi_link_open(struct wire_ofi *ofi, struct ofi_peer *peer, bool outgoing,
		  struct fi_info *info, struct ofi_link **out)
{
	struct ofi_link *link = alloc_link(outgoing);
	int ret;

	*out = NULL;
	if (!link)
		return -ENOMEM;
	link->ofi = ofi;
	link->peer = peer;
	link->opened_ns = ofi->now_ns;
	link->state = OFI_LINK_OPENING;
	TAILQ_INSERT_TAIL(&ofi->links, link, entry);
	ofi->opening++;
	if (outgoing) {
		peer->out = link;
	} else {
		peer->refs++;
		ofi->incoming++;
	}
	ret = open_endpoint(link, info);
	if (ret)
		ofi_link_fail(link);
	*out = link->ep ? link : NULL;
	return ret;
}

void ofi_link_displace(const struct ofi_link *link)
{
	struct ofi_link *it, *oldest = NULL;
	unsigned count = 0;

	TAILQ_FOREACH(it, &link->ofi->links, entry) {
		if (it->outgoing || it->peer != link->peer || it->state != link->state ||
		    memcmp(&it->local, &link->local, sizeof(it->local)))
			continue;
		if (!oldest)
			oldest = it;
		count++;
	}
	if (count > OFI_INCOMING_PER_PEER)
		ofi_link_break(oldest);
}

void ofi_link_up(struct ofi_link *link)
{
	if (link->state != OFI_LINK_OPENING)
		return;
	link->state = OFI_LINK_UP;
	link->ofi->opening--;
	if (!link->outgoing)
		ofi_link_displace(link);
}

void ofi_link_repost(struct ofi_op *op)
{
	if (op->link->state != OFI_LINK_DEAD && post(op))
		ofi_link_fail(op->link);
}

void ofi_link_fail(struct ofi_link *link)
{
	link->failed = true;
	link->ofi->any_failed = true;
}

void ofi_link_dirty(struct ofi_link *link)
{
	if (link->dirty)
		return;
	link->dirty = true;
	TAILQ_INSERT_TAIL(&link->ofi->dirty, link, dirty_entry);
}

/* The packets that libfabric read from user memory are not read any more. */
static void release_sends(struct ofi_link *link)
{
	for (int i = 0; i < OFI_SENDS; i++) {
		struct ofi_op *op = &link->send[i];

		if (!op->busy)
			continue;
		op->busy = false;
		link->ofi->busy--;
		if (op->kind == OFI_OP_HELD)
			emu_wire_tx_done(link->ofi->dev, op->tx);
	}
	if (link->pong.busy) {
		link->pong.busy = false;
		link->ofi->busy--;
	}
}

static void part_from_peer(struct ofi_link *link, bool was_opening)
{
	struct ofi_peer *peer = link->peer;
	struct wire_ofi *ofi = link->ofi;

	if (!link->outgoing) {
		ofi->incoming--;
		ofi_peer_put(peer);
		return;
	}
	peer->refs++; /* the core may drop the last one in what follows */
	peer->out = NULL;
	peer->retry_ns = link->opened_ns + RETRY_NS;
	release_sends(link);
	if (was_opening) {
		peer->lose_next = true;
		peer->retry_ns = ofi->now_ns + RETRY_NS;
	}
	if (!was_opening || peer->probed) {
		peer->probed = false;
		emu_wire_gone(ofi->dev, &peer->wire);
	}
	ofi_peer_unblock(peer);
	ofi_peer_put(peer);
}

void ofi_link_break(struct ofi_link *link)
{
	struct wire_ofi *ofi = link->ofi;
	bool was_opening = link->state == OFI_LINK_OPENING;

	if (link->state == OFI_LINK_DEAD)
		return;
	link->state = OFI_LINK_DEAD;
	if (was_opening)
		ofi->opening--;
	if (link->dirty)
		TAILQ_REMOVE(&ofi->dirty, link, dirty_entry);
	link->dirty = false;
	TAILQ_REMOVE(&ofi->links, link, entry);
	TAILQ_INSERT_TAIL(&ofi->dead, link, entry);
	if (link->ep)
		fi_close(&link->ep->fid);
	link->ep = NULL;
	if (!link->outgoing)
		release_sends(link);
	part_from_peer(link, was_opening);
}

void ofi_link_reap(struct wire_ofi *ofi)
{
	struct ofi_link *link;

	while ((link = TAILQ_FIRST(&ofi->dead))) {
		TAILQ_REMOVE(&ofi->dead, link, entry);
		free_link(link);
	}
}
