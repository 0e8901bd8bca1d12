/* SPDX-License-Identifier: BSD-2-Clause */
/* The requester: turns WQEs of the send queue into request packets (IBTA 9.7.2). */
#ifndef EMU_REQ_H
#define EMU_REQ_H

#include "qp.h"

/* Send what may be sent, a bounded number of frames. True when there is more. */
bool emu_req_run(struct emu_qp *qp);
/* Continue sending from psn, which lies between una_psn and psn. */
void emu_req_seek(struct emu_qp *qp, uint32_t psn);
/* The WQE at una ends with this fault; an RC QP goes to ERR, the others to SQE. */
void emu_req_fail(struct emu_qp *qp, enum emu_fault fault);
/* UC: a wire has given back a packet of the WQE with that index. */
void emu_req_tx_done(struct emu_qp *qp, uint32_t index);
/* In SQD, once nothing is outstanding: tell the program, if it asked for that. */
void emu_req_report_drained(struct emu_qp *qp);
/* Packets sent that have no answer yet? */
static inline bool emu_req_outstanding(const struct emu_qp *qp)
{
	return qp->req.send_psn != qp->req.una_psn;
}

#endif
