/* SPDX-License-Identifier: BSD-2-Clause */
/* The values of IBTA's timer fields, and the heap of deadlines. */
#include "device.h"

#include "timer.h"

static void ack_timeout_is_4096_ns_doubled(void **state)
{
	assert_true(emu_ack_timeout_ns(0) == EMU_NEVER);
	assert_int_equal(emu_ack_timeout_ns(1), 8192);
	assert_int_equal(emu_ack_timeout_ns(14), 67108864);
	assert_int_equal(emu_ack_timeout_ns(19), 2147483648u);
	assert_true(emu_ack_timeout_ns(31) == 8796093022208ull);
}

static void rnr_timer_has_the_values_of_table_45(void **state)
{
	static const uint32_t us[32] = {
		655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
		480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
		20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};

	for (uint8_t code = 0; code < 32; code++)
		assert_int_equal(emu_rnr_timer_ns(code), us[code] * 1000ull);
}

/* Random sets and stops; what comes out is what a plain list would give. */
static void deadlines_come_up_in_order(void **state)
{
	enum { N = 50 };
	struct emu_timers timers = {0};
	struct emu_timer timer[N] = {{0}};
	uint64_t due[N], now = 0;
	uint32_t x = 7;

	assert_int_equal(emu_timers_reserve(&timers, N), 0);
	for (unsigned i = 0; i < N; i++)
		due[i] = timer[i].deadline = EMU_NEVER;
	for (unsigned step = 0; step < 20000; step++) {
		struct emu_timer *up;
		unsigned i;

		x = x * 1664525u + 1013904223u;
		i = (x >> 16) % N;
		if (x >> 31) {
			due[i] = now + (x >> 8) % 1000;
			emu_timer_set(&timers, &timer[i], due[i]);
		} else if (x & 0x1000) {
			due[i] = EMU_NEVER;
			emu_timer_stop(&timers, &timer[i]);
		}
		for (unsigned k = 0; k < N; k++)
			assert_true(emu_timers_next(&timers) <= due[k]);
		now += (x >> 4) % 20;
		while ((up = emu_timers_pop(&timers, now))) {
			assert_true(due[up - timer] <= now);
			due[up - timer] = EMU_NEVER;
		}
		for (unsigned k = 0; k < N; k++)
			assert_true(due[k] > now);
	}
	emu_timers_fini(&timers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ack_timeout_is_4096_ns_doubled),
		cmocka_unit_test(rnr_timer_has_the_values_of_table_45),
		cmocka_unit_test(deadlines_come_up_in_order),
	};

	return cmocka_run_group_tests_name("timers", tests, NULL, NULL);
}
