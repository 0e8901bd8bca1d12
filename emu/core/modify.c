// SPDX-License-Identifier: BSD-2-Clause
/* emu_qp_modify: legal change, attributes in range, then all of it at once. */
#include <stdlib.h>
#include <string.h>

#include "ah.h"
#include "comp.h"
#include "err.h"
#include "qp.h"
#include "qp_state.h"

#define KNOWN_QP_ACCESS                                                                           \
	(EMU_ACCESS_LOCAL_WRITE | EMU_ACCESS_REMOTE_WRITE | EMU_ACCESS_REMOTE_READ |              \
	 EMU_ACCESS_REMOTE_ATOMIC | EMU_ACCESS_MW_BIND | EMU_ACCESS_ZERO_BASED |                  \
	 EMU_ACCESS_ON_DEMAND | EMU_ACCESS_HUGETLB | EMU_ACCESS_FLUSH_GLOBAL |                    \
	 EMU_ACCESS_FLUSH_PERSISTENT | EMU_ACCESS_RELAXED_ORDERING)
#define MAX_TIMER_CODE 31
#define MAX_RETRY 7

typedef bool (*attr_check)(const struct emu_qp *qp, const struct emu_qp_attr *a);

static bool access_known(const struct emu_qp *qp, const struct emu_qp_attr *a)
{
	return !(a->access_flags & ~KNOWN_QP_ACCESS);
}

static bool pkey_in_table(const struct emu_qp *qp, const struct emu_qp_attr *a)
{
	return a->pkey_index < qp->dev->cfg.port.pkey_tbl_len;
}

static bool port_exists(const struct emu_qp *qp, const struct emu_qp_attr *a)
{
	return a->port_num == 1;
}

static bool path_usable(const struct emu_qp *qp, const struct emu_qp_attr *a)
{
	return emu_ah_path_usable(qp->dev, &a->ah);
}

static bool mtu_fits(const struct emu_qp *qp, const struct emu_qp_attr *a)
{
	return a->path_mtu >= 1 && a->path_mtu <= qp->dev->cfg.port.active_mtu;
}

static bool timeout_in_range(const struct emu_qp *qp, const struct emu_qp_attr *a)
{
	return a->timeout <= MAX_TIMER_CODE;
}

static bool retry_in_range(const struct emu_qp *qp, const struct emu_qp_attr *a)
{
	return a->retry_cnt <= MAX_RETRY;
}

static bool rnr_retry_in_range(const struct emu_qp *qp, const struct emu_qp_attr *a)
{
	return a->rnr_retry <= MAX_RETRY;
}

static bool rnr_timer_in_range(const struct emu_qp *qp, const struct emu_qp_attr *a)
{
	return a->min_rnr_timer <= MAX_TIMER_CODE;
}

static bool initiator_depth_fits(const struct emu_qp *qp, const struct emu_qp_attr *a)
{
	return a->max_rd_atomic <= qp->dev->cfg.limits.max_qp_rd_atom;
}

static bool responder_depth_fits(const struct emu_qp *qp, const struct emu_qp_attr *a)
{
	return a->max_dest_rd_atomic <= qp->dev->cfg.limits.max_qp_rd_atom;
}

static bool qpn_in_range(const struct emu_qp *qp, const struct emu_qp_attr *a)
{
	return a->dest_qp_num <= 0xffffff;
}

#define FIELD(f) offsetof(struct emu_qp_attr, f), sizeof(((struct emu_qp_attr *)0)->f)

/* What each attribute is: its place, and what it may be. */
static const struct {
	uint32_t mask;
	size_t offset, size;
	attr_check check; /* NULL: anything */
} attributes[] = {
	{ EMU_QP_EN_SQD_ASYNC_NOTIFY, FIELD(en_sqd_async_notify), NULL },
	{ EMU_QP_ACCESS_FLAGS, FIELD(access_flags), access_known },
	{ EMU_QP_PKEY_INDEX, FIELD(pkey_index), pkey_in_table },
	{ EMU_QP_PORT, FIELD(port_num), port_exists },
	{ EMU_QP_QKEY, FIELD(qkey), NULL },
	{ EMU_QP_AV, FIELD(ah), path_usable },
	{ EMU_QP_PATH_MTU, FIELD(path_mtu), mtu_fits },
	{ EMU_QP_TIMEOUT, FIELD(timeout), timeout_in_range },
	{ EMU_QP_RETRY_CNT, FIELD(retry_cnt), retry_in_range },
	{ EMU_QP_RNR_RETRY, FIELD(rnr_retry), rnr_retry_in_range },
	{ EMU_QP_RQ_PSN, FIELD(rq_psn), NULL },
	{ EMU_QP_MAX_QP_RD_ATOMIC, FIELD(max_rd_atomic), initiator_depth_fits },
	{ EMU_QP_ALT_PATH, FIELD(alt_ah), NULL },
	{ EMU_QP_ALT_PATH, FIELD(alt_pkey_index), NULL },
	{ EMU_QP_ALT_PATH, FIELD(alt_port_num), NULL },
	{ EMU_QP_ALT_PATH, FIELD(alt_timeout), NULL },
	{ EMU_QP_MIN_RNR_TIMER, FIELD(min_rnr_timer), rnr_timer_in_range },
	{ EMU_QP_SQ_PSN, FIELD(sq_psn), NULL },
	{ EMU_QP_MAX_DEST_RD_ATOMIC, FIELD(max_dest_rd_atomic), responder_depth_fits },
	{ EMU_QP_PATH_MIG_STATE, FIELD(path_mig_state), NULL },
	{ EMU_QP_DEST_QPN, FIELD(dest_qp_num), qpn_in_range },
	{ EMU_QP_RATE_LIMIT, FIELD(rate_limit), NULL },
};

#define ATTRIBUTES (sizeof(attributes) / sizeof(attributes[0]))

static bool in_range(const struct emu_qp *qp, const struct emu_qp_attr *attr, uint32_t mask)
{
	for (unsigned i = 0; i < ATTRIBUTES; i++)
		if ((mask & attributes[i].mask) && attributes[i].check &&
		    !attributes[i].check(qp, attr))
			return false;
	return true;
}

static void take(struct emu_qp *qp, const struct emu_qp_attr *attr, uint32_t mask)
{
	for (unsigned i = 0; i < ATTRIBUTES; i++)
		if (mask & attributes[i].mask)
			memcpy((char *)&qp->attr + attributes[i].offset,
			       (const char *)attr + attributes[i].offset, attributes[i].size);
}

/* What a change needs memory for: had before anything is changed. */
struct needs {
	struct wire_peer *peer; /* NULL: stays */
	struct emu_rdres *res; /* NULL: stay */
	uint32_t res_size;
};

static struct emu_rdres *resource(const struct emu_resp *resp, uint32_t age)
{
	return &resp->res[(resp->res_next + age) % resp->res_size];
}

/*
 * A ring of another size with the youngest of the old one's resources, and all
 * from the oldest on whose answer is still to be sent, even if that is more.
 */
static int make_resources(const struct emu_resp *resp, uint32_t depth, struct needs *needs)
{
	uint32_t oldest = 0, keep;

	while (oldest < resp->res_size && !resource(resp, oldest)->pending)
		oldest++;
	keep = resp->res_size - oldest;
	needs->res_size = keep > depth ? keep : depth ? depth : 1;
	needs->res = calloc(needs->res_size, sizeof(*needs->res));
	if (!needs->res)
		return -EMU_ENOMEM;
	keep = resp->res_size < needs->res_size ? resp->res_size : needs->res_size;
	for (uint32_t i = 1; i <= keep; i++)
		needs->res[needs->res_size - i] = *resource(resp, resp->res_size - i);
	return 0;
}

static int prepare(struct emu_qp *qp, const struct emu_qp_attr *attr, uint32_t mask,
		   struct needs *needs)
{
	struct emu_dev *dev = qp->dev;
	uint32_t qpn = (mask & EMU_QP_DEST_QPN) ? attr->dest_qp_num : qp->attr.dest_qp_num;

	*needs = (struct needs){ 0 };
	if ((mask & EMU_QP_MAX_DEST_RD_ATOMIC) &&
	    make_resources(&qp->resp, attr->max_dest_rd_atomic, needs))
		return -EMU_ENOMEM;
	if (!(mask & EMU_QP_AV))
		return 0;
	needs->peer = dev->env->peer_get(dev->host, &attr->ah.dgid, qpn);
	if (needs->peer)
		return 0;
	free(needs->res);
	return -EMU_ENOMEM;
}

static void commit(struct emu_qp *qp, const struct needs *needs)
{
	struct emu_resp *resp = &qp->resp;

	if (needs->res) {
		free(resp->res);
		resp->res = needs->res;
		resp->res_size = needs->res_size;
		resp->res_next = 0;
	}
	if (!needs->peer)
		return;
	if (qp->peer)
		qp->peer->ops->put(qp->peer);
	qp->peer = needs->peer;
	/* What it waited for was the old one's to tell: to be writable, an answer to a probe. */
	emu_dev_unlist(qp->dev, qp);
	emu_comp_peer_answered(qp);
}

static void enter_rtr(struct emu_qp *qp)
{
	qp->mtu = 128u << (qp->type == EMU_QPT_UD ? qp->dev->cfg.port.active_mtu :
						    qp->attr.path_mtu);
	qp->resp.epsn = qp->attr.rq_psn &= 0xffffff;
}

static void enter_rts(struct emu_qp *qp)
{
	struct emu_req *req = &qp->req;

	req->psn = req->send_psn = req->sent_psn = req->una_psn = qp->attr.sq_psn &= 0xffffff;
}

/* What a change of state does beyond its attributes. */
static void enter(struct emu_qp *qp, enum emu_qp_state from, enum emu_qp_state to)
{
	if (to == EMU_QPS_RTR && from == EMU_QPS_INIT)
		enter_rtr(qp);
	if (to == EMU_QPS_RTS && from == EMU_QPS_RTR)
		enter_rts(qp);
	if (to == EMU_QPS_SQD && from == EMU_QPS_RTS)
		qp->req.draining = true;
	if (to == EMU_QPS_RTS) {
		qp->req.draining = false;
		qp->attr.en_sqd_async_notify = 0; /* asked for this time only */
	}
	qp->req.retry = qp->attr.retry_cnt;
	qp->req.rnr_retry = qp->attr.rnr_retry;
	emu_qp_set_state(qp, to);
	emu_dev_ready(qp->dev, qp);
}

int emu_qp_modify(struct emu_qp *qp, const struct emu_qp_attr *attr, uint32_t mask)
{
	enum emu_qp_state from = emu_qp_state(qp);
	enum emu_qp_state to = (mask & EMU_QP_STATE) ? attr->qp_state : from;
	struct needs needs;
	int ret;

	if ((mask & EMU_QP_CUR_STATE) && attr->cur_qp_state != from)
		return -EMU_EINVAL;
	if (to >= EMU_QPS_COUNT || !emu_qp_transition_legal(qp->type, from, to, mask) ||
	    !in_range(qp, attr, mask))
		return -EMU_EINVAL;
	if (to == EMU_QPS_RESET) {
		emu_qp_reset(qp);
		return 0;
	}
	if (to == EMU_QPS_ERR) {
		emu_qp_error(qp);
		return 0;
	}
	ret = prepare(qp, attr, mask, &needs);
	if (ret)
		return ret;
	commit(qp, &needs);
	take(qp, attr, mask);
	enter(qp, from, to);
	return 0;
}
