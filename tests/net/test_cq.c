/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues as a program sees them: arming, overflow, lifetime. */
#include "rig.h"

#include <errno.h>
#include <string.h>

static struct rig *up(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);

	rig_up(rig);
	for (unsigned i = 0; i < 8; i++)
		rig_recv(&rig->b, i, 0, 100);
	return rig;
}

/* A SEND from a to b, and all of its consequences. */
static void send_with(struct rig *rig, uint32_t flags)
{
	struct emu_sge sge = rig_sge(&rig->a, 0, 10);
	struct emu_send_wr wr = rig_wr(&rig->a, EMU_WR_SEND, 1, &sge, 0);

	wr.flags |= flags;
	rig_post(&rig->a, &wr);
	rig_rest(rig, SECOND);
}

static void expect_events(struct node *node, struct emu_cq **cq, unsigned count)
{
	struct sim_event event;
	unsigned seen = 0;

	while (sim_take_cq_event(node->rig->sim, node->engine, &event)) {
		assert_ptr_equal(event.user, cq);
		seen++;
	}
	assert_int_equal(seen, count);
}

static void one_event_per_arm(void **state)
{
	struct rig *rig = up(state);

	send_with(rig, 0);
	expect_events(&rig->b, &rig->b.rcq, 0);
	emu_cq_arm(rig->b.rcq, EMU_ARM_ANY);
	send_with(rig, 0);
	send_with(rig, 0);
	expect_events(&rig->b, &rig->b.rcq, 1);
	emu_cq_arm(rig->b.rcq, EMU_ARM_ANY);
	send_with(rig, 0);
	expect_events(&rig->b, &rig->b.rcq, 1);
	rig_down(rig);
}

static void no_event_for_completions_that_are_there_already(void **state)
{
	struct rig *rig = up(state);

	send_with(rig, EMU_SEND_SOLICITED);
	emu_cq_arm(rig->b.rcq, EMU_ARM_ANY);
	rig_rest(rig, SECOND);
	expect_events(&rig->b, &rig->b.rcq, 0);
	rig_down(rig);
}

static void solicited_arm_waits_for_a_solicited_send(void **state)
{
	struct rig *rig = up(state);

	emu_cq_arm(rig->b.rcq, EMU_ARM_SOLICITED);
	send_with(rig, 0);
	expect_events(&rig->b, &rig->b.rcq, 0);
	send_with(rig, EMU_SEND_SOLICITED);
	expect_events(&rig->b, &rig->b.rcq, 1);
	rig_down(rig);
}

static void solicited_write_with_imm_counts_too(void **state)
{
	struct rig *rig = up(state);
	struct emu_sge sge = rig_sge(&rig->a, 0, 5000);
	struct emu_send_wr wr = rig_wr(&rig->a, EMU_WR_RDMA_WRITE_WITH_IMM, 1, &sge, 10000);

	emu_cq_arm(rig->b.rcq, EMU_ARM_SOLICITED);
	rig_post(&rig->a, &wr);
	rig_rest(rig, SECOND);
	expect_events(&rig->b, &rig->b.rcq, 0);
	wr.flags |= EMU_SEND_SOLICITED;
	rig_post(&rig->a, &wr);
	rig_rest(rig, SECOND);
	expect_events(&rig->b, &rig->b.rcq, 1);
	rig_down(rig);
}

static void solicited_arm_fires_on_errors(void **state)
{
	struct rig *rig = up(state);

	emu_cq_arm(rig->b.rcq, EMU_ARM_SOLICITED);
	assert_int_equal(rig_modify(&rig->b, EMU_QPS_ERR), 0);
	rig_rest(rig, SECOND);
	expect_events(&rig->b, &rig->b.rcq, 1);
	rig_down(rig);
}

static void any_arm_beats_solicited_whichever_came_first(void **state)
{
	struct rig *rig = up(state);

	emu_cq_arm(rig->b.rcq, EMU_ARM_ANY);
	emu_cq_arm(rig->b.rcq, EMU_ARM_SOLICITED);
	send_with(rig, 0);
	expect_events(&rig->b, &rig->b.rcq, 1);
	emu_cq_arm(rig->b.rcq, EMU_ARM_SOLICITED);
	emu_cq_arm(rig->b.rcq, EMU_ARM_ANY);
	send_with(rig, 0);
	expect_events(&rig->b, &rig->b.rcq, 1);
	send_with(rig, EMU_SEND_SOLICITED);
	expect_events(&rig->b, &rig->b.rcq, 0);
	rig_down(rig);
}

static void overflow_is_told_once_and_old_completions_stay(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);
	unsigned room, cq_errors = 0, qp_fatals = 0;
	struct sim_event event;
	struct emu_wc wc;

	rig->send_cqe = 4;
	rig_up(rig);
	room = emu_cq_capacity(rig->a.scq);
	assert_in_range(room, 4, 50);
	for (unsigned i = 0; i < room + 5; i++)
		rig_send(&rig->a, EMU_WR_RDMA_WRITE, i, 0, 10, 0);
	rig_rest(rig, SECOND);
	while (sim_take_async(rig->sim, 0, &event)) {
		if (event.type == EMU_EVENT_CQ_ERR) {
			assert_ptr_equal(event.user, &rig->a.scq);
			cq_errors++;
		} else {
			assert_int_equal(event.type, EMU_EVENT_QP_FATAL);
			assert_ptr_equal(event.user, &rig->a);
			qp_fatals++;
		}
	}
	assert_int_equal(cq_errors, 1);
	assert_int_equal(qp_fatals, 1);
	rig_expect_state(&rig->a, EMU_QPS_ERR);
	for (unsigned i = 0; i < room; i++) {
		assert_int_equal(emu_cq_poll(rig->a.scq, 1, &wc), 1);
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(wc.status, EMU_WC_SUCCESS);
	}
	rig_rest(rig, SECOND);
	assert_int_equal(emu_cq_poll(rig->a.scq, 1, &wc), 0);
	rig_down(rig);
}

/* The flush of one QP overflows the CQ: the other one's end must not wait for something else. */
static void overflow_by_a_flush_takes_the_other_qps_along_at_once(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);
	struct emu_qp *second;

	rig->recv_cqe = 1;
	rig_up(rig);
	second = rig_make_qp(&rig->a);
	rig_recv(&rig->a, 1, 0, 10);
	rig_recv(&rig->a, 2, 0, 10);
	sim_settle(rig->sim);
	assert_int_equal(rig_modify(&rig->a, EMU_QPS_ERR), 0);
	assert_true(emu_pending(rig->a.dev));
	sim_settle(rig->sim);
	assert_int_equal(emu_qp_state(second), EMU_QPS_ERR);
	emu_qp_destroy(second);
	rig_down(rig);
}

static void one_cq_serves_both_queues_and_several_qps(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);
	struct emu_wc wc[8];

	rig_create(rig);
	emu_qp_destroy(rig->a.qp);
	assert_int_equal(emu_cq_destroy(rig->a.rcq), 0);
	rig->a.rcq = rig->a.scq;
	rig->a.qp = rig_make_qp(&rig->a);
	rig_connect(&rig->a);
	rig_connect(&rig->b);
	rig_recv(&rig->a, 1, 0, 100);
	rig_send(&rig->b, EMU_WR_SEND, 2, 0, 100, 0);
	rig_send(&rig->a, EMU_WR_RDMA_READ, 3, 0, 100, 0);
	rig_rest(rig, SECOND);
	assert_int_equal(emu_cq_poll(rig->a.scq, 8, wc), 2);
	assert_int_equal(wc[0].wr_id + wc[1].wr_id, 4);
	assert_int_equal(emu_cq_create(rig->a.dev, 8, &rig->a.rcq, &rig->a.rcq), 0);
	rig_down(rig);
}

static void objects_in_use_are_busy(void **state)
{
	struct rig *rig = up(state);

	assert_int_equal(emu_cq_destroy(rig->a.scq), -EBUSY);
	assert_int_equal(emu_cq_destroy(rig->a.rcq), -EBUSY);
	assert_int_equal(emu_pd_dealloc(rig->a.pd), -EBUSY);
	rig_down(rig);
}

static void limits_are_real(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);
	struct emu_qp_init init = {.type = EMU_QPT_RC};
	struct emu_cq *cq;
	struct emu_pd *pd;
	struct emu_mr *mr;
	struct emu_qp *qp;

	rig->limits.max_pd = rig->limits.max_mr = rig->limits.max_qp = 1;
	rig->limits.max_cq = 2;
	rig->limits.max_cqe = 256;
	rig_up(rig);
	init.send_cq = init.recv_cq = rig->a.scq;
	init.cap = rig->cap;
	assert_int_equal(emu_cq_create(rig->a.dev, 0, NULL, &cq), -EINVAL);
	assert_int_equal(emu_cq_create(rig->a.dev, 257, NULL, &cq), -EINVAL);
	assert_int_equal(emu_cq_create(rig->a.dev, 1, NULL, &cq), -ENOMEM);
	assert_int_equal(emu_pd_alloc(rig->a.dev, &pd), -ENOMEM);
	assert_int_equal(emu_mr_reg(rig->a.pd, 4096, 4096, 10, 0, &mr), -ENOMEM);
	assert_int_equal(emu_qp_create(rig->a.pd, &init, &qp), -ENOMEM);
	rig_down(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BOTH_WIRES(one_event_per_arm),
		ON_BOTH_WIRES(no_event_for_completions_that_are_there_already),
		ON_BOTH_WIRES(solicited_arm_waits_for_a_solicited_send),
		ON_BOTH_WIRES(solicited_write_with_imm_counts_too),
		ON_BOTH_WIRES(solicited_arm_fires_on_errors),
		ON_BOTH_WIRES(any_arm_beats_solicited_whichever_came_first),
		ON_BOTH_WIRES(overflow_is_told_once_and_old_completions_stay),
		ON_BOTH_WIRES(overflow_by_a_flush_takes_the_other_qps_along_at_once),
		ON_BOTH_WIRES(one_cq_serves_both_queues_and_several_qps),
		ON_BOTH_WIRES(objects_in_use_are_busy),
		ON_BOTH_WIRES(limits_are_real),
	};

	return cmocka_run_group_tests_name("CQ", tests, NULL, NULL);
}
