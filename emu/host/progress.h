/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOST_PROGRESS_H
#define HOST_PROGRESS_H

#include "nic_state.h"

/* How long nobody may drive before the thread does. */
#define NIC_STANDBY_NS 1000000u

uint64_t nic_now(void);

/* Take the device lock, cancellation off. nic_try_enter: false when it is held. */
void nic_enter(struct nic *nic);
bool nic_try_enter(struct nic *nic);
/* Give it back; runs what was rung meanwhile. */
void nic_leave(struct nic *nic);

/* The rest runs under the device lock. */

/* Tell core and wires what time it is. */
void nic_tick(struct nic *nic);
/*
 * Take in, run, send: one bounded pass. True when there is more to do now. Lazy:
 * the program is about to call again, an ACK may wait for that.
 */
bool nic_pass(struct nic *nic, bool lazy);
/* What a caller left to do: run and send it, have the rest done soon. */
void nic_run_and_send(struct nic *nic);
/* Is there something to do that no descriptor tells? */
bool nic_leftover(const struct nic *nic);
/* Set the deadline timer for those who sleep. */
void nic_arm_deadline(struct nic *nic);
/* Nothing to do and no event unseen: the caller may sleep on the descriptors. */
bool nic_may_sleep(struct nic *nic);

/* Wake the thread if it sleeps. Any thread. */
void nic_ring(struct nic *nic);
/* The thread keeps out of the way. Any thread. */
bool nic_driven(const struct nic *nic);
/* Start the standby timer. Any thread. */
void nic_arm_standby(struct nic *nic);

#endif
