/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections: listening, connecting, accepting, and the hello that both ends
 * exchange in the private data of the connection manager. Who may come in is
 * decided by address before the hello is looked at.
 */
#include "ofi_cm.h"

#include "ofi_link.h"
#include "ofi_send.h"

#include <errno.h>
#include <rdma/fi_errno.h>
#include <string.h>

#define OPENING_NS 2000000000u
#define HELLO_VERSION 1
#define HELLO_SECRET 1 /* flag: prove that you know the secret */
#define EVENTS_PER_READ 64
#define HOST_SLOTS 4096u

struct hello {
	uint8_t magic[4];
	uint8_t version;
	uint8_t flags;
	uint8_t slot[2]; /* network order: the primary slot of the sender */
	uint8_t nonce[OFI_NONCE_SIZE];
	uint8_t proof[OFI_PROOF_SIZE]; /* of the accepter */
};

union event {
	struct fi_eq_cm_entry entry;
	uint8_t space[sizeof(struct fi_eq_cm_entry) + 256]; /* private data behind it */
};

static const uint8_t magic[4] = { 's', 'v', 'r', 'b' };

static uint8_t hello_flags(const struct wire_ofi *ofi)
{
	return *ofi->cfg->secret ? HELLO_SECRET : 0;
}

static void make_hello(const struct wire_ofi *ofi, struct hello *hello, const uint8_t *nonce)
{
	memset(hello, 0, sizeof(*hello));
	memcpy(hello->magic, magic, sizeof(magic));
	hello->version = HELLO_VERSION;
	hello->flags = hello_flags(ofi);
	hello->slot[0] = (uint8_t)(ofi->primary_slot >> 8);
	hello->slot[1] = (uint8_t)ofi->primary_slot;
	memcpy(hello->nonce, nonce, OFI_NONCE_SIZE);
}

static bool check_hello(struct wire_ofi *ofi, const uint8_t *data, size_t len,
			struct hello *hello, uint16_t *slot)
{
	if (len < sizeof(*hello))
		return false;
	memcpy(hello, data, sizeof(*hello));
	*slot = (uint16_t)(hello->slot[0] << 8 | hello->slot[1]);
	if (memcmp(hello->magic, magic, sizeof(magic)) || hello->version != HELLO_VERSION ||
	    *slot >= HOST_SLOTS)
		return false;
	if (hello->flags != hello_flags(ofi)) {
		ofi->notice = "a peer was refused: only one of us has a SOFTVERBS_SECRET";
		return false;
	}
	return true;
}

/* ---- sockets below -------------------------------------------------------------- */

static void find_socket(struct ofi_link *link, int hint, bool connected)
{
	union ofi_sockaddr local = { 0 }, peer = { 0 };
	size_t len = sizeof(local);

	if (fi_getname(&link->ep->fid, &local, &len))
		return;
	len = sizeof(peer);
	if (connected && fi_getpeer(link->ep, &peer, &len))
		return;
	link->fd = ofi_sock_find(hint, &local, connected ? &peer : NULL);
	if (link->fd < 0)
		return;
	ofi_sock_cloexec(link->fd);
	if (link->outgoing && ofi_sock_allowed(&link->peer->addr.ip, NULL, 0))
		ofi_sock_unpace(link->fd);
	if (!link->outgoing && link->ofi->cfg->allow_count)
		ofi_sock_unrestrict(link->fd);
}

/* ---- listening -------------------------------------------------------------------- */

static int listen_at(struct wire_ofi *ofi, const struct in6_addr *ip, uint16_t port)
{
	struct ofi_listener *l = &ofi->listener[ofi->listeners];
	union ofi_sockaddr addr;
	struct fi_info info;
	int hint = ofi_sock_next(), ret;

	if (ofi->listeners == OFI_LISTENERS)
		return -ENOSPC;
	ofi_sockaddr_set(&addr, ip, 0, port);
	ofi_fabric_info(&ofi->fabric, &addr.sa, NULL, &info);
	ret = fi_passive_ep(ofi->fabric.fabric, &info, &l->pep, NULL);
	if (ret)
		return ret;
	l->fd = ofi_sock_find(hint, &addr, NULL);
	if (l->fd >= 0) {
		ofi_sock_cloexec(l->fd);
		ofi_sock_impatient(l->fd);
		if (ofi->cfg->allow_count)
			ofi_sock_restrict(l->fd, ofi->cfg->allow, ofi->cfg->allow_count);
	}
	ret = fi_pep_bind(l->pep, &ofi->fabric.eq->fid, 0);
	if (!ret)
		ret = fi_listen(l->pep);
	if (ret) {
		fi_close(&l->pep->fid);
		return ret;
	}
	ofi->listeners++;
	return 0;
}

int ofi_listen(struct wire_ofi *ofi, uint32_t slot)
{
	static const struct in6_addr loopback = { .s6_addr = { [10] = 0xff, 0xff, 127, 0, 0, 1 } };
	static const struct in6_addr any4 = { .s6_addr = { [10] = 0xff, 0xff } };
	uint16_t port = (uint16_t)(ofi->cfg->port_base + slot);
	int ret, ret4;

	if (!ofi->cfg->allow_count)
		return listen_at(ofi, &loopback, port);
	/* The IPv6 one usually serves both families, then the other cannot be had. */
	ret = listen_at(ofi, &in6addr_any, port);
	if (ret == -EADDRINUSE)
		return ret;
	ret4 = listen_at(ofi, &any4, port);
	return ret ? ret4 : 0;
}

/* ---- connecting ----------------------------------------------------------------- */

void ofi_connect(struct ofi_peer *peer)
{
	struct wire_ofi *ofi = peer->ofi;
	int hint = ofi_sock_next();
	union ofi_sockaddr dest;
	struct ofi_link *link;
	struct fi_info info;
	struct hello hello;

	ofi_sockaddr_set(&dest, &peer->addr.ip, peer->addr.scope,
			 (uint16_t)(ofi->cfg->port_base + peer->addr.slot));
	ofi_fabric_info(&ofi->fabric, NULL, &dest.sa, &info);
	if (ofi_link_open(ofi, peer, true, &info, &link))
		return;
	ofi_nonce(link->transcript.opener_nonce);
	link->transcript.opener_slot = ofi->primary_slot;
	make_hello(ofi, &hello, link->transcript.opener_nonce);
	if (fi_connect(link->ep, &dest, &hello, sizeof(hello))) {
		ofi_link_fail(link);
		return;
	}
	find_socket(link, hint, false);
	ofi->eq_due = true;
}

static void link_connected(struct ofi_link *link, const uint8_t *data, size_t len)
{
	struct wire_ofi *ofi = link->ofi;
	struct hello hello;

	if (link->state != OFI_LINK_OPENING)
		return;
	if (link->outgoing) {
		if (!check_hello(ofi, data, len, &hello, &link->transcript.accepter_slot)) {
			ofi_link_break(link);
			return;
		}
		memcpy(link->transcript.accepter_nonce, hello.nonce, OFI_NONCE_SIZE);
		if (*ofi->cfg->secret &&
		    !ofi_proven(ofi->cfg->secret, false, &link->transcript, hello.proof)) {
			ofi->notice = "a peer was refused: it has another SOFTVERBS_SECRET";
			ofi_link_break(link);
			return;
		}
	}
	/* Who has to prove something has as long for it as for the rest of the opening. */
	if (link->outgoing || link->proven)
		ofi_link_up(link);
	if (link->outgoing)
		ofi_link_ready(link);
}

/* ---- accepting -------------------------------------------------------------------- */

/* NULL: it may not come in. */
static struct ofi_peer *admit(struct wire_ofi *ofi, const union event *event, size_t len,
			      struct hello *hello)
{
	const union ofi_sockaddr *from = event->entry.info->dest_addr;
	struct wire_addr addr = { .scope = 0 };
	uint16_t slot;

	if (ofi->incoming >= OFI_INCOMING_MAX)
		return NULL;
	if (!from || event->entry.info->dest_addrlen < sizeof(from->in))
		return NULL;
	addr.ip = ofi_sockaddr_ip(from);
	if (!ofi_sock_allowed(&addr.ip, ofi->cfg->allow, ofi->cfg->allow_count))
		return NULL;
	if (!check_hello(ofi, event->entry.data, len, hello, &slot))
		return NULL;
	if (IN6_IS_ADDR_LINKLOCAL(&addr.ip))
		addr.scope = from->in6.sin6_scope_id;
	addr.slot = slot;
	return ofi_peer_get(ofi, &addr);
}

/* False: no endpoint could be made, the request is still to be answered. */
static bool accept_link(struct wire_ofi *ofi, struct ofi_peer *peer, struct fi_info *info,
			const struct hello *hello)
{
	size_t len = sizeof(union ofi_sockaddr);
	struct ofi_transcript *t;
	struct ofi_link *link;
	struct hello reply;

	if (ofi_link_open(ofi, peer, false, info, &link))
		return link;
	/* A peer has a link to each of our ports. Without an answer: as if we had one. */
	(void)fi_getname(&link->ep->fid, &link->local, &len);
	ofi_link_displace(link);
	t = &link->transcript;
	memcpy(t->opener_nonce, hello->nonce, OFI_NONCE_SIZE);
	t->opener_slot = (uint16_t)(hello->slot[0] << 8 | hello->slot[1]);
	ofi_nonce(t->accepter_nonce);
	t->accepter_slot = ofi->primary_slot;
	make_hello(ofi, &reply, t->accepter_nonce);
	link->proven = !*ofi->cfg->secret;
	if (!link->proven)
		ofi_prove(ofi->cfg->secret, false, t, reply.proof);
	if (fi_accept(link->ep, &reply, sizeof(reply)))
		ofi_link_fail(link);
	else
		find_socket(link, -1, true);
	return true;
}

static void connection_request(struct wire_ofi *ofi, union event *event, size_t len)
{
	struct fi_info *info = event->entry.info;
	struct fid_pep *pep = (struct fid_pep *)event->entry.fid;
	struct ofi_peer *peer;
	struct hello hello;

	peer = admit(ofi, event, len, &hello);
	if (!peer || !accept_link(ofi, peer, info, &hello))
		fi_reject(pep, info->handle, NULL, 0);
	if (peer)
		ofi_peer_put(peer);
	ofi_fabric_freeinfo(info);
}

/* ---- events ------------------------------------------------------------------------- */

/* By comparison, not by what the event points at: that may be gone. */
static struct ofi_link *link_of(struct wire_ofi *ofi, fid_t fid)
{
	struct ofi_link *link;

	TAILQ_FOREACH(link, &ofi->links, entry)
		if (link->ep && &link->ep->fid == fid)
			return link;
	return NULL;
}

static void read_error(struct wire_ofi *ofi)
{
	struct fi_eq_err_entry err = { 0 };
	struct ofi_link *link;

	if (fi_eq_readerr(ofi->fabric.eq, &err, 0) < 0)
		return;
	link = link_of(ofi, err.fid);
	if (link)
		ofi_link_break(link);
}

static void take_event(struct wire_ofi *ofi, uint32_t type, union event *event, size_t len)
{
	struct ofi_link *link;

	if (type == FI_CONNREQ) {
		connection_request(ofi, event, len);
		return;
	}
	link = link_of(ofi, event->entry.fid);
	if (!link)
		return;
	if (type == FI_CONNECTED)
		link_connected(link, event->entry.data, len);
	else if (type == FI_SHUTDOWN)
		ofi_link_fail(link); /* once what came before it has been read */
}

void ofi_read_events(struct wire_ofi *ofi)
{
	union event event;
	uint32_t type;
	ssize_t n;

	for (int i = 0; i < EVENTS_PER_READ; i++) {
		n = fi_eq_read(ofi->fabric.eq, &type, &event, sizeof(event), 0);
		if (n == -FI_EAVAIL)
			read_error(ofi);
		else if (n >= (ssize_t)sizeof(event.entry))
			take_event(ofi, type, &event, (size_t)n - sizeof(event.entry));
		else
			break;
	}
}

void ofi_expire(struct wire_ofi *ofi)
{
	struct ofi_link *link, *next;

	if (!ofi->opening)
		return;
	for (link = TAILQ_FIRST(&ofi->links); link; link = next) {
		next = TAILQ_NEXT(link, entry);
		if (link->state == OFI_LINK_OPENING &&
		    ofi->now_ns - link->opened_ns >= OPENING_NS) {
			ofi_link_break(link);
			next = TAILQ_FIRST(&ofi->links); /* the core may have broken others */
		}
	}
}

uint64_t ofi_expiry(const struct wire_ofi *ofi)
{
	const struct ofi_link *link;

	if (!ofi->opening)
		return UINT64_MAX;
	/* In the order of opening: the first one that is not up is the oldest. */
	TAILQ_FOREACH(link, &ofi->links, entry)
		if (link->state == OFI_LINK_OPENING)
			return link->opened_ns + OPENING_NS;
	return UINT64_MAX;
}
