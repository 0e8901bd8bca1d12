// SPDX-License-Identifier: BSD-2-Clause
#include "qp_state.h"

/* The table's words without their prefix. */
enum {
	CUR_STATE = EMU_QP_CUR_STATE,
	EN_SQD_ASYNC_NOTIFY = EMU_QP_EN_SQD_ASYNC_NOTIFY,
	ACCESS_FLAGS = EMU_QP_ACCESS_FLAGS,
	PKEY_INDEX = EMU_QP_PKEY_INDEX,
	PORT = EMU_QP_PORT,
	QKEY = EMU_QP_QKEY,
	AV = EMU_QP_AV,
	PATH_MTU = EMU_QP_PATH_MTU,
	TIMEOUT = EMU_QP_TIMEOUT,
	RETRY_CNT = EMU_QP_RETRY_CNT,
	RNR_RETRY = EMU_QP_RNR_RETRY,
	RQ_PSN = EMU_QP_RQ_PSN,
	MAX_QP_RD_ATOMIC = EMU_QP_MAX_QP_RD_ATOMIC,
	ALT_PATH = EMU_QP_ALT_PATH,
	MIN_RNR_TIMER = EMU_QP_MIN_RNR_TIMER,
	SQ_PSN = EMU_QP_SQ_PSN,
	MAX_DEST_RD_ATOMIC = EMU_QP_MAX_DEST_RD_ATOMIC,
	PATH_MIG_STATE = EMU_QP_PATH_MIG_STATE,
	DEST_QPN = EMU_QP_DEST_QPN,
	RATE_LIMIT = EMU_QP_RATE_LIMIT,
};

struct transition {
	uint8_t from, to, type;
	uint32_t required, optional;
};

static const struct transition transitions[] = {
#define TRANS(f, t, ty, req, opt)                                                                 \
	{ EMU_QPS_##f, EMU_QPS_##t, EMU_QPT_##ty, req, opt },
#include "qp_state.def"
#undef TRANS
};

bool emu_qp_transition_legal(enum emu_qp_type type, enum emu_qp_state from, enum emu_qp_state to,
			     uint32_t mask)
{
	mask &= ~EMU_QP_STATE;
	if (to == EMU_QPS_RESET || to == EMU_QPS_ERR)
		return (mask & ~EMU_QP_CUR_STATE) == 0;
	for (unsigned i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		const struct transition *t = &transitions[i];

		if (t->from == from && t->to == to && t->type == type)
			return (mask & t->required) == t->required &&
			       (mask & ~(t->required | t->optional)) == 0;
	}
	return false;
}
