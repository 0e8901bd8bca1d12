// SPDX-License-Identifier: BSD-2-Clause
#include "cm/listen.h"

#include <stdlib.h>
#include <string.h>

#include "cm/out.h"
#include "cm/verify.h"
#include "err.h"

#define DEFAULT_BACKLOG 1024

static const struct emu_gid any;

static bool same(const struct emu_gid *a, const struct emu_gid *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool is_ipv4(const struct emu_gid *ip)
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };

	return memcmp(ip, mapped, sizeof(mapped)) == 0;
}

/* ---- listeners ------------------------------------------------------------------------ */

static bool takes(const struct emu_cm_listen *args, const struct emu_gid *ip)
{
	if (!same(&args->addr.ip, &any))
		return same(&args->addr.ip, ip);
	return args->family == EMU_CM_ANY_FAMILY ||
	       (args->family == EMU_CM_IPV4_ONLY) == is_ipv4(ip);
}

/* The one of that very address comes before one of "any". */
static struct emu_cm_listener *find(const struct emu_cm *cm, uint16_t ps,
				    const struct emu_cm_addr *dst)
{
	struct emu_cm_listener *l, *best = NULL;

	for (l = cm->listeners; l; l = l->next) {
		if (l->args.ps != ps || l->args.addr.port != dst->port || !takes(&l->args, &dst->ip))
			continue;
		if (!best || same(&best->args.addr.ip, &any))
			best = l;
	}
	return best;
}

static bool overlap(const struct emu_cm_listen *a, const struct emu_cm_listen *b)
{
	if (a->ps != b->ps || a->addr.port != b->addr.port)
		return false;
	if (!same(&b->addr.ip, &any))
		return takes(a, &b->addr.ip);
	if (!same(&a->addr.ip, &any))
		return takes(b, &a->addr.ip);
	return a->family == EMU_CM_ANY_FAMILY || b->family == EMU_CM_ANY_FAMILY ||
	       a->family == b->family;
}

bool emu_cm_listening(const struct emu_dev *dev, uint16_t ps, const struct emu_cm_addr *dst)
{
	return find(dev->cm, ps, dst);
}

void emu_cm_listener_set_user(struct emu_cm_listener *listener, void *user)
{
	listener->args.user = user;
}

void emu_cm_listener_set_backlog(struct emu_cm_listener *listener, uint32_t backlog)
{
	listener->args.backlog = backlog ? backlog : DEFAULT_BACKLOG;
}

int emu_cm_listen(struct emu_dev *dev, const struct emu_cm_listen *args,
		  struct emu_cm_listener **out)
{
	struct emu_cm *cm = dev->cm;
	struct emu_cm_listener *l;

	if (!emu_cm_ps_known(args->ps) || !args->addr.port)
		return -EMU_EINVAL;
	for (l = cm->listeners; l; l = l->next)
		if (overlap(&l->args, args))
			return -EMU_EADDRINUSE;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -EMU_ENOMEM;
	l->cm = cm;
	l->args = *args;
	emu_cm_listener_set_backlog(l, args->backlog);
	l->next = cm->listeners;
	cm->listeners = l;
	*out = l;
	return 0;
}

void emu_cm_unlisten(struct emu_cm_listener *listener)
{
	struct emu_cm *cm = listener->cm;
	struct emu_cm_listener **link = &cm->listeners;

	for (uint32_t i = cm->ids.first; listener->pending && i < cm->ids.high; i++) {
		struct emu_cm_id *id = emu_cm_id_at(cm, i);

		if (id && id->listener == listener)
			emu_cm_destroy(id);
	}
	while (*link != listener)
		link = &(*link)->next;
	*link = listener->next;
	free(listener);
}

/* ---- answers without an id ---------------------------------------------------------------- */

void emu_cm_answer(struct emu_cm *cm, const struct emu_cm_route *route,
		   const struct emu_cm_msg *msg, enum emu_cm_kind kind, uint32_t reason)
{
	const struct emu_cm_msg answer = {
		.kind = kind,
		.tid = msg->tid,
		.local_id = msg->remote_id,
		.remote_id = msg->local_id,
		.about = msg->kind == EMU_CM_MSG_REQ ? EMU_CM_ABOUT_REQ :
			 msg->kind == EMU_CM_MSG_REP ? EMU_CM_ABOUT_REP :
						       EMU_CM_ABOUT_OTHER,
		.reason = reason,
		.service_id = msg->service_id,
	};

	emu_cm_out_msg(cm, route, &answer);
}

/* ---- requests ------------------------------------------------------------------------------ */

static void refuse(struct emu_cm *cm, const struct emu_cm_route *route,
		   const struct emu_cm_msg *msg, uint32_t reason)
{
	if (msg->kind == EMU_CM_MSG_REQ)
		emu_cm_answer(cm, route, msg, EMU_CM_MSG_REJ, reason);
	else
		emu_cm_answer(cm, route, msg, EMU_CM_MSG_SIDR_REP, EMU_CM_SIDR_UNSUPPORTED);
}

/*
 * IBTA 12.9.8.3.1: the QP that asks is in a connection already. If it belongs
 * to another life of that process, the connection died with it.
 */
static bool is_stale(struct emu_cm *cm, const struct wire_peer *peer,
		     const struct emu_cm_msg *msg)
{
	struct emu_cm_id *old;

	if (msg->kind != EMU_CM_MSG_REQ)
		return false;
	old = emu_cm_find_qpn(cm, NULL, peer, msg->qpn);
	if (old && old->remote_guid != msg->ca_guid && emu_cm_can(old, EMU_CM_ON_PEER_GONE)) {
		emu_cm_bury(old);
		return false;
	}
	return old;
}

static enum emu_cm_on on_request(const struct emu_cm_msg *msg)
{
	return msg->kind == EMU_CM_MSG_REQ ? EMU_CM_ON_REQ : EMU_CM_ON_SIDR_REQ;
}

static void open_id(struct emu_cm *cm, struct emu_cm_listener *listener,
		    struct emu_cm_route *route, const struct emu_cm_msg *msg)
{
	const struct emu_cm_in in = { .msg = msg };
	struct emu_cm_id *id = emu_cm_id_new(cm, msg->ps);

	if (!id)
		return;
	id->src = msg->dst;
	id->dst = msg->src;
	id->tid = msg->tid;
	id->route = *route;
	route->peer = NULL;
	id->listener = listener;
	listener->pending++;
	emu_cm_id_set_remote(id, msg);
	emu_cm_do(id, on_request(msg), &in);
}

void emu_cm_take_request(struct emu_cm *cm, struct emu_cm_route *back,
			 const struct emu_cm_msg *msg)
{
	struct emu_cm_listener *listener;
	struct emu_cm_id *known = emu_cm_find_remote(cm, back->peer, msg->local_id, msg->ca_guid);
	const struct emu_cm_in in = { .msg = msg };

	if (known) {
		emu_cm_do(known, on_request(msg), &in);
		return;
	}
	/* On RoCE v2 the ends of the path are the addresses themselves. */
	if (!same(&back->remote, &msg->src.ip) || !same(&back->local, &msg->dst.ip)) {
		cm->dev->counters.cm_dropped++;
		return;
	}
	listener = find(cm, msg->ps, &msg->dst);
	if (!listener)
		refuse(cm, back, msg, EMU_CM_REJ_INVALID_SERVICE_ID);
	else if (is_stale(cm, back->peer, msg))
		refuse(cm, back, msg, EMU_CM_REJ_STALE_CONN);
	else if (listener->pending >= listener->args.backlog)
		cm->dev->counters.cm_backlog_full++;
	else
		open_id(cm, listener, back, msg);
}
