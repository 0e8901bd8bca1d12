/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm_question.h"

#include "progress.h"

#include <stdlib.h>
#include <string.h>

/* Question or answer may get lost: who comes so much later asks again. */
#define AGAIN_NS 20000000u
/* Who has waited that long has asked again since, or has given up. */
#define FORGET_NS 20000000000u

struct nic_cm_question {
	struct nic_cm_question *next;
	struct emu_cm_addr dst;
	uint16_t ps;
	uint32_t number;
	uint64_t made_ns, asked_ns;
	uint32_t *cookies;
	unsigned count, room;
};

static void free_question(struct nic_cm_question *q)
{
	free(q->cookies);
	free(q);
}

static void forget_old(struct nic_cm_questions *questions, uint64_t now)
{
	struct nic_cm_question **link = &questions->first, *q;

	while ((q = *link)) {
		if (now - q->made_ns < FORGET_NS) {
			link = &q->next;
			continue;
		}
		*link = q->next;
		free_question(q);
	}
}

static struct nic_cm_question *find(struct nic_cm_questions *questions,
				    const struct emu_cm_addr *dst, uint16_t ps)
{
	struct nic_cm_question *q = questions->first;

	while (q && (q->ps != ps || q->dst.port != dst->port ||
		     memcmp(&q->dst.ip, &dst->ip, sizeof(dst->ip)) != 0))
		q = q->next;
	return q;
}

static struct nic_cm_question *make(struct nic_cm_questions *questions,
				    const struct emu_cm_addr *dst, uint16_t ps, uint64_t now)
{
	struct nic_cm_question *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->dst = *dst;
	q->ps = ps;
	q->number = ++questions->last_number;
	q->made_ns = now;
	q->asked_ns = now - AGAIN_NS;
	q->next = questions->first;
	questions->first = q;
	return q;
}

static bool add_cookie(struct nic_cm_question *q, uint32_t cookie)
{
	uint32_t *more;

	for (unsigned i = 0; i < q->count; i++)
		if (q->cookies[i] == cookie)
			return true;
	if (q->count == q->room) {
		more = realloc(q->cookies, (2 * q->room + 4) * sizeof(*more));
		if (!more)
			return false;
		q->cookies = more;
		q->room = 2 * q->room + 4;
	}
	q->cookies[q->count++] = cookie;
	return true;
}

bool nic_cm_question_add(struct nic_cm_questions *questions, const struct emu_cm_addr *dst,
			 uint16_t ps, uint32_t cookie, uint32_t *number)
{
	uint64_t now = nic_now();
	struct nic_cm_question *q;

	forget_old(questions, now);
	q = find(questions, dst, ps);
	if (!q)
		q = make(questions, dst, ps, now);
	if (!q || !add_cookie(q, cookie) || now - q->asked_ns < AGAIN_NS)
		return false;
	q->asked_ns = now;
	*number = q->number;
	return true;
}

static struct nic_cm_question *take_out(struct nic_cm_questions *questions, uint32_t number)
{
	struct nic_cm_question **link = &questions->first, *q;

	while ((q = *link) && q->number != number)
		link = &q->next;
	if (q)
		*link = q->next;
	return q;
}

void nic_cm_question_found(struct nic_cm_questions *questions, uint32_t number,
			   struct emu_dev *dev, uint32_t slot)
{
	struct nic_cm_question *q = take_out(questions, number);

	if (!q)
		return;
	for (unsigned i = 0; i < q->count; i++)
		emu_cm_found(dev, q->cookies[i], slot);
	free_question(q);
}

void nic_cm_question_refused(struct nic_cm_questions *questions, uint32_t number,
			     struct emu_dev *dev)
{
	struct nic_cm_question *q = take_out(questions, number);

	if (!q)
		return;
	for (unsigned i = 0; i < q->count; i++)
		emu_cm_refused(dev, q->cookies[i]);
	free_question(q);
}

void nic_cm_questions_free(struct nic_cm_questions *questions)
{
	forget_old(questions, UINT64_MAX);
}
