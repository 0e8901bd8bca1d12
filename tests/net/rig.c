/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

enum sim_flavour rig_lossy = SIM_LOSSY, rig_reliable = SIM_RELIABLE;

static struct emu_qp_attr default_attr(void)
{
	return (struct emu_qp_attr){
		.path_mtu = 3, /* 1024 */
		.access_flags = RIG_ALL_ACCESS,
		.rq_psn = 0x100,
		.sq_psn = 0x100,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.port_num = 1,
		.timeout = 14, /* 67 ms */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah = {.is_global = 1, .port_num = 1, .hop_limit = 64},
	};
}

struct rig *rig_new(enum sim_flavour flavour, uint64_t seed)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	rig->params = (struct sim_params){.flavour = flavour, .delay_ns = 5 * US};
	rig->sim = sim_create(seed, &rig->params);
	assert_non_null(rig->sim);
	rig->limits = emu_default_limits;
	rig->type = EMU_QPT_RC;
	rig->send_cqe = rig->recv_cqe = 256;
	rig->cap = (struct emu_qp_cap){.max_send_wr = 64,
	                               .max_recv_wr = 64,
	                               .max_send_sge = RIG_SGES,
	                               .max_recv_sge = RIG_SGES,
	                               .max_inline_data = RIG_INLINE};
	rig->a.rig = rig->b.rig = rig;
	rig->a.attr = rig->b.attr = default_attr();
	return rig;
}

struct node *rig_other(struct node *node)
{
	return node == &node->rig->a ? &node->rig->b : &node->rig->a;
}

struct emu_qp *rig_make_qp(struct node *node)
{
	struct emu_qp_init init = {.type = node->rig->type,
	                           .srq = node->srq,
	                           .send_cq = node->scq,
	                           .recv_cq = node->rcq,
	                           .cap = node->rig->cap,
	                           .sq_sig_all = node->rig->sig_all,
	                           .user = node};
	struct emu_qp *qp;

	assert_int_equal(emu_qp_create(node->pd, &init, &qp), 0);
	return qp;
}

static void create_node(struct node *node, unsigned engine, uint32_t salt)
{
	struct emu_srq_attr srq = {.max_wr = node->rig->srq_wr, .max_sge = RIG_SGES};

	node->engine = engine;
	node->dev = sim_dev(node->rig->sim, engine);
	node->buf = aligned_alloc(16, RIG_BUF);
	assert_non_null(node->buf);
	rig_fill(node->buf, RIG_BUF, salt);
	assert_int_equal(emu_pd_alloc(node->dev, &node->pd), 0);
	assert_int_equal(emu_mr_reg(node->pd, (uintptr_t)node->buf, (uintptr_t)node->buf, RIG_BUF,
	                            RIG_ALL_ACCESS, &node->mr),
	                 0);
	assert_int_equal(emu_cq_create(node->dev, node->rig->send_cqe, &node->scq, &node->scq), 0);
	assert_int_equal(emu_cq_create(node->dev, node->rig->recv_cqe, &node->rcq, &node->rcq), 0);
	if (node->rig->srq_wr)
		assert_int_equal(emu_srq_create(node->pd, &srq, node, &node->srq), 0);
	node->qp = rig_make_qp(node);
}

void rig_create(struct rig *rig)
{
	assert_int_equal(sim_add(rig->sim, &rig->limits), 0);
	if (!rig->loopback)
		assert_int_equal(sim_add(rig->sim, &rig->limits), 1);
	create_node(&rig->a, 0, 0xa);
	create_node(&rig->b, rig->loopback ? 0 : 1, 0xb);
}

int rig_modify(struct node *node, enum emu_qp_state to)
{
	static const uint32_t required[EMU_QPS_COUNT] = {
		[EMU_QPS_INIT] = EMU_QP_PKEY_INDEX | EMU_QP_PORT | EMU_QP_ACCESS_FLAGS,
		[EMU_QPS_RTR] = EMU_QP_AV | EMU_QP_PATH_MTU | EMU_QP_DEST_QPN | EMU_QP_RQ_PSN,
		[EMU_QPS_RTS] = EMU_QP_SQ_PSN,
	};
	static const uint32_t required_rc[EMU_QPS_COUNT] = {
		[EMU_QPS_RTR] = EMU_QP_MAX_DEST_RD_ATOMIC | EMU_QP_MIN_RNR_TIMER,
		[EMU_QPS_RTS] = EMU_QP_TIMEOUT | EMU_QP_RETRY_CNT | EMU_QP_RNR_RETRY |
	                        EMU_QP_MAX_QP_RD_ATOMIC,
	};
	uint32_t mask = EMU_QP_STATE | required[to];

	if (node->rig->type == EMU_QPT_RC)
		mask |= required_rc[to];
	if (to == EMU_QPS_RTS && emu_qp_state(node->qp) >= EMU_QPS_SQD)
		mask = EMU_QP_STATE;
	node->attr.qp_state = to;
	return emu_qp_modify(node->qp, &node->attr, mask);
}

void rig_connect(struct node *node)
{
	struct node *other = rig_other(node);

	node->attr.dest_qp_num = emu_qp_num(other->qp);
	node->attr.ah.dgid = sim_gid(other->engine);
	assert_int_equal(rig_modify(node, EMU_QPS_INIT), 0);
	assert_int_equal(rig_modify(node, EMU_QPS_RTR), 0);
	assert_int_equal(rig_modify(node, EMU_QPS_RTS), 0);
}

void rig_up(struct rig *rig)
{
	rig_create(rig);
	rig_connect(&rig->a);
	rig_connect(&rig->b);
}

static void destroy_node(struct node *node)
{
	emu_qp_destroy(node->qp);
	if (node->srq)
		assert_int_equal(emu_srq_destroy(node->srq), 0);
	assert_int_equal(emu_cq_destroy(node->scq), 0);
	assert_int_equal(emu_cq_destroy(node->rcq), 0);
	while (node->mr && emu_mr_dereg(node->mr)) {
		emu_mr_abort_io(node->mr);
		sim_settle(node->rig->sim);
	}
	assert_int_equal(emu_pd_dealloc(node->pd), 0);
}

void rig_down(struct rig *rig)
{
	destroy_node(&rig->a);
	destroy_node(&rig->b);
	sim_destroy(rig->sim);
	sim_map_all();
	free(rig->a.buf);
	free(rig->b.buf);
	free(rig);
}

struct emu_sge rig_sge(const struct node *node, size_t offset, uint32_t length)
{
	return (struct emu_sge){.addr = (uintptr_t)node->buf + offset,
	                        .length = length,
	                        .lkey = emu_mr_lkey(node->mr)};
}

struct emu_send_wr rig_wr(struct node *node, enum emu_wr_opcode opcode, uint64_t wr_id,
                          const struct emu_sge *sge, uint64_t remote)
{
	struct node *other = rig_other(node);

	return (struct emu_send_wr){.wr_id = wr_id,
	                            .sg_list = sge,
	                            .num_sge = 1,
	                            .opcode = opcode,
	                            .flags = EMU_SEND_SIGNALED,
	                            .remote_addr = (uintptr_t)other->buf + remote,
	                            .rkey = emu_mr_rkey(other->mr)};
}

void rig_post(struct node *node, const struct emu_send_wr *wr)
{
	assert_int_equal(emu_post_send(node->qp, wr), 0);
	emu_qp_ring(node->qp);
}

void rig_post_recv(struct node *node, uint64_t wr_id, const struct emu_sge *sge, uint32_t num_sge)
{
	struct emu_recv_wr wr = {.wr_id = wr_id, .sg_list = sge, .num_sge = num_sge};

	if (node->srq) {
		assert_int_equal(emu_post_srq_recv(node->srq, &wr), 0);
		return;
	}
	assert_int_equal(emu_post_recv(node->qp, &wr), 0);
	emu_qp_ring(node->qp);
}

void rig_send(struct node *node, enum emu_wr_opcode opcode, uint64_t wr_id, size_t local,
              uint32_t length, uint64_t remote)
{
	struct emu_sge sge = rig_sge(node, local, length);
	struct emu_send_wr wr = rig_wr(node, opcode, wr_id, &sge, remote);

	rig_post(node, &wr);
}

void rig_recv(struct node *node, uint64_t wr_id, size_t local, uint32_t length)
{
	struct emu_sge sge = rig_sge(node, local, length);

	rig_post_recv(node, wr_id, &sge, 1);
}

static bool has_completion(void *cq)
{
	return !emu_cq_empty(cq);
}

struct emu_wc rig_wait(struct node *node, struct emu_cq *cq)
{
	struct sim *sim = node->rig->sim;
	struct emu_wc wc;

	if (!sim_run_done(sim, has_completion, cq, sim_now(sim) + LONG))
		fail_msg("no completion on the %s CQ of engine %u",
		         cq == node->scq ? "send" : "receive", node->engine);
	assert_int_equal(emu_cq_poll(cq, 1, &wc), 1);
	return wc;
}

struct emu_wc rig_expect(struct node *node, struct emu_cq *cq, uint64_t wr_id,
                         enum emu_wc_status status)
{
	struct emu_wc wc = rig_wait(node, cq);

	if (wc.wr_id != wr_id || wc.status != status)
		fail_msg("wr_id %llu status %u (vendor_err 0x%x), expected wr_id %llu status %u",
		         (unsigned long long)wc.wr_id, wc.status, wc.vendor_err,
		         (unsigned long long)wr_id, status);
	assert_int_equal(wc.qp_num, emu_qp_num(node->qp));
	return wc;
}

void rig_expect_error(struct node *node, struct emu_cq *cq, uint64_t wr_id,
                      enum emu_wc_status status, uint32_t vendor_err)
{
	struct emu_wc wc = rig_expect(node, cq, wr_id, status);

	assert_int_equal(wc.vendor_err, vendor_err);
}

void rig_expect_none(struct node *node)
{
	assert_true(emu_cq_empty(node->scq));
	assert_true(emu_cq_empty(node->rcq));
}

void rig_expect_state(struct node *node, enum emu_qp_state state)
{
	assert_int_equal(emu_qp_state(node->qp), state);
}

void rig_expect_async(struct node *node, enum emu_event_type type)
{
	struct sim_event event;

	if (!sim_take_async(node->rig->sim, node->engine, &event)) {
		assert_int_equal(type, EMU_EVENT_NONE);
		return;
	}
	assert_int_equal(event.type, type);
	assert_ptr_equal(event.user, node);
}

void rig_rest(struct rig *rig, uint64_t limit)
{
	sim_run_idle(rig->sim, sim_now(rig->sim) + limit);
}

void rig_fill(uint8_t *buf, size_t len, uint32_t salt)
{
	uint32_t x = salt * 2654435761u + 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		buf[i] = (uint8_t)(x >> 24);
	}
}

uint8_t *rig_snapshot(const struct node *node)
{
	uint8_t *copy = malloc(RIG_BUF);

	assert_non_null(copy);
	memcpy(copy, node->buf, RIG_BUF);
	return copy;
}

void rig_check_memory(const struct node *node, uint8_t *expected)
{
	for (size_t i = 0; i < RIG_BUF; i++) {
		if (node->buf[i] != expected[i])
			fail_msg("engine %u: byte %zu is %02x, expected %02x", node->engine, i,
			         node->buf[i], expected[i]);
	}
	free(expected);
}

enum sim_verdict rig_filter(void *arg, const struct sim_frame *frame)
{
	struct rig_filter *filter = arg;

	if (frame->src != filter->src ||
	    (frame->hdr[0] & filter->opcode_mask) != (filter->opcode & filter->opcode_mask))
		return SIM_PASS;
	if (filter->seen++ < filter->skip || filter->seen > filter->skip + filter->times)
		return SIM_PASS;
	return filter->verdict;
}
