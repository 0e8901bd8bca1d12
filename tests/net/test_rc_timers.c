/* SPDX-License-Identifier: BSD-2-Clause */
/* What takes time on an RC connection: RNR, retries, dead peers, broken links. In virtual time,
 * exactly. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#define TRIP (10 * US) /* there and back on the rig's wire */
#define ACK_TIMEOUT(code) (4096ull << (code))

/* Posts one SEND of 100 bytes and returns how long its completion of that kind takes. */
static uint64_t time_send(struct rig *rig, enum emu_wc_status status, uint32_t vendor_err)
{
	uint64_t start = sim_now(rig->sim);

	rig_send(&rig->a, EMU_WR_SEND, 1, 0, 100, 0);
	rig_expect_error(&rig->a, rig->a.scq, 1, status, vendor_err);
	return sim_now(rig->sim) - start;
}

static void assert_about(uint64_t value, uint64_t expected)
{
	/* A peer that answers probes gets a moment of grace at each timeout. */
	if (value < expected - expected / 100 || value > expected + expected / 10)
		fail_msg("%llu ns, expected about %llu ns", (unsigned long long)value,
		         (unsigned long long)expected);
}

static struct rig *up_with_rnr(void **state, uint8_t rnr_retry, uint8_t min_rnr_timer)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);

	rig->a.attr.rnr_retry = rnr_retry;
	rig->b.attr.min_rnr_timer = min_rnr_timer;
	rig_up(rig);
	return rig;
}

static void rnr_retry_0_fails_at_the_first_rnr_nak(void **state)
{
	struct rig *rig = up_with_rnr(state, 0, 12);

	assert_int_equal(time_send(rig, EMU_WC_RNR_RETRY_EXC_ERR, 0x87), TRIP);
	rig_expect_state(&rig->a, EMU_QPS_ERR);
	rig_expect_state(&rig->b, EMU_QPS_RTS);
	rig_expect_none(&rig->b);
	rig_down(rig);
}

static void rnr_retry_3_waits_three_timers(void **state)
{
	struct rig *rig = up_with_rnr(state, 3, 12);

	assert_int_equal(time_send(rig, EMU_WC_RNR_RETRY_EXC_ERR, 0x87), 3 * 640 * US + 4 * TRIP);
	rig_down(rig);
}

static void rnr_timer_0_is_the_longest(void **state)
{
	struct rig *rig = up_with_rnr(state, 1, 0);

	assert_int_equal(time_send(rig, EMU_WC_RNR_RETRY_EXC_ERR, 0x87), 655360 * US + 2 * TRIP);
	rig_down(rig);
}

static void every_rnr_timer_code_has_its_ibta_time(void **state)
{
	static const uint32_t tens_of_us[32] = {
		65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
		48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
		2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

	for (uint8_t code = 0; code < 32; code++) {
		struct rig *rig = up_with_rnr(state, 1, code);

		assert_int_equal(time_send(rig, EMU_WC_RNR_RETRY_EXC_ERR, 0x87),
		                 tens_of_us[code] * 10 * US + 2 * TRIP);
		rig_down(rig);
	}
}

static void rnr_retry_7_waits_for_ever(void **state)
{
	struct rig *rig = up_with_rnr(state, 7, 14);

	rig_send(&rig->a, EMU_WR_SEND, 1, 0, 5000, 0);
	sim_run_until(rig->sim, 60 * SECOND);
	rig_expect_none(&rig->a);
	rig_recv(&rig->b, 2, 0, 5000);
	rig_expect(&rig->b, rig->b.rcq, 2, EMU_WC_SUCCESS);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	assert_memory_equal(rig->a.buf, rig->b.buf, 5000);
	rig_down(rig);
}

static void a_receive_in_time_ends_the_rnr_wait(void **state)
{
	struct rig *rig = up_with_rnr(state, 2, 12);
	uint64_t start;

	/* Twice: progress gives the whole count back. */
	for (unsigned i = 0; i < 2; i++) {
		start = sim_now(rig->sim);
		rig_send(&rig->a, EMU_WR_SEND, i, 0, 3000, 0);
		sim_run_until(rig->sim, start + MS);
		rig_recv(&rig->b, 10 + i, 0, 3000);
		rig_expect(&rig->b, rig->b.rcq, 10 + i, EMU_WC_SUCCESS);
		rig_expect(&rig->a, rig->a.scq, i, EMU_WC_SUCCESS);
		assert_int_equal(sim_now(rig->sim) - start, 2 * 640 * US + 3 * TRIP);
	}
	rig_down(rig);
}

static void write_with_imm_waits_for_a_receive_too(void **state)
{
	struct rig *rig = up_with_rnr(state, 1, 12);
	uint8_t *a = rig_snapshot(&rig->a);

	rig_send(&rig->a, EMU_WR_RDMA_WRITE_WITH_IMM, 1, 0, 0, 0);
	rig_expect_error(&rig->a, rig->a.scq, 1, EMU_WC_RNR_RETRY_EXC_ERR, 0x87);
	rig_check_memory(&rig->a, a);
	rig_down(rig);
}

/* ---- nobody answers --------------------------------------------------------- */

struct silence {
	uint8_t timeout, retry_cnt;
};

static void check_silence(struct rig *rig, const struct silence *silence)
{
	assert_about(time_send(rig, EMU_WC_RETRY_EXC_ERR, 0x81),
	             (silence->retry_cnt + 1) * ACK_TIMEOUT(silence->timeout));
	rig_expect_state(&rig->a, EMU_QPS_ERR);
}

static struct rig *new_silent(void **state, const struct silence *silence)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);

	rig->a.attr.timeout = silence->timeout;
	rig->a.attr.retry_cnt = silence->retry_cnt;
	return rig;
}

static void retries_end_after_retry_cnt_and_one_timeouts(void **state)
{
	static const struct silence silences[] = {{14, 7}, {14, 0}, {10, 3}, {18, 1}, {1, 7}};

	for (size_t i = 0; i < COUNT(silences); i++) {
		struct rig *rig = new_silent(state, &silences[i]);

		rig_up(rig);
		sim_partition(rig->sim, 0, 1, true);
		/* A timeout below the round trip of the emulator's world may be held to be longer.
		 */
		if (silences[i].timeout > 1)
			check_silence(rig, &silences[i]);
		else
			time_send(rig, EMU_WC_RETRY_EXC_ERR, 0x81);
		rig_expect_state(&rig->b, EMU_QPS_RTS);
		rig_down(rig);
	}
}

static void timeout_0_never_gives_up(void **state)
{
	struct rig *rig = new_silent(state, &(struct silence){0, 1});

	rig_up(rig);
	sim_partition(rig->sim, 0, 1, true);
	rig_send(&rig->a, EMU_WR_SEND, 1, 0, 100, 0);
	sim_run_until(rig->sim, 1000 * SECOND);
	rig_expect_none(&rig->a);
	rig_expect_state(&rig->a, EMU_QPS_RTS);
	rig_down(rig);
}

static void unknown_qp_number_is_silence(void **state)
{
	static const uint32_t qpns[] = {0x1fff, 0x7000, 0xfff000};

	for (size_t i = 0; i < COUNT(qpns); i++) {
		struct silence silence = {14, 2};
		struct rig *rig = new_silent(state, &silence);
		struct node *a = &rig->a;

		rig_create(rig);
		a->attr.dest_qp_num = qpns[i];
		a->attr.ah.dgid = sim_gid(1);
		assert_int_equal(rig_modify(a, EMU_QPS_INIT), 0);
		assert_int_equal(rig_modify(a, EMU_QPS_RTR), 0);
		assert_int_equal(rig_modify(a, EMU_QPS_RTS), 0);
		check_silence(rig, &silence);
		rig_down(rig);
	}
}

static void peer_qp_that_is_not_ready_is_silence(void **state)
{
	static const enum emu_qp_state states[] = {EMU_QPS_RESET, EMU_QPS_INIT, EMU_QPS_ERR};

	for (size_t i = 0; i < COUNT(states); i++) {
		struct silence silence = {14, 2};
		struct rig *rig = new_silent(state, &silence);
		uint8_t *memory;

		rig_create(rig);
		rig_connect(&rig->a);
		if (states[i] != EMU_QPS_RESET)
			assert_int_equal(rig_modify(&rig->b, states[i]), 0);
		memory = rig_snapshot(&rig->b);
		check_silence(rig, &silence);
		rig_expect_state(&rig->b, states[i]);
		rig_check_memory(&rig->b, memory);
		rig_down(rig);
	}
}

static void peer_qp_that_is_gone_is_silence(void **state)
{
	struct silence silence = {14, 2};
	struct rig *rig = new_silent(state, &silence);

	rig_up(rig);
	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 100, 0);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	emu_qp_destroy(rig->b.qp);
	check_silence(rig, &silence);
	rig->b.qp = rig_make_qp(&rig->b);
	rig_down(rig);
}

static void dead_peer_is_reported_at_the_retry_limit(void **state)
{
	struct silence silence = {14, 3};
	struct rig *rig = new_silent(state, &silence);

	rig_up(rig);
	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 100, 0);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	sim_kill(rig->sim, 1, MS);
	check_silence(rig, &silence);
	rig_down(rig);
}

static void requests_behind_a_dead_one_are_flushed(void **state)
{
	struct rig *rig = new_silent(state, &(struct silence){14, 1});

	rig_up(rig);
	sim_kill(rig->sim, 1, 0);
	for (unsigned i = 1; i <= 10; i++)
		rig_send(&rig->a, i % 2 ? EMU_WR_RDMA_READ : EMU_WR_RDMA_WRITE, i, 0, 5000, 0);
	rig_recv(&rig->a, 50, 0, 10);
	rig_expect_error(&rig->a, rig->a.scq, 1, EMU_WC_RETRY_EXC_ERR, 0x81);
	for (unsigned i = 2; i <= 10; i++)
		rig_expect_error(&rig->a, rig->a.scq, i, EMU_WC_WR_FLUSH_ERR, 0xf5);
	rig_expect_error(&rig->a, rig->a.rcq, 50, EMU_WC_WR_FLUSH_ERR, 0xf9);
	rig_down(rig);
}

static void target_that_connects_late_is_found(void **state)
{
	struct rig *rig = new_silent(state, &(struct silence){14, 7});

	rig_create(rig);
	rig_connect(&rig->a);
	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 5000, 0);
	sim_run_until(rig->sim, 3 * ACK_TIMEOUT(14));
	rig_connect(&rig->b);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	assert_memory_equal(rig->a.buf, rig->b.buf, 5000);
	rig_down(rig);
}

/* ---- slow is not dead --------------------------------------------------------- */

static void slow_peer_uses_up_no_retries(void **state)
{
	struct rig *rig = rig_new(SIM_RELIABLE, 1);

	rig->a.attr.timeout = 10;
	rig->a.attr.retry_cnt = 1;
	rig_up(rig);
	sim_pause(rig->sim, 1, 5 * SECOND);
	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 200000, 0);
	rig_send(&rig->a, EMU_WR_RDMA_READ, 2, 0, 200000, 0);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	assert_true(sim_now(rig->sim) >= 5 * SECOND);
	rig_expect(&rig->a, rig->a.scq, 2, EMU_WC_SUCCESS);
	rig_down(rig);
}

static void link_that_breaks_under_a_probe_counts_on(void **state)
{
	struct rig *rig = rig_new(SIM_RELIABLE, 1);
	uint64_t cut = 20 * ACK_TIMEOUT(14);

	rig->a.attr.retry_cnt = 2;
	rig_up(rig);
	sim_pause(rig->sim, 1, 1000 * SECOND);
	rig_send(&rig->a, EMU_WR_SEND, 1, 0, 100, 0);
	sim_run_until(rig->sim, cut);
	rig_expect_none(&rig->a);
	sim_partition(rig->sim, 0, 1, true);
	rig_expect_error(&rig->a, rig->a.scq, 1, EMU_WC_RETRY_EXC_ERR, 0x81);
	assert_in_range(sim_now(rig->sim) - cut, ACK_TIMEOUT(14), 3 * ACK_TIMEOUT(14));
	rig_down(rig);
}

static void dead_peer_is_reported_at_once_if_asked_for(void **state)
{
	struct rig *rig = rig_new(SIM_RELIABLE, 1);

	rig->params.fast_death = true;
	sim_set_params(rig->sim, &rig->params);
	rig_up(rig);
	rig_send(&rig->a, EMU_WR_SEND, 1, 0, 100, 0);
	sim_kill(rig->sim, 1, MS);
	rig_expect_error(&rig->a, rig->a.scq, 1, EMU_WC_RETRY_EXC_ERR, 0x81);
	assert_int_equal(sim_now(rig->sim), MS);
	rig_down(rig);
}

static void peer_that_died_in_a_pause_is_reported_at_the_next_request(void **state)
{
	struct rig *rig = rig_new(SIM_RELIABLE, 1);

	rig->params.fast_death = true;
	sim_set_params(rig->sim, &rig->params);
	rig_up(rig);
	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 100, 0);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	sim_kill(rig->sim, 1, MS);
	sim_run_until(rig->sim, 5 * MS);
	rig_expect_none(&rig->a);
	rig_expect_state(&rig->a, EMU_QPS_RTS);
	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 2, 0, 100, 0);
	rig_expect_error(&rig->a, rig->a.scq, 2, EMU_WC_RETRY_EXC_ERR, 0x81);
	assert_int_equal(sim_now(rig->sim), 5 * MS);
	rig_down(rig);
}

static void slow_peer_on_a_lossy_wire_times_out(void **state)
{
	struct silence silence = {14, 1};
	struct rig *rig = rig_new(SIM_LOSSY, 1);

	rig->a.attr.timeout = silence.timeout;
	rig->a.attr.retry_cnt = silence.retry_cnt;
	rig_up(rig);
	sim_pause(rig->sim, 1, 5 * SECOND);
	check_silence(rig, &silence);
	rig_down(rig);
}

static void short_cut_is_survived(void **state)
{
	struct rig *rig = new_silent(state, &(struct silence){14, 7});

	rig_up(rig);
	rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 500000, 0);
	rig_send(&rig->a, EMU_WR_RDMA_READ, 2, 600000, 300000, 600000);
	sim_run_until(rig->sim, 7 * US);
	sim_partition(rig->sim, 0, 1, true);
	sim_run_until(rig->sim, 3 * ACK_TIMEOUT(14));
	sim_partition(rig->sim, 0, 1, false);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	rig_expect(&rig->a, rig->a.scq, 2, EMU_WC_SUCCESS);
	assert_memory_equal(rig->a.buf, rig->b.buf, 500000);
	assert_memory_equal(rig->a.buf + 600000, rig->b.buf + 600000, 300000);
	rig_down(rig);
}

static void link_that_breaks_often_still_carries_everything_once(void **state)
{
	struct rig *rig = new_silent(state, &(struct silence){8, 7});
	struct emu_sge sge;
	struct emu_send_wr wr;
	uint64_t word = 0, now;

	rig_up(rig);
	memset(rig->b.buf, 0, 8);
	for (unsigned i = 0; i < 60; i++) {
		sge = rig_sge(&rig->a, 64 + 8 * i, 8);
		wr = rig_wr(&rig->a, EMU_WR_ATOMIC_FETCH_AND_ADD, i, &sge, 0);
		wr.compare_add = 1;
		rig_post(&rig->a, &wr);
	}
	for (unsigned i = 0; i < 30; i++) {
		now = sim_now(rig->sim);
		sim_run_until(rig->sim, now + (17 + 7 * i) * US);
		sim_partition(rig->sim, 0, 1, true);
		sim_run_until(rig->sim, sim_now(rig->sim) + 3 * US);
		sim_partition(rig->sim, 0, 1, false);
	}
	for (unsigned i = 0; i < 60; i++)
		rig_expect(&rig->a, rig->a.scq, i, EMU_WC_SUCCESS);
	for (unsigned i = 0; i < 60; i++) {
		memcpy(&word, rig->a.buf + 64 + 8 * i, 8);
		assert_int_equal(word, i);
	}
	rig_down(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BOTH_WIRES(rnr_retry_0_fails_at_the_first_rnr_nak),
		ON_BOTH_WIRES(rnr_retry_3_waits_three_timers),
		ON_BOTH_WIRES(rnr_timer_0_is_the_longest),
		ON_BOTH_WIRES(every_rnr_timer_code_has_its_ibta_time),
		ON_BOTH_WIRES(rnr_retry_7_waits_for_ever),
		ON_BOTH_WIRES(a_receive_in_time_ends_the_rnr_wait),
		ON_BOTH_WIRES(write_with_imm_waits_for_a_receive_too),
		ON_BOTH_WIRES(retries_end_after_retry_cnt_and_one_timeouts),
		ON_BOTH_WIRES(timeout_0_never_gives_up),
		ON_BOTH_WIRES(unknown_qp_number_is_silence),
		ON_BOTH_WIRES(peer_qp_that_is_not_ready_is_silence),
		ON_BOTH_WIRES(peer_qp_that_is_gone_is_silence),
		ON_BOTH_WIRES(dead_peer_is_reported_at_the_retry_limit),
		ON_BOTH_WIRES(requests_behind_a_dead_one_are_flushed),
		ON_BOTH_WIRES(target_that_connects_late_is_found),
		cmocka_unit_test(slow_peer_uses_up_no_retries),
		cmocka_unit_test(link_that_breaks_under_a_probe_counts_on),
		cmocka_unit_test(dead_peer_is_reported_at_once_if_asked_for),
		cmocka_unit_test(peer_that_died_in_a_pause_is_reported_at_the_next_request),
		cmocka_unit_test(slow_peer_on_a_lossy_wire_times_out),
		ON_BOTH_WIRES(short_cut_is_survived),
		ON_BOTH_WIRES(link_that_breaks_often_still_carries_everything_once),
	};

	return cmocka_run_group_tests_name("RC timers", tests, NULL, NULL);
}
