/* SPDX-License-Identifier: BSD-2-Clause */
/* Which state changes are legal, and with which attributes. */
#ifndef EMU_QP_STATE_H
#define EMU_QP_STATE_H

#include <emu/types.h>

/* May a QP of this type go from one state to another with exactly this attribute mask? */
bool emu_qp_transition_legal(enum emu_qp_type type, enum emu_qp_state from, enum emu_qp_state to,
			     uint32_t mask);

#endif
