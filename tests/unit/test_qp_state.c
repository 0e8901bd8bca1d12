/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_modify_qp(3): every pair of states, each required attribute left out,
 * each optional one added, each other one refused.
 */
#include "device.h"

#include "qp_state.h"

struct change {
	enum emu_qp_state from, to;
	uint32_t required, optional;
};

#define RTR_RC                                                                                     \
	(EMU_QP_AV | EMU_QP_PATH_MTU | EMU_QP_DEST_QPN | EMU_QP_RQ_PSN |                           \
	 EMU_QP_MAX_DEST_RD_ATOMIC | EMU_QP_MIN_RNR_TIMER)
#define RTS_RC                                                                                     \
	(EMU_QP_TIMEOUT | EMU_QP_RETRY_CNT | EMU_QP_RNR_RETRY | EMU_QP_SQ_PSN |                    \
	 EMU_QP_MAX_QP_RD_ATOMIC)
#define LIVE_RC                                                                                    \
	(EMU_QP_CUR_STATE | EMU_QP_ACCESS_FLAGS | EMU_QP_MIN_RNR_TIMER | EMU_QP_ALT_PATH |         \
	 EMU_QP_PATH_MIG_STATE)
#define INIT_RC (EMU_QP_PKEY_INDEX | EMU_QP_PORT | EMU_QP_ACCESS_FLAGS)

static const struct change rc[] = {
	{EMU_QPS_RESET, EMU_QPS_INIT, INIT_RC, 0},
	{EMU_QPS_INIT, EMU_QPS_INIT, 0, INIT_RC},
	{EMU_QPS_INIT, EMU_QPS_RTR, RTR_RC,
         EMU_QP_ALT_PATH | EMU_QP_ACCESS_FLAGS | EMU_QP_PKEY_INDEX},
	{EMU_QPS_RTR, EMU_QPS_RTS, RTS_RC, LIVE_RC | EMU_QP_RATE_LIMIT},
	{EMU_QPS_RTS, EMU_QPS_RTS, 0, LIVE_RC | EMU_QP_RATE_LIMIT},
	{EMU_QPS_RTS, EMU_QPS_SQD, 0, EMU_QP_EN_SQD_ASYNC_NOTIFY},
	{EMU_QPS_SQD, EMU_QPS_RTS, 0, LIVE_RC},
	{EMU_QPS_SQD, EMU_QPS_SQD, 0,
         LIVE_RC | EMU_QP_PORT | EMU_QP_AV | EMU_QP_TIMEOUT | EMU_QP_RETRY_CNT | EMU_QP_RNR_RETRY |
                 EMU_QP_MAX_QP_RD_ATOMIC | EMU_QP_MAX_DEST_RD_ATOMIC | EMU_QP_PKEY_INDEX},
};

#define LIVE_UC                                                                                    \
	(EMU_QP_CUR_STATE | EMU_QP_ACCESS_FLAGS | EMU_QP_ALT_PATH | EMU_QP_PATH_MIG_STATE)

static const struct change uc[] = {
	{EMU_QPS_RESET, EMU_QPS_INIT, INIT_RC, 0},
	{EMU_QPS_INIT, EMU_QPS_INIT, 0, INIT_RC},
	{EMU_QPS_INIT, EMU_QPS_RTR,
         EMU_QP_AV | EMU_QP_PATH_MTU | EMU_QP_DEST_QPN | EMU_QP_RQ_PSN,
         EMU_QP_ALT_PATH | EMU_QP_ACCESS_FLAGS | EMU_QP_PKEY_INDEX},
	{EMU_QPS_RTR, EMU_QPS_RTS, EMU_QP_SQ_PSN, LIVE_UC},
	{EMU_QPS_RTS, EMU_QPS_RTS, 0, LIVE_UC},
	{EMU_QPS_RTS, EMU_QPS_SQD, 0, EMU_QP_EN_SQD_ASYNC_NOTIFY},
	{EMU_QPS_SQD, EMU_QPS_RTS, 0, LIVE_UC},
	{EMU_QPS_SQD, EMU_QPS_SQD, 0,
         EMU_QP_AV | EMU_QP_ALT_PATH | EMU_QP_PKEY_INDEX | EMU_QP_ACCESS_FLAGS |
                 EMU_QP_PATH_MIG_STATE},
	{EMU_QPS_SQE, EMU_QPS_RTS, 0, EMU_QP_CUR_STATE | EMU_QP_ACCESS_FLAGS},
};

static const struct {
	enum emu_qp_type type;
	const struct change *changes;
	size_t count;
} tables[] = {{EMU_QPT_RC, rc, COUNT(rc)}, {EMU_QPT_UC, uc, COUNT(uc)}};

/* The table in use. */
static size_t t;

static const struct change *find(enum emu_qp_state from, enum emu_qp_state to)
{
	for (size_t i = 0; i < tables[t].count; i++) {
		if (tables[t].changes[i].from == from && tables[t].changes[i].to == to)
			return &tables[t].changes[i];
	}
	return NULL;
}

static bool legal(enum emu_qp_state from, enum emu_qp_state to, uint32_t mask)
{
	return emu_qp_transition_legal(tables[t].type, from, to, mask | EMU_QP_STATE);
}

static void check_change(const struct change *c)
{
	assert_true(legal(c->from, c->to, c->required));
	assert_true(legal(c->from, c->to, c->required | c->optional));
	for (unsigned bit = 1; bit < 26; bit++) {
		uint32_t one = 1u << bit;

		if (c->required & one)
			assert_false(legal(c->from, c->to, c->required & ~one));
		else
			assert_int_equal(legal(c->from, c->to, c->required | one),
			                 (c->optional & one) != 0);
	}
}

static void check_every_change(void)
{
	for (unsigned from = 0; from < EMU_QPS_COUNT; from++) {
		for (unsigned to = 0; to < EMU_QPS_COUNT; to++) {
			const struct change *c = find(from, to);

			if (to == EMU_QPS_RESET || to == EMU_QPS_ERR)
				assert_true(legal(from, to, 0));
			else if (c)
				check_change(c);
			else
				assert_false(legal(from, to, 0));
		}
	}
}

static void every_change_of_an_rc_or_uc_qp_is_as_documented(void **state)
{
	for (t = 0; t < COUNT(tables); t++)
		check_every_change();
	t = 0;
}

static void reset_and_err_take_no_attributes(void **state)
{
	static const enum emu_qp_state ends[] = {EMU_QPS_RESET, EMU_QPS_ERR};

	for (size_t i = 0; i < COUNT(ends); i++) {
		for (unsigned bit = 2; bit < 26; bit++)
			assert_false(legal(EMU_QPS_RTS, ends[i], 1u << bit));
	}
}

static void skipping_a_state_is_illegal_with_any_attributes(void **state)
{
	assert_false(legal(EMU_QPS_RESET, EMU_QPS_RTR, RTR_RC));
	assert_false(legal(EMU_QPS_RESET, EMU_QPS_RTS, RTS_RC));
	assert_false(legal(EMU_QPS_INIT, EMU_QPS_RTS, RTS_RC));
	assert_false(legal(EMU_QPS_ERR, EMU_QPS_INIT, INIT_RC));
	assert_false(legal(EMU_QPS_ERR, EMU_QPS_RTS, RTS_RC));
	assert_false(legal(EMU_QPS_RTS, EMU_QPS_INIT, INIT_RC));
	assert_false(legal(EMU_QPS_SQE, EMU_QPS_RTS, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_change_of_an_rc_or_uc_qp_is_as_documented),
		cmocka_unit_test(reset_and_err_take_no_attributes),
		cmocka_unit_test(skipping_a_state_is_illegal_with_any_attributes),
	};

	return cmocka_run_group_tests_name("QP states", tests, NULL, NULL);
}
