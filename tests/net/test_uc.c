/* SPDX-License-Identifier: BSD-2-Clause */
/* Unreliable connections: what arrives, what is dropped and who is told (IBTA 9.8.2). */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MTU 1024u
#define AT 65536u /* receives land here */
#define FAR 131072u /* and WRITEs here */

/* IBTA table 38, with UC's upper bits. */
enum {
	UC_SEND_FIRST = 0x20,
	UC_SEND_MIDDLE = 0x21,
	UC_WRITE_MIDDLE = 0x27,
};

static struct rig *new_rig(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);

	rig->type = EMU_QPT_UC;
	return rig;
}

static struct rig *up(void **state)
{
	struct rig *rig = new_rig(state);

	rig_up(rig);
	return rig;
}

/* The initiator hears of success whatever became of the message. */
static void send_and_succeed(struct rig *rig, enum emu_wr_opcode opcode, uint64_t wr_id,
                             uint32_t length)
{
	rig_send(&rig->a, opcode, wr_id, 0, length, FAR);
	rig_expect(&rig->a, rig->a.scq, wr_id, EMU_WC_SUCCESS);
}

static void expect_dropped(struct rig *rig)
{
	rig_rest(rig, SECOND);
	rig_expect_none(&rig->a);
	rig_expect_none(&rig->b);
	rig_expect_state(&rig->a, EMU_QPS_RTS);
	rig_expect_state(&rig->b, EMU_QPS_RTS);
	rig_expect_async(&rig->a, EMU_EVENT_NONE);
	rig_expect_async(&rig->b, EMU_EVENT_NONE);
}

/* The next message arrives in the receive with that wr_id. */
static void expect_next_arrives(struct rig *rig, uint64_t wr_id)
{
	send_and_succeed(rig, EMU_WR_SEND, 99, 77);
	assert_int_equal(rig_expect(&rig->b, rig->b.rcq, wr_id, EMU_WC_SUCCESS).byte_len, 77);
	assert_memory_equal(rig->b.buf + AT, rig->a.buf, 77);
}

/* ---- what arrives ---------------------------------------------------------------- */

static const uint32_t lengths[] = {0, 1, MTU - 1, MTU, MTU + 1, 5 * MTU, 60000};

static void sends_arrive_whole(void **state)
{
	struct rig *rig = up(state);

	for (size_t i = 0; i < COUNT(lengths); i++) {
		struct emu_wc wc;

		rig_recv(&rig->b, i, AT, 65536);
		send_and_succeed(rig, i % 2 ? EMU_WR_SEND_WITH_IMM : EMU_WR_SEND, i, lengths[i]);
		wc = rig_expect(&rig->b, rig->b.rcq, i, EMU_WC_SUCCESS);
		assert_int_equal(wc.opcode, EMU_WC_RECV);
		assert_int_equal(wc.byte_len, lengths[i]);
		assert_int_equal(wc.wc_flags, i % 2 ? EMU_WC_WITH_IMM : 0);
		assert_memory_equal(rig->b.buf + AT, rig->a.buf, lengths[i]);
	}
	rig_down(rig);
}

static void writes_arrive_whole(void **state)
{
	struct rig *rig = up(state);

	for (size_t i = 0; i < COUNT(lengths); i++) {
		memset(rig->b.buf + FAR, 0, 65536);
		send_and_succeed(rig, EMU_WR_RDMA_WRITE, i, lengths[i]);
		rig_rest(rig, SECOND);
		assert_memory_equal(rig->b.buf + FAR, rig->a.buf, lengths[i]);
	}
	rig_expect_none(&rig->b);
	rig_down(rig);
}

static void write_with_immediate_takes_a_receive(void **state)
{
	struct rig *rig = up(state);

	for (size_t i = 0; i < COUNT(lengths); i++) {
		struct emu_wc wc;

		rig_recv(&rig->b, i, AT, 0);
		send_and_succeed(rig, EMU_WR_RDMA_WRITE_WITH_IMM, i, lengths[i]);
		wc = rig_expect(&rig->b, rig->b.rcq, i, EMU_WC_SUCCESS);
		assert_int_equal(wc.opcode, EMU_WC_RECV_RDMA_WITH_IMM);
		assert_int_equal(wc.byte_len, lengths[i]);
		assert_int_equal(wc.wc_flags, EMU_WC_WITH_IMM);
	}
	rig_down(rig);
}

static void nothing_is_ever_answered(void **state)
{
	struct rig *rig = up(state);

	rig_recv(&rig->b, 1, AT, 8192);
	send_and_succeed(rig, EMU_WR_SEND, 1, 5000);
	rig_expect(&rig->b, rig->b.rcq, 1, EMU_WC_SUCCESS);
	rig_rest(rig, SECOND);
	assert_int_equal(emu_dev_counters(rig->b.dev)->tx_packets, 0);
	assert_int_equal(emu_dev_counters(rig->a.dev)->rx_packets, 0);
	rig_down(rig);
}

static void operations_that_need_an_answer_are_refused(void **state)
{
	static const enum emu_wr_opcode refused[] = {EMU_WR_RDMA_READ, EMU_WR_ATOMIC_CMP_AND_SWP,
	                                             EMU_WR_ATOMIC_FETCH_AND_ADD,
	                                             EMU_WR_SEND_WITH_INV};
	struct rig *rig = up(state);

	for (size_t i = 0; i < COUNT(refused); i++) {
		struct emu_sge sge = rig_sge(&rig->a, 0, 8);
		struct emu_send_wr wr = rig_wr(&rig->a, refused[i], i, &sge, 0);

		assert_int_equal(emu_post_send(rig->a.qp, &wr), -EINVAL);
	}
	rig_down(rig);
}

static void dead_peer_is_not_noticed(void **state)
{
	struct rig *rig = up(state);

	sim_kill(rig->sim, 1, SIM_NEVER);
	send_and_succeed(rig, EMU_WR_SEND, 1, 10);
	rig_rest(rig, 10 * SECOND);
	rig_expect_none(&rig->a);
	rig_expect_state(&rig->a, EMU_QPS_RTS);
	rig_down(rig);
}

/* ---- what is dropped --------------------------------------------------------------- */

static void message_without_a_receive_is_dropped(void **state)
{
	struct rig *rig = up(state);

	send_and_succeed(rig, EMU_WR_SEND, 1, 10);
	send_and_succeed(rig, EMU_WR_SEND, 2, 3 * MTU);
	expect_dropped(rig);
	rig_recv(&rig->b, 5, AT, 8192);
	expect_next_arrives(rig, 5);
	rig_down(rig);
}

static void immediate_without_a_receive_is_dropped(void **state)
{
	struct rig *rig = up(state);

	send_and_succeed(rig, EMU_WR_RDMA_WRITE_WITH_IMM, 1, 10);
	expect_dropped(rig);
	rig_recv(&rig->b, 5, AT, 8192);
	expect_next_arrives(rig, 5);
	rig_down(rig);
}

static void message_longer_than_the_receive_is_dropped(void **state)
{
	static const uint32_t too_long[] = {501, 5 * MTU};

	for (size_t i = 0; i < COUNT(too_long); i++) {
		struct rig *rig = up(state);

		rig_recv(&rig->b, 5, AT, 500);
		send_and_succeed(rig, EMU_WR_SEND, 1, too_long[i]);
		expect_dropped(rig);
		expect_next_arrives(rig, 5);
		rig_down(rig);
	}
}

static void write_that_is_not_allowed_is_dropped(void **state)
{
	for (unsigned i = 0; i < 3; i++) {
		struct rig *rig = new_rig(state);
		struct emu_sge sge;
		struct emu_send_wr wr;
		uint8_t *before;

		if (i == 2)
			rig->b.attr.access_flags = 0;
		rig_up(rig);
		sge = rig_sge(&rig->a, 0, 3 * MTU);
		wr = rig_wr(&rig->a, EMU_WR_RDMA_WRITE, 1, &sge, i == 1 ? RIG_BUF - 100 : 0);
		if (i == 0)
			wr.rkey ^= 0x5a5a5a;
		before = rig_snapshot(&rig->b);
		rig_post(&rig->a, &wr);
		rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
		expect_dropped(rig);
		rig_check_memory(&rig->b, before);
		rig_recv(&rig->b, 5, AT, 8192);
		expect_next_arrives(rig, 5);
		rig_down(rig);
	}
}

static void lost_packet_drops_the_rest_of_its_message(void **state)
{
	static const uint8_t lost[] = {UC_SEND_FIRST, UC_SEND_MIDDLE};

	for (size_t i = 0; i < COUNT(lost); i++) {
		struct rig_filter filter = {.opcode = lost[i],
		                            .opcode_mask = 0xff,
		                            .verdict = SIM_DROP,
		                            .times = 1};
		struct rig *rig = up(state);

		sim_set_filter(rig->sim, rig_filter, &filter);
		rig_recv(&rig->b, 5, AT, 8192);
		rig_recv(&rig->b, 6, AT, 8192);
		send_and_succeed(rig, EMU_WR_SEND, 1, 5 * MTU);
		expect_dropped(rig);
		assert_int_equal(filter.seen, lost[i] == UC_SEND_FIRST ? 1 : 3);
		/* The receive was not used up. */
		expect_next_arrives(rig, 5);
		send_and_succeed(rig, EMU_WR_SEND, 2, 5 * MTU);
		rig_expect(&rig->b, rig->b.rcq, 6, EMU_WC_SUCCESS);
		assert_memory_equal(rig->b.buf + AT, rig->a.buf, 5 * MTU);
		rig_down(rig);
	}
}

static void lost_packet_of_a_write_leaves_what_came_before_it(void **state)
{
	struct rig_filter filter = {.opcode = UC_WRITE_MIDDLE,
	                            .opcode_mask = 0xff,
	                            .verdict = SIM_DROP,
	                            .skip = 1,
	                            .times = 1};
	struct rig *rig = up(state);

	sim_set_filter(rig->sim, rig_filter, &filter);
	memset(rig->b.buf + FAR, 0, 5 * MTU);
	memset(rig->a.buf, 1, 5 * MTU);
	send_and_succeed(rig, EMU_WR_RDMA_WRITE, 1, 5 * MTU);
	expect_dropped(rig);
	for (unsigned i = 0; i < 5 * MTU; i++)
		assert_int_equal(rig->b.buf[FAR + i], i < 2 * MTU);
	rig_down(rig);
}

/* ---- errors ------------------------------------------------------------------------ */

static void bad_receive_ends_the_receiver(void **state)
{
	struct rig *rig = up(state);
	struct emu_sge sge = rig_sge(&rig->b, AT, 4096);

	sge.lkey ^= 0x5a5a5a;
	rig_post_recv(&rig->b, 5, &sge, 1);
	rig_recv(&rig->b, 6, AT, 4096);
	send_and_succeed(rig, EMU_WR_SEND, 1, 10);
	rig_expect(&rig->b, rig->b.rcq, 5, EMU_WC_LOC_PROT_ERR);
	rig_expect_error(&rig->b, rig->b.rcq, 6, EMU_WC_WR_FLUSH_ERR, 0xf9);
	rig_expect_state(&rig->b, EMU_QPS_ERR);
	rig_rest(rig, SECOND);
	rig_expect_state(&rig->a, EMU_QPS_RTS);
	rig_expect_none(&rig->a);
	rig_down(rig);
}

static void local_error_stops_the_send_queue_alone(void **state)
{
	struct rig *rig = up(state);
	struct emu_sge sge = rig_sge(&rig->a, 0, 2 * MTU);
	struct emu_send_wr wr = rig_wr(&rig->a, EMU_WR_SEND, 2, &sge, 0);

	rig_recv(&rig->b, 5, AT, 8192);
	rig_recv(&rig->b, 6, AT, 8192);
	rig_send(&rig->a, EMU_WR_SEND, 1, 0, 10, 0);
	sge.lkey ^= 0x5a5a5a;
	rig_post(&rig->a, &wr);
	rig_send(&rig->a, EMU_WR_SEND, 3, 0, 10, 0);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	rig_expect_error(&rig->a, rig->a.scq, 2, EMU_WC_LOC_PROT_ERR, 0x52);
	rig_expect_error(&rig->a, rig->a.scq, 3, EMU_WC_WR_FLUSH_ERR, 0xf5);
	rig_expect_state(&rig->a, EMU_QPS_SQE);
	rig_expect(&rig->b, rig->b.rcq, 5, EMU_WC_SUCCESS);
	/* What is posted in SQE is flushed, what arrives is received. */
	rig_send(&rig->a, EMU_WR_SEND, 4, 0, 10, 0);
	rig_expect_error(&rig->a, rig->a.scq, 4, EMU_WC_WR_FLUSH_ERR, 0xf5);
	rig_recv(&rig->a, 7, AT, 100);
	rig_send(&rig->b, EMU_WR_SEND, 1, 0, 10, 0);
	rig_expect(&rig->a, rig->a.rcq, 7, EMU_WC_SUCCESS);
	rig_expect(&rig->b, rig->b.scq, 1, EMU_WC_SUCCESS);
	assert_int_equal(rig_modify(&rig->a, EMU_QPS_RTS), 0);
	expect_next_arrives(rig, 6);
	rig_down(rig);
}

static void memory_that_goes_in_the_middle_stops_the_send_queue(void **state)
{
	struct rig *rig = up(state);
	struct emu_sge sge[2] = {rig_sge(&rig->a, 0, 4 * MTU), rig_sge(&rig->a, AT, 4096)};
	struct emu_send_wr wr = rig_wr(&rig->a, EMU_WR_SEND, 1, sge, 0);

	rig_recv(&rig->b, 5, AT, 16384);
	sim_unmap(rig->a.buf + AT, 4096);
	wr.num_sge = 2;
	rig_post(&rig->a, &wr);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_LOC_PROT_ERR);
	rig_expect_state(&rig->a, EMU_QPS_SQE);
	sim_map_all();
	assert_int_equal(rig_modify(&rig->a, EMU_QPS_RTS), 0);
	expect_next_arrives(rig, 5);
	rig_down(rig);
}

/* ---- drained, and held by the wire --------------------------------------------------- */

static void drain(struct node *node)
{
	struct emu_qp_attr attr = {.qp_state = EMU_QPS_SQD, .en_sqd_async_notify = 1};

	assert_int_equal(
		emu_qp_modify(node->qp, &attr, EMU_QP_STATE | EMU_QP_EN_SQD_ASYNC_NOTIFY), 0);
}

static void drained_queue_is_told(void **state)
{
	struct rig *rig = up(state);

	drain(&rig->a);
	rig_send(&rig->a, EMU_WR_SEND, 1, 0, 10, 0);
	rig_rest(rig, SECOND);
	rig_expect_async(&rig->a, EMU_EVENT_SQ_DRAINED);
	rig_expect_none(&rig->a);
	assert_int_equal(rig_modify(&rig->a, EMU_QPS_RTS), 0);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	rig_down(rig);
}

static struct rig *up_held(void **state)
{
	struct rig *rig = new_rig(state);

	rig->params.held_ppm = SIM_PPM;
	sim_set_params(rig->sim, &rig->params);
	rig_up(rig);
	return rig;
}

static void request_completes_when_the_wire_has_read_its_memory(void **state)
{
	struct rig *rig = up_held(state);
	uint8_t *sent = rig_snapshot(&rig->a);

	/* A small one behind a large one waits for it: completions are in order. */
	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 200000, FAR);
	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 2, 0, 8, 0);
	sim_settle(rig->sim);
	rig_expect_none(&rig->a);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	memset(rig->a.buf, 0, 200000);
	rig_expect(&rig->a, rig->a.scq, 2, EMU_WC_SUCCESS);
	rig_rest(rig, SECOND);
	assert_memory_equal(rig->b.buf + FAR, sent, 200000);
	free(sent);
	rig_down(rig);
}

static void error_while_the_wire_holds_flushes_at_once(void **state)
{
	struct rig *rig = up_held(state);

	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 100000, FAR);
	sim_settle(rig->sim);
	assert_int_equal(rig_modify(&rig->a, EMU_QPS_ERR), 0);
	rig_expect_error(&rig->a, rig->a.scq, 1, EMU_WC_WR_FLUSH_ERR, 0xf5);
	rig_rest(rig, SECOND);
	rig_expect_none(&rig->a);
	rig_down(rig);
}

static void qp_may_go_while_the_wire_holds(void **state)
{
	struct rig *rig = up_held(state);

	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 100000, FAR);
	sim_settle(rig->sim);
	emu_qp_destroy(rig->a.qp);
	rig_rest(rig, SECOND);
	rig->a.qp = rig_make_qp(&rig->a);
	rig_expect_none(&rig->a);
	rig_down(rig);
}

static void drained_waits_for_the_wire(void **state)
{
	struct rig *rig = up_held(state);

	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 100000, FAR);
	sim_settle(rig->sim);
	drain(&rig->a);
	sim_settle(rig->sim);
	rig_expect_async(&rig->a, EMU_EVENT_NONE);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	rig_rest(rig, SECOND);
	rig_expect_async(&rig->a, EMU_EVENT_SQ_DRAINED);
	rig_down(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BOTH_WIRES(sends_arrive_whole),
		ON_BOTH_WIRES(writes_arrive_whole),
		ON_BOTH_WIRES(write_with_immediate_takes_a_receive),
		ON_BOTH_WIRES(nothing_is_ever_answered),
		ON_BOTH_WIRES(operations_that_need_an_answer_are_refused),
		ON_BOTH_WIRES(dead_peer_is_not_noticed),
		ON_BOTH_WIRES(message_without_a_receive_is_dropped),
		ON_BOTH_WIRES(immediate_without_a_receive_is_dropped),
		ON_BOTH_WIRES(message_longer_than_the_receive_is_dropped),
		ON_BOTH_WIRES(write_that_is_not_allowed_is_dropped),
		ON_BOTH_WIRES(bad_receive_ends_the_receiver),
		ON_BOTH_WIRES(local_error_stops_the_send_queue_alone),
		ON_BOTH_WIRES(memory_that_goes_in_the_middle_stops_the_send_queue),
		ON_BOTH_WIRES(drained_queue_is_told),
		cmocka_unit_test_prestate(lost_packet_drops_the_rest_of_its_message, &rig_lossy),
		cmocka_unit_test_prestate(lost_packet_of_a_write_leaves_what_came_before_it,
	                                  &rig_lossy),
		cmocka_unit_test_prestate(request_completes_when_the_wire_has_read_its_memory,
	                                  &rig_reliable),
		cmocka_unit_test_prestate(error_while_the_wire_holds_flushes_at_once,
	                                  &rig_reliable),
		cmocka_unit_test_prestate(qp_may_go_while_the_wire_holds, &rig_reliable),
		cmocka_unit_test_prestate(drained_waits_for_the_wire, &rig_reliable),
	};

	return cmocka_run_group_tests_name("UC", tests, NULL, NULL);
}
