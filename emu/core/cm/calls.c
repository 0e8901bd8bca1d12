// SPDX-License-Identifier: BSD-2-Clause
/* The calls of emu/cm.h on ids. */
#include <string.h>

#include "cm/conn.h"
#include "cm/out.h"
#include "cm/send.h"
#include "cm/verify.h"
#include "err.h"

/* ---- asking ------------------------------------------------------------------------------ */

static bool address_set(const struct emu_cm_addr *addr)
{
	static const struct emu_gid any;

	return addr->port && memcmp(&addr->ip, &any, sizeof(any)) != 0;
}

static bool same_family(const struct emu_gid *a, const struct emu_gid *b)
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };

	return !memcmp(a, mapped, sizeof(mapped)) == !memcmp(b, mapped, sizeof(mapped));
}

static bool sane(const struct emu_cm_connect *c, enum emu_cm_kind kind)
{
	return emu_cm_ps_known(c->ps) && address_set(&c->src) && address_set(&c->dst) &&
	       same_family(&c->src.ip, &c->dst.ip) && emu_cm_params_sane(kind, &c->params);
}

static int ask(struct emu_dev *dev, const struct emu_cm_connect *c, enum emu_cm_kind kind,
	       void *user, struct emu_cm_id **out)
{
	const struct emu_cm_in nothing = { 0 };
	struct emu_cm_id *id;

	if (!dev->slots || !sane(c, kind))
		return -EMU_EINVAL;
	id = emu_cm_id_new(dev->cm, c->ps);
	if (!id)
		return -EMU_ENOMEM;
	id->user = user;
	id->src = c->src;
	id->dst = c->dst;
	id->local_qpn = c->params.qpn;
	id->route.local = c->src.ip;
	id->route.remote = c->dst.ip;
	if (!emu_cm_prepare(id, kind, &c->params)) {
		emu_cm_id_free(id);
		return -EMU_EINVAL;
	}
	*out = id;
	return emu_cm_do(id, kind == EMU_CM_MSG_REQ ? EMU_CM_ON_CONNECT : EMU_CM_ON_SIDR_CONNECT,
			 &nothing);
}

int emu_cm_connect(struct emu_dev *dev, const struct emu_cm_connect *connect, void *user,
		   struct emu_cm_id **out)
{
	return ask(dev, connect, EMU_CM_MSG_REQ, user, out);
}

int emu_cm_sidr_connect(struct emu_dev *dev, const struct emu_cm_connect *connect, void *user,
			struct emu_cm_id **out)
{
	return ask(dev, connect, EMU_CM_MSG_SIDR_REQ, user, out);
}

void emu_cm_found(struct emu_dev *dev, uint32_t cookie, uint32_t slot)
{
	const struct emu_cm_in nothing = { 0 };
	struct emu_cm_id *id = emu_cm_id_get(dev->cm, cookie);
	uint32_t qpn = slot << EMU_SLOT_SHIFT | EMU_CM_QP;
	struct wire_peer *peer;

	if (!id || slot >= EMU_SLOT_QPNS || !emu_cm_can(id, EMU_CM_ON_FOUND))
		return;
	peer = dev->env->peer_get(dev->host, &id->route.remote, qpn);
	if (!peer)
		return;
	if (id->route.peer)
		id->route.peer->ops->put(id->route.peer);
	emu_cm_stop_probing(id);
	id->route.peer = peer;
	id->route.qpn = qpn;
	emu_cm_do(id, EMU_CM_ON_FOUND, &nothing);
}

void emu_cm_refused(struct emu_dev *dev, uint32_t cookie)
{
	const struct emu_cm_in nothing = { 0 };
	struct emu_cm_id *id = emu_cm_id_get(dev->cm, cookie);

	if (id)
		emu_cm_do(id, EMU_CM_ON_REFUSED, &nothing);
}

/* ---- answering ----------------------------------------------------------------------------- */

void emu_cm_taken(struct emu_cm_id *id)
{
	emu_cm_id_take(id);
}

void emu_cm_set_user(struct emu_cm_id *id, void *user)
{
	id->user = user;
}

int emu_cm_accept(struct emu_cm_id *id, const struct emu_cm_params *params)
{
	const struct emu_cm_in in = { .params = params };

	if (!emu_cm_params_sane(EMU_CM_MSG_REP, params) || !emu_cm_can(id, EMU_CM_ON_ACCEPT))
		return -EMU_EINVAL;
	emu_cm_id_take(id);
	return emu_cm_do(id, EMU_CM_ON_ACCEPT, &in);
}

int emu_cm_reject(struct emu_cm_id *id, enum emu_cm_reason reason, const void *data, uint32_t len)
{
	const struct emu_cm_in in = { .reason = reason, .data = data, .len = len };

	if (len > EMU_CM_REJ_DATA || (len && !data) || !emu_cm_can(id, EMU_CM_ON_REJECT))
		return -EMU_EINVAL;
	emu_cm_id_take(id);
	return emu_cm_do(id, EMU_CM_ON_REJECT, &in);
}

int emu_cm_sidr_reply(struct emu_cm_id *id, enum emu_cm_sidr_status status,
		      const struct emu_cm_params *params)
{
	const struct emu_cm_in in = { .params = params, .reason = status };

	if (!emu_cm_params_sane(EMU_CM_MSG_SIDR_REP, params) ||
	    !emu_cm_can(id, EMU_CM_ON_SIDR_REPLY))
		return -EMU_EINVAL;
	emu_cm_id_take(id);
	return emu_cm_do(id, EMU_CM_ON_SIDR_REPLY, &in);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int call(struct emu_cm_id *id, enum emu_cm_on on)
{
	const struct emu_cm_in nothing = { 0 };

	return emu_cm_do(id, on, &nothing);
}

int emu_cm_establish(struct emu_cm_id *id)
{
	return call(id, EMU_CM_ON_ESTABLISH);
}

int emu_cm_disconnect(struct emu_cm_id *id)
{
	return call(id, EMU_CM_ON_DISCONNECT);
}

int emu_cm_notify(struct emu_cm_id *id)
{
	if (id->state == EMU_CM_ST_ESTABLISHED)
		return -EMU_EISCONN;
	return call(id, EMU_CM_ON_NOTIFY);
}

void emu_cm_destroy(struct emu_cm_id *id)
{
	emu_cm_id_take(id);
	id->orphan = true;
	call(id, EMU_CM_ON_DESTROY);
}

uint32_t emu_cm_count(const struct emu_dev *dev)
{
	return dev->cm->ids.used;
}
