/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Questions that wait for their answer. All who want to know about the same
 * address share one: a thousand clients that connect at once would overflow the
 * socket of whom they ask.
 */
#ifndef HOST_CM_QUESTION_H
#define HOST_CM_QUESTION_H

#include <emu/cm.h>

struct nic_cm_question;

/* Zero-initialised is empty. */
struct nic_cm_questions {
	struct nic_cm_question *first;
	uint32_t last_number;
};

/*
 * cookie wants to know who listens for dst. True: ask, under this number;
 * false: it has been asked just now (or there is no memory).
 */
bool nic_cm_question_add(struct nic_cm_questions *questions, const struct emu_cm_addr *dst,
			 uint16_t ps, uint32_t cookie, uint32_t *number);
/* Its number was answered: tells all who wait, and forgets it. Extra answers do nothing. */
void nic_cm_question_found(struct nic_cm_questions *questions, uint32_t number,
			   struct emu_dev *dev, uint32_t slot);
void nic_cm_question_refused(struct nic_cm_questions *questions, uint32_t number,
			     struct emu_dev *dev);
void nic_cm_questions_free(struct nic_cm_questions *questions);

#endif
