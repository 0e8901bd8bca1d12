/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues: who takes what, the limit, and what an error leaves (IBTA 10.2.9). */
#include "rig.h"

#include <errno.h>
#include <string.h>

#define SRQ_WR 8
#define PKT_SEND_LAST 0x02
#define MTU 1024u
/* Where receives of wr_id n land. */
#define AT(n) (65536u + (n) * 8192u)

static struct rig *up_as(void **state, enum emu_qp_type type)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);

	rig->srq_wr = SRQ_WR;
	rig->type = type;
	rig_up(rig);
	return rig;
}

static struct rig *up(void **state)
{
	return up_as(state, EMU_QPT_RC);
}

static int try_recv(struct node *node, uint64_t wr_id)
{
	struct emu_sge sge = rig_sge(node, AT(wr_id % SRQ_WR), 8192);
	struct emu_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};

	return emu_post_srq_recv(node->srq, &wr);
}

static void post_recvs(struct node *node, uint64_t first, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(try_recv(node, first + i), 0);
}

static unsigned free_slots(struct node *node)
{
	unsigned n = 0;

	while (!try_recv(node, 100 + n))
		n++;
	return n;
}

static uint32_t limit_of(struct node *node)
{
	struct emu_srq_attr attr;

	emu_srq_query(node->srq, &attr);
	return attr.limit;
}

/* A second pair of QPs on the CQs and SRQs of the first. */
struct more {
	struct node a, b;
};

static void connect_more(struct rig *rig, struct more *more)
{
	struct node *ends[] = {&more->a, &more->b};

	*more = (struct more){rig->a, rig->b};
	more->a.qp = rig_make_qp(&rig->a);
	more->b.qp = rig_make_qp(&rig->b);
	more->a.attr.dest_qp_num = emu_qp_num(more->b.qp);
	more->b.attr.dest_qp_num = emu_qp_num(more->a.qp);
	for (size_t i = 0; i < COUNT(ends); i++) {
		assert_int_equal(rig_modify(ends[i], EMU_QPS_INIT), 0);
		assert_int_equal(rig_modify(ends[i], EMU_QPS_RTR), 0);
		assert_int_equal(rig_modify(ends[i], EMU_QPS_RTS), 0);
	}
}

static void destroy_more(struct more *more)
{
	emu_qp_destroy(more->a.qp);
	emu_qp_destroy(more->b.qp);
}

static void send_from(struct node *node, uint64_t wr_id, uint32_t length)
{
	struct emu_sge sge = rig_sge(node, 0, length);
	struct emu_send_wr wr = {.wr_id = wr_id,
	                         .sg_list = &sge,
	                         .num_sge = 1,
	                         .opcode = EMU_WR_SEND,
	                         .flags = EMU_SEND_SIGNALED};

	rig_post(node, &wr);
}

/* The first message of a stays half-received at b: its last packet is lost. */
static struct rig *up_half_received(void **state, struct rig_filter *filter)
{
	struct rig *rig = up(state);

	*filter = (struct rig_filter){.opcode = PKT_SEND_LAST,
	                              .opcode_mask = 0xff,
	                              .verdict = SIM_DROP,
	                              .times = 1};
	sim_set_filter(rig->sim, rig_filter, filter);
	post_recvs(&rig->b, 0, SRQ_WR);
	send_from(&rig->a, 50, 2 * MTU);
	rig_rest(rig, MS);
	assert_int_equal(filter->seen, 1);
	rig_expect_none(&rig->b);
	return rig;
}

/* ---- taking -------------------------------------------------------------------- */

static void messages_of_two_qps_take_receives_in_posting_order(void **state)
{
	struct rig *rig = up(state);
	struct more more;

	connect_more(rig, &more);
	post_recvs(&rig->b, 0, 4);
	send_from(&rig->a, 10, 3000);
	rig_expect(&rig->b, rig->b.rcq, 0, EMU_WC_SUCCESS);
	send_from(&more.a, 11, 10);
	assert_int_equal(rig_expect(&more.b, rig->b.rcq, 1, EMU_WC_SUCCESS).byte_len, 10);
	send_from(&rig->a, 12, 20);
	rig_expect(&rig->b, rig->b.rcq, 2, EMU_WC_SUCCESS);
	assert_memory_equal(rig->b.buf + AT(0), rig->a.buf, 3000);
	assert_memory_equal(rig->b.buf + AT(1), rig->a.buf, 10);
	destroy_more(&more);
	rig_down(rig);
}

static void empty_srq_is_not_ready_until_a_receive_comes(void **state)
{
	struct rig *rig = up(state);

	send_from(&rig->a, 1, 100);
	rig_rest(rig, 10 * MS);
	rig_expect_none(&rig->a);
	assert_true(emu_dev_counters(rig->b.dev)->rnr_nak_sent > 0);
	post_recvs(&rig->b, 7, 1);
	rig_expect(&rig->b, rig->b.rcq, 7, EMU_WC_SUCCESS);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	rig_down(rig);
}

static void write_with_immediate_takes_one_when_it_ends(void **state)
{
	struct rig *rig = up(state);

	rig_send(&rig->a, EMU_WR_RDMA_WRITE_WITH_IMM, 1, 0, 3 * MTU, 0);
	rig_rest(rig, 5 * MS);
	post_recvs(&rig->b, 3, 1);
	assert_int_equal(rig_expect(&rig->b, rig->b.rcq, 3, EMU_WC_SUCCESS).byte_len, 3 * MTU);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	rig_down(rig);
}

static void receive_queue_of_its_qps_does_not_exist(void **state)
{
	struct rig *rig = up(state);
	struct emu_recv_wr wr = {.wr_id = 1};
	struct emu_qp_attr attr;

	assert_int_equal(emu_post_recv(rig->a.qp, &wr), -EINVAL);
	emu_qp_query(rig->a.qp, &attr);
	assert_int_equal(attr.cap.max_recv_wr, 0);
	assert_int_equal(attr.cap.max_recv_sge, 0);
	rig_down(rig);
}

static void keys_of_receives_belong_to_the_pd_of_the_srq(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);
	struct emu_srq_attr attr = {.max_wr = 4, .max_sge = 1};
	struct node *b = &rig->b;
	struct emu_pd *other;
	struct emu_mr *mr;
	struct emu_sge sge;

	rig_create(rig);
	emu_qp_destroy(b->qp);
	assert_int_equal(emu_pd_alloc(b->dev, &other), 0);
	assert_int_equal(emu_mr_reg(other, (uintptr_t)b->buf, 0, RIG_BUF, RIG_ALL_ACCESS, &mr), 0);
	assert_int_equal(emu_srq_create(other, &attr, b, &b->srq), 0);
	assert_int_equal(emu_pd_dealloc(other), -EBUSY);
	b->qp = rig_make_qp(b);
	rig_connect(&rig->a);
	rig_connect(b);
	sge = (struct emu_sge){4096, 4096, emu_mr_lkey(mr)};
	rig_post_recv(b, 1, &sge, 1);
	sge = rig_sge(b, 4096, 4096);
	rig_post_recv(b, 2, &sge, 1);
	send_from(&rig->a, 1, 10);
	rig_expect(b, b->rcq, 1, EMU_WC_SUCCESS);
	assert_memory_equal(b->buf + 4096, rig->a.buf, 10);
	send_from(&rig->a, 2, 10);
	rig_expect(b, b->rcq, 2, EMU_WC_LOC_PROT_ERR);
	emu_qp_destroy(b->qp);
	assert_int_equal(emu_srq_destroy(b->srq), 0);
	b->srq = NULL;
	assert_int_equal(emu_mr_dereg(mr), 0);
	assert_int_equal(emu_pd_dealloc(other), 0);
	b->qp = rig_make_qp(b);
	rig_down(rig);
}

/* ---- slots --------------------------------------------------------------------- */

static void full_srq_is_enomem_until_a_poll(void **state)
{
	struct rig *rig = up(state);

	post_recvs(&rig->b, 0, SRQ_WR);
	assert_int_equal(try_recv(&rig->b, 99), -ENOMEM);
	send_from(&rig->a, 1, 10);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	assert_int_equal(try_recv(&rig->b, 99), -ENOMEM);
	rig_expect(&rig->b, rig->b.rcq, 0, EMU_WC_SUCCESS);
	assert_int_equal(try_recv(&rig->b, 99), 0);
	assert_int_equal(try_recv(&rig->b, 99), -ENOMEM);
	rig_down(rig);
}

static void long_runs_reuse_the_slots_without_end(void **state)
{
	struct rig *rig = up(state);

	post_recvs(&rig->b, 0, SRQ_WR - 1);
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(try_recv(&rig->b, i + SRQ_WR - 1), 0);
		send_from(&rig->a, i, i % 3000);
		rig_expect(&rig->b, rig->b.rcq, i, EMU_WC_SUCCESS);
		rig_expect(&rig->a, rig->a.scq, i, EMU_WC_SUCCESS);
	}
	rig_down(rig);
}

static void receives_complete_in_any_order_and_each_frees_its_own_slot(void **state)
{
	struct rig_filter filter;
	struct rig *rig = up_half_received(state, &filter);
	struct more more;

	connect_more(rig, &more);
	send_from(&more.a, 51, 10);
	rig_expect(&more.b, rig->b.rcq, 1, EMU_WC_SUCCESS);
	assert_int_equal(free_slots(&rig->b), 1);
	/* Sent again after the ACK timeout. */
	rig_expect(&rig->b, rig->b.rcq, 0, EMU_WC_SUCCESS);
	assert_memory_equal(rig->b.buf + AT(0), rig->a.buf, 2 * MTU);
	assert_int_equal(free_slots(&rig->b), 1);
	destroy_more(&more);
	rig_down(rig);
}

static void sizes_are_bounded_by_the_device(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);
	static const struct emu_srq_attr bad[] = {{0, 1, 0}, {17, 1, 0}, {4, 3, 0}};
	struct emu_srq_attr good = {16, 2, 5}, got;
	struct emu_srq *srq, *second;

	rig->limits.max_srq = 1;
	rig->limits.max_srq_wr = 16;
	rig->limits.max_srq_sge = 2;
	rig_up(rig);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(emu_srq_create(rig->a.pd, &bad[i], NULL, &srq), -EINVAL);
	assert_int_equal(emu_srq_create(rig->a.pd, &good, NULL, &srq), 0);
	assert_int_equal(emu_srq_create(rig->a.pd, &good, NULL, &second), -ENOMEM);
	emu_srq_query(srq, &got);
	assert_int_equal(got.max_wr, 16);
	assert_int_equal(got.max_sge, 2);
	assert_int_equal(got.limit, 0); /* a limit is armed by modifying only */
	assert_int_equal(emu_post_srq_recv(srq, &(struct emu_recv_wr){.num_sge = 3}), -EINVAL);
	assert_int_equal(emu_srq_destroy(srq), 0);
	rig_down(rig);
}

/* ---- the limit ------------------------------------------------------------------- */

static void limit_is_told_once_when_fewer_are_left(void **state)
{
	struct rig *rig = up(state);

	post_recvs(&rig->b, 0, 5);
	assert_int_equal(emu_srq_set_limit(rig->b.srq, 3), 0);
	for (unsigned i = 0; i < 2; i++) {
		send_from(&rig->a, i, 10);
		rig_expect(&rig->b, rig->b.rcq, i, EMU_WC_SUCCESS);
	}
	rig_expect_async(&rig->b, EMU_EVENT_NONE);
	assert_int_equal(limit_of(&rig->b), 3);
	send_from(&rig->a, 2, 10);
	rig_expect(&rig->b, rig->b.rcq, 2, EMU_WC_SUCCESS);
	rig_expect_async(&rig->b, EMU_EVENT_SRQ_LIMIT_REACHED);
	assert_int_equal(limit_of(&rig->b), 0);
	send_from(&rig->a, 3, 10);
	rig_expect(&rig->b, rig->b.rcq, 3, EMU_WC_SUCCESS);
	rig_expect_async(&rig->b, EMU_EVENT_NONE);
	/* Armed again with fewer posted: told when the next is taken. */
	assert_int_equal(emu_srq_set_limit(rig->b.srq, 3), 0);
	rig_expect_async(&rig->b, EMU_EVENT_NONE);
	send_from(&rig->a, 4, 10);
	rig_expect(&rig->b, rig->b.rcq, 4, EMU_WC_SUCCESS);
	rig_expect_async(&rig->b, EMU_EVENT_SRQ_LIMIT_REACHED);
	rig_down(rig);
}

static void limit_above_the_size_is_refused(void **state)
{
	struct rig *rig = up(state);

	assert_int_equal(emu_srq_set_limit(rig->b.srq, SRQ_WR), 0);
	assert_int_equal(emu_srq_set_limit(rig->b.srq, SRQ_WR + 1), -EINVAL);
	assert_int_equal(limit_of(&rig->b), SRQ_WR);
	rig_down(rig);
}

/* ---- errors and ends --------------------------------------------------------------- */

static void error_leaves_the_receives_to_others(void **state)
{
	struct rig *rig = up(state);
	struct more more;

	connect_more(rig, &more);
	post_recvs(&rig->b, 0, 3);
	assert_int_equal(rig_modify(&rig->b, EMU_QPS_ERR), 0);
	rig_expect_async(&rig->b, EMU_EVENT_QP_LAST_WQE_REACHED);
	rig_rest(rig, MS);
	rig_expect_none(&rig->b);
	send_from(&more.a, 1, 10);
	rig_expect(&more.b, rig->b.rcq, 0, EMU_WC_SUCCESS);
	rig_expect_async(&rig->b, EMU_EVENT_NONE);
	destroy_more(&more);
	rig_down(rig);
}

static void receive_too_small_ends_with_its_status(void **state)
{
	struct rig *rig = up(state);

	post_recvs(&rig->b, 0, 2);
	send_from(&rig->a, 1, 10000);
	rig_expect_error(&rig->a, rig->a.scq, 1, EMU_WC_REM_INV_REQ_ERR, 0x8a);
	rig_expect(&rig->b, rig->b.rcq, 0, EMU_WC_LOC_LEN_ERR);
	rig_expect_state(&rig->b, EMU_QPS_ERR);
	rig_expect_async(&rig->b, EMU_EVENT_QP_LAST_WQE_REACHED);
	rig_expect_none(&rig->b);
	assert_int_equal(free_slots(&rig->b), SRQ_WR - 1);
	rig_down(rig);
}

static void half_received_message_is_flushed_by_an_error(void **state)
{
	struct rig_filter filter;
	struct rig *rig = up_half_received(state, &filter);

	assert_int_equal(rig_modify(&rig->b, EMU_QPS_ERR), 0);
	rig_expect_error(&rig->b, rig->b.rcq, 0, EMU_WC_WR_FLUSH_ERR, 0xf9);
	rig_expect_none(&rig->b);
	rig_expect_async(&rig->b, EMU_EVENT_QP_LAST_WQE_REACHED);
	rig_down(rig);
}

static void half_received_message_vanishes_with_its_qp(void **state)
{
	struct rig_filter filter;
	struct rig *rig = up_half_received(state, &filter);

	assert_int_equal(try_recv(&rig->b, 99), -ENOMEM);
	emu_qp_destroy(rig->b.qp);
	assert_int_equal(free_slots(&rig->b), 1);
	rig->b.qp = rig_make_qp(&rig->b);
	rig_expect_none(&rig->b);
	rig_down(rig);
}

static void half_received_message_vanishes_at_reset(void **state)
{
	struct rig_filter filter;
	struct rig *rig = up_half_received(state, &filter);

	assert_int_equal(rig_modify(&rig->b, EMU_QPS_RESET), 0);
	rig_expect_none(&rig->b);
	assert_int_equal(free_slots(&rig->b), 1);
	rig_down(rig);
}

static void completions_outlive_qp_and_srq(void **state)
{
	struct rig *rig = up(state);
	struct emu_wc wc;

	post_recvs(&rig->b, 0, 2);
	send_from(&rig->a, 1, 10);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	assert_int_equal(emu_srq_destroy(rig->b.srq), -EBUSY);
	emu_qp_destroy(rig->b.qp);
	assert_int_equal(emu_srq_destroy(rig->b.srq), 0);
	rig->b.srq = NULL;
	assert_int_equal(emu_cq_poll(rig->b.rcq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 0);
	assert_int_equal(wc.status, EMU_WC_SUCCESS);
	rig->b.qp = rig_make_qp(&rig->b);
	rig_down(rig);
}

static void unreliable_connection_keeps_the_receive_of_a_lost_message(void **state)
{
	struct rig_filter filter = {.opcode = 0x20 | PKT_SEND_LAST,
	                            .opcode_mask = 0xff,
	                            .verdict = SIM_DROP,
	                            .times = 1};
	struct rig *rig = up_as(state, EMU_QPT_UC);

	sim_set_filter(rig->sim, rig_filter, &filter);
	post_recvs(&rig->b, 0, 2);
	send_from(&rig->a, 1, 2 * MTU);
	send_from(&rig->a, 2, 10);
	assert_int_equal(rig_expect(&rig->b, rig->b.rcq, 0, EMU_WC_SUCCESS).byte_len, 10);
	assert_int_equal(free_slots(&rig->b), SRQ_WR - 1);
	rig_down(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BOTH_WIRES(messages_of_two_qps_take_receives_in_posting_order),
		ON_BOTH_WIRES(empty_srq_is_not_ready_until_a_receive_comes),
		ON_BOTH_WIRES(write_with_immediate_takes_one_when_it_ends),
		ON_BOTH_WIRES(receive_queue_of_its_qps_does_not_exist),
		ON_BOTH_WIRES(keys_of_receives_belong_to_the_pd_of_the_srq),
		ON_BOTH_WIRES(full_srq_is_enomem_until_a_poll),
		ON_BOTH_WIRES(long_runs_reuse_the_slots_without_end),
		ON_BOTH_WIRES(limit_is_told_once_when_fewer_are_left),
		ON_BOTH_WIRES(limit_above_the_size_is_refused),
		ON_BOTH_WIRES(error_leaves_the_receives_to_others),
		ON_BOTH_WIRES(receive_too_small_ends_with_its_status),
		ON_BOTH_WIRES(completions_outlive_qp_and_srq),
		cmocka_unit_test_prestate(sizes_are_bounded_by_the_device, &rig_lossy),
		cmocka_unit_test_prestate(
			receives_complete_in_any_order_and_each_frees_its_own_slot, &rig_lossy),
		cmocka_unit_test_prestate(half_received_message_is_flushed_by_an_error, &rig_lossy),
		cmocka_unit_test_prestate(half_received_message_vanishes_with_its_qp, &rig_lossy),
		cmocka_unit_test_prestate(half_received_message_vanishes_at_reset, &rig_lossy),
		cmocka_unit_test_prestate(
			unreliable_connection_keeps_the_receive_of_a_lost_message, &rig_lossy),
	};

	return cmocka_run_group_tests_name("SRQ", tests, NULL, NULL);
}
