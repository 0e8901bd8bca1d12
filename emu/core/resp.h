/* SPDX-License-Identifier: BSD-2-Clause */
/* The responder: checks requests, executes them, answers (IBTA 9.7.3 to 9.7.5). */
#ifndef EMU_RESP_H
#define EMU_RESP_H

#include "pkt.h"
#include "qp.h"

/* A request packet, or a run of them. */
void emu_resp_input(struct emu_qp *qp, struct emu_pkt *pkt);
/* Send READ and atomic responses, then the ACK or NAK that is due. True when there is more. */
bool emu_resp_run(struct emu_qp *qp);

/* Carry out a request that passed every check (resp_exec.c); EMU_PASS or what went wrong. */
enum emu_fault emu_resp_execute(struct emu_qp *qp, struct emu_pkt *pkt);
/* Send a duplicate READ's or atomic's response again (resp_exec.c). */
void emu_resp_replay(struct emu_qp *qp, const struct emu_pkt *pkt);

#endif
