// SPDX-License-Identifier: BSD-2-Clause
#include "dev.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cm/door.h"
#include "comp.h"
#include "err.h"
#include "mcast.h"
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "ud.h"

/* QPs served by one emu_run: bounds the time the device lock is held. */
#define RUN_QPS 64
/* QP numbers 0 and 1 are special (IBTA 3.5.10); spare a few more of slot 0. */
#define FIRST_QPN 16

const struct emu_limits emu_default_limits = {
	.max_qp = 16384,
	.max_qp_wr = 16384,
	.max_sge = 32,
	.max_inline = 1024,
	.max_cq = 16384,
	.max_cqe = 1 << 20,
	.max_mr = 65536,
	.max_pd = 16384,
	.max_ah = 65536,
	.max_srq = 16384,
	.max_srq_wr = 16384,
	.max_srq_sge = 32,
	.max_mcast_grp = 1024,
	.max_mcast_qp_attach = 256,
	.max_qp_rd_atom = 16,
	.max_msg_sz = 1u << 31,
	.max_mr_size = UINT64_MAX,
};

static bool config_sane(const struct emu_config *cfg)
{
	const struct emu_limits *l = &cfg->limits;

	return l->max_sge < EMU_TX_IOV_MAX && l->max_inline <= EMU_TX_COPY_MAX &&
	       l->max_qp_rd_atom <= UINT8_MAX && l->max_msg_sz <= 1u << 31 &&
	       l->max_mr <= 1u << 24 && l->max_cqe <= 1u << 30 && l->max_qp_wr <= 1u << 30 &&
	       l->max_srq_wr <= 1u << 30 && l->max_srq_sge <= EMU_TX_IOV_MAX &&
	       cfg->port.gid_tbl_len <= EMU_GIDS && cfg->port.active_mtu >= 1 &&
	       cfg->port.active_mtu <= 5 && cfg->cm.response_timeout <= 31 &&
	       cfg->cm.packet_life <= 30 && cfg->cm.max_retries <= 15;
}

int emu_dev_create(const struct emu_config *cfg, const struct emu_env *env, void *host,
		   struct emu_dev **out)
{
	struct emu_dev *dev;

	if (!config_sane(cfg))
		return -EMU_EINVAL;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -EMU_ENOMEM;
	dev->tx = calloc(1, sizeof(*dev->tx));
	if (!dev->tx) {
		free(dev);
		return -EMU_ENOMEM;
	}
	dev->cfg = *cfg;
	dev->env = env;
	dev->host = host;
	dev->mr_gen = cfg->seed;
	emu_idtab_init(&dev->mrs, 1, cfg->limits.max_mr + 1);
	if (emu_cm_init(dev)) {
		free(dev->tx);
		free(dev);
		return -EMU_ENOMEM;
	}
	*out = dev;
	return 0;
}

void emu_dev_destroy(struct emu_dev *dev)
{
	struct emu_tx *tx;

	assert(!dev->qps && !dev->srqs && !dev->cqs && !dev->pds && !dev->tx_held);
	emu_cm_fini(dev);
	for (uint32_t i = 0; i < dev->slots; i++)
		emu_idtab_fini(&dev->slot[i].qps);
	emu_idtab_fini(&dev->mrs);
	free(dev->mcasts);
	emu_timers_fini(&dev->timers);
	while ((tx = dev->tx_free)) {
		dev->tx_free = tx->next;
		free(tx);
	}
	free(dev->tx);
	free(dev);
}

const struct emu_config *emu_dev_config(const struct emu_dev *dev)
{
	return &dev->cfg;
}

const struct emu_counters *emu_dev_counters(const struct emu_dev *dev)
{
	return &dev->counters;
}

/* ---- QP numbers ---------------------------------------------------------- */

static struct emu_slot *find_slot(const struct emu_dev *dev, uint32_t number)
{
	for (uint32_t i = 0; i < dev->slots; i++)
		if (dev->slot[i].number == number)
			return (struct emu_slot *)&dev->slot[i];
	return NULL;
}

bool emu_dev_has_slot(const struct emu_dev *dev, uint32_t slot)
{
	return find_slot(dev, slot);
}

int emu_dev_add_slot(struct emu_dev *dev, uint32_t number)
{
	struct emu_slot *slot;

	if (find_slot(dev, number))
		return -EMU_EEXIST;
	if (dev->slots == EMU_SLOTS_MAX)
		return -EMU_ENOSPC;
	slot = &dev->slot[dev->slots++];
	slot->number = number;
	emu_idtab_init(&slot->qps, FIRST_QPN, EMU_SLOT_QPNS);
	return 0;
}

struct emu_qp *emu_dev_qp(const struct emu_dev *dev, uint32_t qpn)
{
	const struct emu_slot *slot = find_slot(dev, qpn >> EMU_SLOT_SHIFT);

	return slot ? emu_idtab_get(&slot->qps, qpn & (EMU_SLOT_QPNS - 1)) : NULL;
}

int emu_dev_qpn_get(struct emu_dev *dev, struct emu_qp *qp, uint32_t *qpn)
{
	uint32_t n;

	for (uint32_t i = 0; i < dev->slots; i++) {
		struct emu_slot *slot = &dev->slot[i];

		if (slot->qps.used == EMU_SLOT_QPNS - FIRST_QPN)
			continue;
		if (emu_idtab_add(&slot->qps, qp, &n))
			return -EMU_ENOMEM;
		*qpn = slot->number << EMU_SLOT_SHIFT | n;
		return 0;
	}
	return -EMU_ENOSPC;
}

void emu_dev_qpn_put(struct emu_dev *dev, uint32_t qpn)
{
	emu_idtab_del(&find_slot(dev, qpn >> EMU_SLOT_SHIFT)->qps, qpn & (EMU_SLOT_QPNS - 1));
}

/* ---- lists of QPs -------------------------------------------------------- */

static void append(struct emu_qp_list *list, struct emu_qp *qp)
{
	qp->list = list;
	qp->next = NULL;
	qp->prev = list->last;
	if (list->last)
		list->last->next = qp;
	else
		list->first = qp;
	list->last = qp;
}

static void unlink_qp(struct emu_qp *qp)
{
	struct emu_qp_list *list = qp->list;

	if (!list)
		return;
	*(qp->prev ? &qp->prev->next : &list->first) = qp->next;
	*(qp->next ? &qp->next->prev : &list->last) = qp->prev;
	qp->list = NULL;
}

static void move_to(struct emu_qp_list *list, struct emu_qp *qp)
{
	if (qp->list == list)
		return;
	unlink_qp(qp);
	append(list, qp);
}

void emu_dev_ready(struct emu_dev *dev, struct emu_qp *qp)
{
	/* A QP that waits for its peer is served when the peer is writable. */
	if (!qp->list)
		append(&dev->ready, qp);
}

void emu_dev_wait_writable(struct emu_dev *dev, struct emu_qp *qp)
{
	move_to(&dev->busy, qp);
}

void emu_qp_ring(struct emu_qp *qp)
{
	struct emu_dev *dev = qp->dev;
	struct emu_qp *first;

	/* Who sets the flag pushes; the engine clears it before it reads the rings. */
	if (atomic_exchange(&qp->rung, true))
		return;
	first = atomic_load_explicit(&dev->rung, memory_order_relaxed);
	do {
		qp->rung_next = first;
	} while (!atomic_compare_exchange_weak(&dev->rung, &first, qp));
}

static void collect_rung(struct emu_dev *dev)
{
	struct emu_qp *qp, *next;

	/* Sequentially consistent: not before what the caller stored to say that it looks. */
	if (!atomic_load(&dev->rung))
		return;
	for (qp = atomic_exchange(&dev->rung, NULL); qp; qp = next) {
		next = qp->rung_next;
		atomic_store(&qp->rung, false);
		emu_dev_ready(dev, qp);
	}
}

void emu_dev_unlist(struct emu_dev *dev, struct emu_qp *qp)
{
	collect_rung(dev);
	unlink_qp(qp);
}

/* ---- packets on their way out -------------------------------------------- */

struct emu_tx *emu_dev_tx(struct emu_dev *dev)
{
	dev->tx->qp = NULL;
	dev->tx->niov = 0;
	dev->tx->payload = 0;
	return dev->tx;
}

static void hold(struct emu_dev *dev, struct emu_tx *tx, struct wire_peer *peer)
{
	tx->peer = peer;
	tx->next = dev->tx_held;
	tx->link = &dev->tx_held;
	if (tx->next)
		tx->next->link = &tx->next;
	dev->tx_held = tx;
	for (uint32_t i = 0; i < tx->niov; i++)
		if (tx->mr[i])
			tx->mr[i]->inflight++;
}

enum wire_sent emu_dev_send(struct emu_dev *dev, struct wire_peer *peer)
{
	struct emu_tx *tx = dev->tx, *spare = dev->tx_free;
	enum wire_sent sent;

	/* Have the next tx ready before a wire may keep this one; no memory is a lost packet. */
	if (!spare && tx->payload > EMU_TX_COPY_MAX) {
		spare = calloc(1, sizeof(*spare));
		if (!spare)
			return WIRE_DONE;
		dev->tx_free = spare;
	}
	sent = peer->ops->send(peer, tx);
	if (sent == WIRE_HELD) {
		assert(tx->payload > EMU_TX_COPY_MAX);
		hold(dev, tx, peer);
		dev->tx = dev->tx_free;
		dev->tx_free = dev->tx->next;
	}
	if (sent == WIRE_DONE || sent == WIRE_HELD) {
		dev->counters.tx_packets++;
		dev->counters.tx_bytes += tx->payload;
	}
	return sent;
}

void emu_wire_tx_done(struct emu_dev *dev, struct emu_tx *tx)
{
	*tx->link = tx->next;
	if (tx->next)
		tx->next->link = tx->link;
	for (uint32_t i = 0; i < tx->niov; i++)
		if (tx->mr[i])
			tx->mr[i]->inflight--;
	if (tx->qp)
		emu_req_tx_done(tx->qp, tx->wqe);
	tx->next = dev->tx_free;
	dev->tx_free = tx;
}

void emu_dev_disown_tx(struct emu_dev *dev, const struct emu_qp *qp)
{
	for (struct emu_tx *tx = dev->tx_held; tx; tx = tx->next)
		if (tx->qp == qp)
			tx->qp = NULL;
}

static struct wire_peer *reader_of(const struct emu_dev *dev, const struct emu_mr *mr)
{
	for (const struct emu_tx *tx = dev->tx_held; tx; tx = tx->next) {
		for (uint32_t i = 0; tx->peer && i < tx->niov; i++) {
			if (tx->mr[i] == mr)
				return tx->peer;
		}
	}
	return NULL;
}

void emu_dev_abort_io(struct emu_dev *dev, const struct emu_mr *mr)
{
	struct wire_peer *peer;

	while ((peer = reader_of(dev, mr))) {
		/* Once is enough: the wire may give them back after it has returned. */
		for (struct emu_tx *tx = dev->tx_held; tx; tx = tx->next) {
			if (tx->peer == peer)
				tx->peer = NULL;
		}
		peer->ops->abort(peer);
	}
}

int emu_tx_copy(struct emu_dev *dev, const struct emu_tx *tx, void *dst)
{
	uint8_t *p = dst;

	memcpy(p, tx->hdr, tx->hdr_len);
	p += tx->hdr_len;
	for (uint32_t i = 0; i < tx->niov; i++) {
		if (dev->env->copy(p, tx->iov[i].base, tx->iov[i].len))
			return -EMU_EFAULT;
		p += tx->iov[i].len;
	}
	return 0;
}

int emu_tx_probe(struct emu_dev *dev, const struct emu_tx *tx)
{
	for (uint32_t i = 0; i < tx->niov; i++)
		if (dev->env->touch(tx->iov[i].base, tx->iov[i].len))
			return -EMU_EFAULT;
	return 0;
}

/* ---- running ------------------------------------------------------------- */

void emu_tick(struct emu_dev *dev, uint64_t now_ns)
{
	if (now_ns > dev->now)
		dev->now = now_ns;
}

uint64_t emu_next_deadline(const struct emu_dev *dev)
{
	return emu_timers_next(&dev->timers);
}

bool emu_pending(const struct emu_dev *dev)
{
	return dev->ready.first || dev->overrun || emu_cm_pending(dev) ||
	       atomic_load_explicit(&dev->rung, memory_order_acquire);
}

static void expire_timers(struct emu_dev *dev)
{
	struct emu_timer *timer;

	while ((timer = emu_timers_pop(&dev->timers, dev->now)))
		timer->expire(timer);
}

/* IBTA 11.6.3.1: a CQ error takes its QPs along. */
static void fail_qps_of_dead_cqs(struct emu_dev *dev)
{
	dev->overrun = false;
	for (uint32_t s = 0; s < dev->slots; s++) {
		struct emu_idtab *tab = &dev->slot[s].qps;

		for (uint32_t i = tab->first; i < tab->high; i++) {
			struct emu_qp *qp = tab->obj[i];

			if (qp && (qp->send_cq->overrun || qp->recv_cq->overrun))
				emu_qp_error_event(qp, EMU_EVENT_QP_FATAL);
		}
	}
}

bool emu_run(struct emu_dev *dev)
{
	struct emu_qp *qp;

	expire_timers(dev);
	emu_cm_run(dev);
	collect_rung(dev);
	for (int i = 0; i < RUN_QPS && (qp = dev->ready.first); i++) {
		unlink_qp(qp);
		if (emu_qp_run(qp))
			emu_dev_ready(dev, qp);
	}
	while (dev->overrun)
		fail_qps_of_dead_cqs(dev);
	return emu_pending(dev);
}

/* ---- doors for the wire -------------------------------------------------- */

void emu_input(struct emu_dev *dev, struct wire_peer *src, const void *frame, size_t len)
{
	struct emu_pkt pkt;
	struct emu_qp *qp;

	if (!emu_pkt_parse(frame, len, &pkt)) {
		dev->counters.rx_malformed++;
		return;
	}
	if (pkt.op->cls == EMU_CLASS_DATAGRAM) {
		emu_ud_input(dev, src, &pkt);
		return;
	}
	qp = emu_dev_qp(dev, pkt.dqpn);
	/* IBTA 9.6.1.1: only the connected port's packets count. */
	if (!qp || qp->type != emu_opcode_type(pkt.op) || !qp->peer || qp->peer->host != src->host) {
		dev->counters.rx_unknown_qp++;
		return;
	}
	dev->counters.rx_packets++;
	dev->counters.rx_bytes += pkt.payload_len;
	qp->req.cut = false;
	if (emu_opcode_is_response(pkt.op))
		emu_comp_input(qp, &pkt);
	else
		emu_resp_input(qp, &pkt);
}

void emu_wire_writable(struct emu_dev *dev, struct wire_peer *peer)
{
	struct emu_qp *qp, *next;

	emu_cm_writable(dev, peer);
	for (qp = dev->busy.first; qp; qp = next) {
		next = qp->next;
		if (qp->peer == peer)
			move_to(&dev->ready, qp);
	}
}

typedef void (*qp_fn)(struct emu_qp *qp);

static void for_each_qp_of(struct emu_dev *dev, const struct wire_peer *peer, qp_fn fn)
{
	for (uint32_t s = 0; s < dev->slots; s++) {
		struct emu_idtab *tab = &dev->slot[s].qps;

		for (uint32_t i = tab->first; i < tab->high; i++) {
			struct emu_qp *qp = tab->obj[i];

			if (qp && qp->peer == peer)
				fn(qp);
		}
	}
}

void emu_wire_answered(struct emu_dev *dev, struct wire_peer *peer)
{
	for_each_qp_of(dev, peer, emu_comp_peer_answered);
	emu_cm_answered(dev, peer);
}

void emu_wire_gone(struct emu_dev *dev, struct wire_peer *peer)
{
	for_each_qp_of(dev, peer, emu_comp_peer_gone);
	emu_cm_gone(dev, peer);
}
