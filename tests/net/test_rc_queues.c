/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting, slots, signaling, flushing and draining: what a QP does with its queues. */
#include "rig.h"

#include <errno.h>
#include <string.h>

static struct rig *up(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);

	rig_up(rig);
	return rig;
}

/* A WRITE of 8 bytes with these flags; emu_post_send's answer. */
static int try_write(struct node *node, uint64_t wr_id, uint32_t flags)
{
	struct emu_sge sge = rig_sge(node, 0, 8);
	struct emu_send_wr wr = rig_wr(node, EMU_WR_RDMA_WRITE, wr_id, &sge, 0);
	int err;

	wr.flags = flags;
	err = emu_post_send(node->qp, &wr);
	emu_qp_ring(node->qp);
	return err;
}

static int try_recv(struct node *node, uint64_t wr_id)
{
	struct emu_sge sge = rig_sge(node, 4096, 4096);
	struct emu_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
	int err = emu_post_recv(node->qp, &wr);

	emu_qp_ring(node->qp);
	return err;
}

/* ---- signaling and slots ------------------------------------------------------ */

static void unsignaled_request_has_no_completion(void **state)
{
	struct rig *rig = up(state);

	assert_int_equal(try_write(&rig->a, 1, 0), 0);
	assert_int_equal(try_write(&rig->a, 2, EMU_SEND_SIGNALED), 0);
	assert_int_equal(try_write(&rig->a, 3, 0), 0);
	rig_expect(&rig->a, rig->a.scq, 2, EMU_WC_SUCCESS);
	rig_rest(rig, SECOND);
	rig_expect_none(&rig->a);
	rig_down(rig);
}

static void sq_sig_all_signals_every_request(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);

	rig->sig_all = true;
	rig_up(rig);
	assert_int_equal(try_write(&rig->a, 1, 0), 0);
	assert_int_equal(try_write(&rig->a, 2, 0), 0);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	rig_expect(&rig->a, rig->a.scq, 2, EMU_WC_SUCCESS);
	rig_down(rig);
}

static void program_that_never_signals_fills_its_send_queue(void **state)
{
	struct rig *rig = up(state);

	for (unsigned i = 0; i < rig->cap.max_send_wr; i++)
		assert_int_equal(try_write(&rig->a, i, 0), 0);
	assert_int_equal(try_write(&rig->a, 99, 0), -ENOMEM);
	rig_rest(rig, SECOND);
	assert_int_equal(try_write(&rig->a, 99, 0), -ENOMEM);
	rig_down(rig);
}

static void polling_a_completion_frees_it_and_all_before_it(void **state)
{
	struct rig *rig = up(state);
	unsigned depth = rig->cap.max_send_wr;

	for (unsigned i = 0; i < depth; i++)
		assert_int_equal(try_write(&rig->a, i, i == depth / 2 ? EMU_SEND_SIGNALED : 0), 0);
	rig_rest(rig, SECOND);
	/* Done, but not polled: as full as before. */
	assert_int_equal(try_write(&rig->a, 99, 0), -ENOMEM);
	rig_expect(&rig->a, rig->a.scq, depth / 2, EMU_WC_SUCCESS);
	for (unsigned i = 0; i <= depth / 2; i++)
		assert_int_equal(try_write(&rig->a, 100 + i, 0), 0);
	assert_int_equal(try_write(&rig->a, 999, 0), -ENOMEM);
	rig_down(rig);
}

static void full_receive_queue_is_enomem_until_a_poll(void **state)
{
	struct rig *rig = up(state);

	for (unsigned i = 0; i < rig->cap.max_recv_wr; i++)
		assert_int_equal(try_recv(&rig->b, i), 0);
	assert_int_equal(try_recv(&rig->b, 99), -ENOMEM);
	rig_send(&rig->a, EMU_WR_SEND, 1, 0, 10, 0);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	assert_int_equal(try_recv(&rig->b, 99), -ENOMEM);
	rig_expect(&rig->b, rig->b.rcq, 0, EMU_WC_SUCCESS);
	assert_int_equal(try_recv(&rig->b, 99), 0);
	assert_int_equal(try_recv(&rig->b, 100), -ENOMEM);
	rig_down(rig);
}

static void long_runs_reuse_the_queue_without_end(void **state)
{
	struct rig *rig = up(state);

	for (unsigned i = 0; i < 2000; i++) {
		assert_int_equal(try_recv(&rig->b, i), 0);
		rig_send(&rig->a, EMU_WR_SEND, i, 0, i % 3000, 0);
		rig_expect(&rig->b, rig->b.rcq, i, EMU_WC_SUCCESS);
		rig_expect(&rig->a, rig->a.scq, i, EMU_WC_SUCCESS);
	}
	rig_down(rig);
}

/* ---- what a post refuses --------------------------------------------------------- */

static void post_send_before_rts_is_einval(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);
	struct node *a = &rig->a;

	rig_create(rig);
	a->attr.dest_qp_num = emu_qp_num(rig->b.qp);
	a->attr.ah.dgid = sim_gid(1);
	assert_int_equal(try_write(a, 1, 0), -EINVAL);
	assert_int_equal(rig_modify(a, EMU_QPS_INIT), 0);
	assert_int_equal(try_write(a, 1, 0), -EINVAL);
	assert_int_equal(rig_modify(a, EMU_QPS_RTR), 0);
	assert_int_equal(try_write(a, 1, 0), -EINVAL);
	assert_int_equal(rig_modify(a, EMU_QPS_RTS), 0);
	assert_int_equal(try_write(a, 1, 0), 0);
	rig_down(rig);
}

static void receives_posted_before_rtr_are_kept(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);
	struct node *b = &rig->b;

	rig_create(rig);
	b->attr.dest_qp_num = emu_qp_num(rig->a.qp);
	b->attr.ah.dgid = sim_gid(0);
	assert_int_equal(try_recv(b, 1), 0);
	assert_int_equal(rig_modify(b, EMU_QPS_INIT), 0);
	assert_int_equal(try_recv(b, 2), 0);
	assert_int_equal(rig_modify(b, EMU_QPS_RTR), 0);
	assert_int_equal(try_recv(b, 3), 0);
	rig_connect(&rig->a);
	for (unsigned i = 1; i <= 3; i++)
		rig_send(&rig->a, EMU_WR_SEND, i, 0, 10, 0);
	for (unsigned i = 1; i <= 3; i++)
		rig_expect(b, b->rcq, i, EMU_WC_SUCCESS);
	rig_down(rig);
}

static void malformed_requests_are_einval_and_queue_nothing(void **state)
{
	struct rig *rig = up(state);
	struct node *a = &rig->a;
	struct emu_sge sge[RIG_SGES + 1] = {{0}};
	struct emu_send_wr good = rig_wr(a, EMU_WR_RDMA_WRITE, 1, sge, 0), wr;
	struct emu_recv_wr recv = {.sg_list = sge, .num_sge = RIG_SGES + 1};

	wr = good;
	wr.num_sge = RIG_SGES + 1;
	assert_int_equal(emu_post_send(a->qp, &wr), -EINVAL);
	assert_int_equal(emu_post_recv(a->qp, &recv), -EINVAL);
	wr = good;
	wr.opcode = 77;
	assert_int_equal(emu_post_send(a->qp, &wr), -EINVAL);
	wr = good;
	wr.opcode = EMU_WR_TSO;
	assert_int_equal(emu_post_send(a->qp, &wr), -EINVAL);
	sge[0] = rig_sge(a, 0, RIG_INLINE + 1);
	wr = good;
	wr.flags |= EMU_SEND_INLINE;
	assert_int_equal(emu_post_send(a->qp, &wr), -EINVAL);
	sge[0].length = 8;
	wr.opcode = EMU_WR_RDMA_READ;
	assert_int_equal(emu_post_send(a->qp, &wr), -EINVAL);
	wr.opcode = EMU_WR_ATOMIC_FETCH_AND_ADD;
	assert_int_equal(emu_post_send(a->qp, &wr), -EINVAL);
	emu_qp_ring(a->qp);
	rig_rest(rig, SECOND);
	rig_expect_none(a);
	rig_expect_state(a, EMU_QPS_RTS);
	rig_down(rig);
}

static void reads_without_read_depth_are_einval(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);
	struct emu_sge sge;
	struct emu_send_wr wr;

	rig->a.attr.max_rd_atomic = 0;
	rig_up(rig);
	sge = rig_sge(&rig->a, 0, 8);
	wr = rig_wr(&rig->a, EMU_WR_RDMA_READ, 1, &sge, 0);
	assert_int_equal(emu_post_send(rig->a.qp, &wr), -EINVAL);
	wr.opcode = EMU_WR_ATOMIC_CMP_AND_SWP;
	assert_int_equal(emu_post_send(rig->a.qp, &wr), -EINVAL);
	wr.opcode = EMU_WR_RDMA_WRITE;
	assert_int_equal(emu_post_send(rig->a.qp, &wr), 0);
	rig_down(rig);
}

/* ---- flush, reset, drain ------------------------------------------------------------ */

static void error_state_flushes_both_queues_in_order(void **state)
{
	struct rig *rig = up(state);
	struct node *a = &rig->a;

	sim_partition(rig->sim, 0, 1, true);
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(try_write(a, i, i % 2 ? EMU_SEND_SIGNALED : 0), 0);
		assert_int_equal(try_recv(a, 100 + i), 0);
	}
	sim_settle(rig->sim);
	assert_int_equal(rig_modify(a, EMU_QPS_ERR), 0);
	for (unsigned i = 0; i < 20; i++) {
		rig_expect_error(a, a->scq, i, EMU_WC_WR_FLUSH_ERR, 0xf5);
		rig_expect_error(a, a->rcq, 100 + i, EMU_WC_WR_FLUSH_ERR, 0xf9);
	}
	rig_expect_none(a);
	rig_expect_async(a, EMU_EVENT_NONE);
	rig_down(rig);
}

static void posts_in_the_error_state_are_flushed_at_once(void **state)
{
	struct rig *rig = up(state);
	struct node *a = &rig->a;

	assert_int_equal(rig_modify(a, EMU_QPS_ERR), 0);
	assert_int_equal(try_write(a, 1, 0), 0);
	assert_int_equal(try_recv(a, 2), 0);
	rig_expect_error(a, a->scq, 1, EMU_WC_WR_FLUSH_ERR, 0xf5);
	rig_expect_error(a, a->rcq, 2, EMU_WC_WR_FLUSH_ERR, 0xf9);
	assert_int_equal(sim_now(rig->sim), 0);
	rig_down(rig);
}

static void posts_in_the_error_state_do_not_wait_for_a_silent_peer(void **state)
{
	struct rig *rig = rig_new(SIM_RELIABLE, 1);
	struct node *a = &rig->a;

	rig->params.connect_ns = LONG;
	sim_set_params(rig->sim, &rig->params);
	rig_up(rig);
	assert_int_equal(try_write(a, 1, 0), 0);
	sim_settle(rig->sim); /* WIRE_BUSY */
	assert_int_equal(rig_modify(a, EMU_QPS_ERR), 0);
	rig_expect_error(a, a->scq, 1, EMU_WC_WR_FLUSH_ERR, 0xf5);
	assert_int_equal(try_write(a, 2, 0), 0);
	assert_int_equal(try_recv(a, 3), 0);
	sim_run_until(rig->sim, SECOND);
	rig_expect_error(a, a->scq, 2, EMU_WC_WR_FLUSH_ERR, 0xf5);
	rig_expect_error(a, a->rcq, 3, EMU_WC_WR_FLUSH_ERR, 0xf9);
	assert_int_equal(sim_now(rig->sim), SECOND);
	rig_down(rig);
}

static void reset_forgets_the_queues_and_keeps_the_completions(void **state)
{
	struct rig *rig = up(state);
	struct node *a = &rig->a, *b = &rig->b;

	assert_int_equal(try_write(a, 1, EMU_SEND_SIGNALED), 0);
	rig_rest(rig, SECOND);
	sim_partition(rig->sim, 0, 1, true);
	for (unsigned i = 2; i < 10; i++) {
		assert_int_equal(try_write(a, i, EMU_SEND_SIGNALED), 0);
		assert_int_equal(try_recv(a, i), 0);
	}
	sim_settle(rig->sim);
	assert_int_equal(rig_modify(a, EMU_QPS_RESET), 0);
	assert_int_equal(rig_modify(b, EMU_QPS_RESET), 0);
	sim_partition(rig->sim, 0, 1, false);
	rig_expect(a, a->scq, 1, EMU_WC_SUCCESS);
	rig_rest(rig, LONG);
	rig_expect_none(a);
	/* And the pair can be used again. */
	rig_connect(a);
	rig_connect(b);
	for (unsigned i = 0; i < rig->cap.max_send_wr; i++)
		assert_int_equal(try_write(a, i, EMU_SEND_SIGNALED), 0);
	for (unsigned i = 0; i < rig->cap.max_send_wr; i++)
		rig_expect(a, a->scq, i, EMU_WC_SUCCESS);
	rig_down(rig);
}

static void destroyed_qp_leaves_its_completions(void **state)
{
	struct rig *rig = up(state);
	struct node *a = &rig->a;
	struct emu_wc wc;

	assert_int_equal(try_write(a, 1, EMU_SEND_SIGNALED), 0);
	rig_rest(rig, SECOND);
	assert_int_equal(try_write(a, 2, EMU_SEND_SIGNALED), 0);
	assert_int_equal(try_recv(a, 3), 0);
	emu_qp_destroy(a->qp);
	assert_int_equal(emu_cq_poll(a->scq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 1);
	rig_rest(rig, LONG);
	rig_expect_none(a);
	a->qp = rig_make_qp(a);
	rig_down(rig);
}

static void sqd_finishes_what_was_sent_and_holds_the_rest(void **state)
{
	struct rig *rig = up(state);
	struct node *a = &rig->a;
	struct emu_qp_attr attr = {.qp_state = EMU_QPS_SQD, .en_sqd_async_notify = 1};

	assert_int_equal(try_write(a, 1, EMU_SEND_SIGNALED), 0);
	sim_settle(rig->sim);
	assert_int_equal(emu_qp_modify(a->qp, &attr, EMU_QP_STATE | EMU_QP_EN_SQD_ASYNC_NOTIFY), 0);
	assert_int_equal(try_write(a, 2, EMU_SEND_SIGNALED), 0);
	rig_expect_async(a, EMU_EVENT_NONE);
	rig_expect(a, a->scq, 1, EMU_WC_SUCCESS);
	rig_rest(rig, LONG);
	rig_expect_none(a);
	rig_expect_async(a, EMU_EVENT_SQ_DRAINED);
	rig_expect_async(a, EMU_EVENT_NONE);
	/* The responder's half goes on. */
	rig_send(&rig->b, EMU_WR_RDMA_READ, 9, 0, 100, 0);
	rig_expect(&rig->b, rig->b.scq, 9, EMU_WC_SUCCESS);
	assert_int_equal(rig_modify(a, EMU_QPS_RTS), 0);
	rig_expect(a, a->scq, 2, EMU_WC_SUCCESS);
	rig_down(rig);
}

static void sq_drained_is_reported_if_asked_for(void **state)
{
	struct rig *rig = up(state);
	struct node *a = &rig->a;
	struct emu_qp_attr attr = {.qp_state = EMU_QPS_SQD, .en_sqd_async_notify = 1};
	static const struct {
		uint32_t mask;
		uint8_t notify;
		enum emu_event_type event;
	} rows[] = {
		{EMU_QP_STATE, 0, EMU_EVENT_NONE},
		{EMU_QP_STATE, 1, EMU_EVENT_NONE},
		{EMU_QP_STATE | EMU_QP_EN_SQD_ASYNC_NOTIFY, 0, EMU_EVENT_NONE},
		{EMU_QP_STATE | EMU_QP_EN_SQD_ASYNC_NOTIFY, 1, EMU_EVENT_SQ_DRAINED},
		/* Once asked for is not for ever. */
		{EMU_QP_STATE, 1, EMU_EVENT_NONE},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		attr.qp_state = EMU_QPS_SQD;
		attr.en_sqd_async_notify = rows[i].notify;
		assert_int_equal(try_write(a, i, EMU_SEND_SIGNALED), 0);
		sim_settle(rig->sim);
		assert_int_equal(emu_qp_modify(a->qp, &attr, rows[i].mask), 0);
		rig_expect(a, a->scq, i, EMU_WC_SUCCESS);
		rig_rest(rig, SECOND);
		rig_expect_async(a, rows[i].event);
		rig_expect_async(a, EMU_EVENT_NONE);
		emu_qp_query(a->qp, &attr);
		assert_false(attr.sq_draining);
		assert_int_equal(rig_modify(a, EMU_QPS_RTS), 0);
	}
	rig_down(rig);
}

static void sqd_waits_for_a_request_that_is_sent_again(void **state)
{
	struct rig *rig = up(state);
	struct node *a = &rig->a;
	struct emu_qp_attr attr = {.qp_state = EMU_QPS_SQD, .en_sqd_async_notify = 1};

	/* No receive is there: RNR NAK, and the wait for the next try. */
	rig_send(a, EMU_WR_SEND, 1, 0, 10, 0);
	sim_run_until(rig->sim, 100 * US);
	assert_int_equal(emu_qp_modify(a->qp, &attr, EMU_QP_STATE | EMU_QP_EN_SQD_ASYNC_NOTIFY), 0);
	sim_run_until(rig->sim, 10 * MS);
	rig_expect_async(a, EMU_EVENT_NONE);
	rig_recv(&rig->b, 2, 0, 100);
	rig_expect(a, a->scq, 1, EMU_WC_SUCCESS);
	rig_rest(rig, SECOND);
	rig_expect_async(a, EMU_EVENT_SQ_DRAINED);
	rig_expect_async(a, EMU_EVENT_NONE);
	rig_down(rig);
}

static void sqd_with_another_path_does_not_wait_for_the_old_one(void **state)
{
	struct rig *rig = rig_new(SIM_RELIABLE, 1);
	struct node *a = &rig->a;
	struct emu_qp_attr attr = {.qp_state = EMU_QPS_SQD};

	rig->params.connect_ns = LONG;
	sim_set_params(rig->sim, &rig->params);
	rig_up(rig);
	assert_int_equal(try_write(a, 1, EMU_SEND_SIGNALED), 0);
	sim_settle(rig->sim); /* WIRE_BUSY */
	assert_int_equal(emu_qp_modify(a->qp, &attr, EMU_QP_STATE), 0);
	attr.ah = a->attr.ah;
	attr.ah.dgid = sim_gid(2);
	assert_int_equal(emu_qp_modify(a->qp, &attr, EMU_QP_STATE | EMU_QP_AV), 0);
	/* Nobody is there, and that shows. */
	rig_expect_error(a, a->scq, 1, EMU_WC_RETRY_EXC_ERR, 0x81);
	assert_in_range(sim_now(rig->sim), 0, SECOND);
	rig_down(rig);
}

/* ---- order and depth ------------------------------------------------------------------ */

static void fence_waits_for_earlier_reads(void **state)
{
	struct rig *rig = up(state);
	struct emu_sge sge = rig_sge(&rig->a, 0, 200000);
	struct emu_send_wr wr = rig_wr(&rig->a, EMU_WR_RDMA_READ, 1, &sge, 0);

	rig_post(&rig->a, &wr);
	wr = rig_wr(&rig->a, EMU_WR_RDMA_WRITE, 2, &sge, 400000);
	wr.flags |= EMU_SEND_FENCE;
	rig_post(&rig->a, &wr);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	rig_expect(&rig->a, rig->a.scq, 2, EMU_WC_SUCCESS);
	assert_memory_equal(rig->b.buf + 400000, rig->b.buf, 200000);
	rig_down(rig);
}

struct depth {
	unsigned now, most;
};

/* Counts READ requests without their (one packet) response. */
static enum sim_verdict count_depth(void *arg, const struct sim_frame *frame)
{
	struct depth *depth = arg;

	if (frame->src == 0 && frame->hdr[0] == PKT_READ_REQUEST && ++depth->now > depth->most)
		depth->most = depth->now;
	if (frame->src == 1 && frame->hdr[0] == PKT_READ_RESPONSE_ONLY)
		depth->now--;
	return SIM_PASS;
}

static void reads_in_flight_are_bounded_by_max_rd_atomic(void **state)
{
	for (uint8_t limit = 1; limit <= 16; limit *= 4) {
		struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);
		struct depth depth = {0, 0};

		rig->a.attr.max_rd_atomic = rig->b.attr.max_dest_rd_atomic = limit;
		rig_up(rig);
		sim_set_filter(rig->sim, count_depth, &depth);
		for (unsigned i = 0; i < 40; i++)
			rig_send(&rig->a, EMU_WR_RDMA_READ, i, 100 * i, 100, 0);
		for (unsigned i = 0; i < 40; i++)
			rig_expect(&rig->a, rig->a.scq, i, EMU_WC_SUCCESS);
		assert_int_equal(depth.most, limit);
		rig_down(rig);
	}
}

static void query_tells_what_was_set_and_the_live_psns(void **state)
{
	struct rig *rig = up(state);
	struct emu_qp_attr attr;

	emu_qp_query(rig->a.qp, &attr);
	assert_int_equal(attr.qp_state, EMU_QPS_RTS);
	assert_int_equal(attr.sq_psn, rig->a.attr.sq_psn);
	assert_int_equal(attr.rq_psn, rig->a.attr.rq_psn);
	assert_int_equal(attr.dest_qp_num, emu_qp_num(rig->b.qp));
	assert_int_equal(attr.path_mtu, 3);
	assert_int_equal(attr.timeout, 14);
	assert_int_equal(attr.retry_cnt, 7);
	assert_int_equal(attr.rnr_retry, 7);
	assert_int_equal(attr.min_rnr_timer, 12);
	assert_int_equal(attr.max_rd_atomic, 4);
	assert_int_equal(attr.max_dest_rd_atomic, 4);
	assert_int_equal(attr.access_flags, RIG_ALL_ACCESS);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.cap.max_send_wr, rig->cap.max_send_wr);
	assert_memory_equal(attr.ah.dgid.raw, rig->a.attr.ah.dgid.raw, 16);
	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 2500, 0);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	emu_qp_query(rig->a.qp, &attr);
	assert_int_equal(attr.sq_psn, rig->a.attr.sq_psn + 3);
	emu_qp_query(rig->b.qp, &attr);
	assert_int_equal(attr.rq_psn, rig->b.attr.rq_psn + 3);
	rig_down(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BOTH_WIRES(unsignaled_request_has_no_completion),
		ON_BOTH_WIRES(sq_sig_all_signals_every_request),
		ON_BOTH_WIRES(program_that_never_signals_fills_its_send_queue),
		ON_BOTH_WIRES(polling_a_completion_frees_it_and_all_before_it),
		ON_BOTH_WIRES(full_receive_queue_is_enomem_until_a_poll),
		ON_BOTH_WIRES(long_runs_reuse_the_queue_without_end),
		ON_BOTH_WIRES(post_send_before_rts_is_einval),
		ON_BOTH_WIRES(receives_posted_before_rtr_are_kept),
		ON_BOTH_WIRES(malformed_requests_are_einval_and_queue_nothing),
		ON_BOTH_WIRES(reads_without_read_depth_are_einval),
		ON_BOTH_WIRES(error_state_flushes_both_queues_in_order),
		ON_BOTH_WIRES(posts_in_the_error_state_are_flushed_at_once),
		cmocka_unit_test(posts_in_the_error_state_do_not_wait_for_a_silent_peer),
		ON_BOTH_WIRES(reset_forgets_the_queues_and_keeps_the_completions),
		ON_BOTH_WIRES(destroyed_qp_leaves_its_completions),
		ON_BOTH_WIRES(sqd_finishes_what_was_sent_and_holds_the_rest),
		ON_BOTH_WIRES(sq_drained_is_reported_if_asked_for),
		ON_BOTH_WIRES(sqd_waits_for_a_request_that_is_sent_again),
		cmocka_unit_test(sqd_with_another_path_does_not_wait_for_the_old_one),
		ON_BOTH_WIRES(fence_waits_for_earlier_reads),
		ON_BOTH_WIRES(reads_in_flight_are_bounded_by_max_rd_atomic),
		ON_BOTH_WIRES(query_tells_what_was_set_and_the_live_psns),
	};

	return cmocka_run_group_tests_name("RC queues", tests, NULL, NULL);
}
