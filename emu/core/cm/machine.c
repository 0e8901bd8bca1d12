// SPDX-License-Identifier: BSD-2-Clause
#include "cm/machine.h"

#include <string.h>

#include "cm/conn.h"
#include "cm/out.h"
#include "cm/report.h"
#include "cm/send.h"
#include "err.h"

/* For so many response timeouts an answer is kept, should the question come again. */
#define LINGER_TIMEOUTS 2

enum timer_use {
	TIMER_KEEP,
	TIMER_OFF,
	TIMER_RESPONSE, /* an answer may take that long */
	TIMER_SERVICE, /* as long as the MRA says */
	TIMER_TIMEWAIT, /* packets of the connection may still be on their way */
	TIMER_LINGER, /* the question may come again */
};

struct row {
	bool used;
	uint8_t next; /* enum emu_cm_state */
	uint8_t send; /* enum emu_cm_send */
	uint8_t timer; /* enum timer_use */
	int8_t report; /* enum emu_cm_event_type, or NO_REPORT */
	int status;
};

#define AS_GIVEN INT32_MAX

/* The words of cm.def. */
#define EMU_CM_NOTHING (-1)

static const struct row table[EMU_CM_STATES][EMU_CM_ONS] = {
#define CM(state, on, next, send, timer, report, status)                                          \
	[EMU_CM_ST_##state][EMU_CM_ON_##on] = { true, EMU_CM_ST_##next, EMU_CM_SEND_##send,       \
						TIMER_##timer, EMU_CM_##report, status },
#include "cm.def"
#undef CM
};

static const struct row *find(const struct emu_cm_id *id, enum emu_cm_on on)
{
	const struct row *row = &table[id->state][on];

	return row->used ? row : NULL;
}

bool emu_cm_can(const struct emu_cm_id *id, enum emu_cm_on on)
{
	return find(id, on);
}

/* 4.096 us x 2^code; unlike a local ACK timeout, 0 is no exception. */
static uint64_t code_ns(uint64_t code)
{
	return 4096ull << code;
}

/* Both ways through the network come on top of what the other side takes. */
static uint64_t answer_within(const struct emu_cm_id *id, uint64_t code)
{
	return code_ns(code) + 2 * code_ns(id->cm->dev->cfg.cm.packet_life);
}

static uint64_t wait_of(const struct emu_cm_id *id, uint8_t use, const struct emu_cm_in *in)
{
	const struct emu_cm_config *cfg = &id->cm->dev->cfg.cm;

	switch (use) {
	case TIMER_SERVICE:
		return answer_within(id, in->msg->service_timeout);
	case TIMER_TIMEWAIT:
		return code_ns(cfg->packet_life + 1u);
	case TIMER_LINGER:
		return LINGER_TIMEOUTS * answer_within(id, cfg->response_timeout);
	default:
		return answer_within(id, cfg->response_timeout);
	}
}

static void set_timer(struct emu_cm_id *id, uint8_t use, const struct emu_cm_in *in)
{
	struct emu_dev *dev = id->cm->dev;

	if (use == TIMER_OFF)
		emu_timer_stop(&dev->timers, &id->timer);
	else if (use != TIMER_KEEP)
		emu_timer_set(&dev->timers, &id->timer, dev->now + wait_of(id, use, in));
}

static void count(struct emu_cm_id *id, enum emu_cm_on on, const struct row *row)
{
	struct emu_counters *counters = &id->cm->dev->counters;

	if (on > EMU_CM_ON_SIDR_REFUSAL)
		return;
	if (!row)
		counters->cm_dropped++;
	else if (row->next == id->state && on != EMU_CM_ON_MRA)
		counters->cm_duplicate++;
}

static int status_of(const struct row *row, const struct emu_cm_in *in)
{
	return row->status == AS_GIVEN ? (int)in->msg->reason : row->status;
}

int emu_cm_do(struct emu_cm_id *id, enum emu_cm_on on, const struct emu_cm_in *in)
{
	const struct row *row = find(id, on);

	count(id, on, row);
	if (!row)
		return -EMU_EINVAL;
	id->state = row->next;
	emu_cm_send(id, row->send, in);
	set_timer(id, row->timer, in);
	if (row->report != EMU_CM_NOTHING && !id->orphan)
		emu_cm_report(id, row->report, status_of(row, in), in->msg);
	if (id->orphan && id->state == EMU_CM_ST_IDLE)
		emu_cm_id_free(id);
	return 0;
}
