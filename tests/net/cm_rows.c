/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every row of cm.def, one test each, named STATE_EVENT: an id is brought into
 * the state through the doors, the event happens, and next state, message sent
 * and event reported are those of the row. The other side is played by hand.
 */
#include "cm_rig.h"

#include <string.h>

#include "cm/conn.h"
#include "cm/out.h"
#include "pkt.h"

#define THEIR_ID 0x5eed0001u
#define THEIR_QPN 0x300u
#define OUR_QPN 0x400u

struct scene {
	struct world *w;
	struct emu_dev *dev;
	struct emu_cm_listener *listener;
	struct emu_cm_id *id;
	unsigned lookups;
	int sent; /* kind of the last message that the engine sent, -1: none */
	enum emu_cm_ps ps;
};

/* ---- the other side ---------------------------------------------------------- */

static enum sim_verdict note_and_drop(void *arg, const struct sim_frame *frame)
{
	struct scene *s = arg;
	struct emu_cm_msg msg;

	if (frame->src == 0) {
		assert_true(emu_cm_parse(frame->tx->iov[0].base, frame->payload, &msg));
		s->sent = (int)msg.kind;
	}
	return SIM_DROP;
}

static void say(struct scene *s, struct emu_cm_msg *msg)
{
	uint8_t frame[EMU_HDR_MAX + EMU_MAD_BYTES];
	struct emu_pkt pkt = {
		.op = emu_opcode(EMU_PKT_UD_SEND_ONLY),
		.dqpn = EMU_CM_QP,
		.qkey = EMU_CM_QKEY,
		.src_qpn = 1 << 12 | EMU_CM_QP,
		.grh = {.sgid = sim_gid(1), .dgid = sim_gid(0)},
	};
	uint32_t hdr = emu_pkt_pack(&pkt, frame);

	emu_cm_pack(msg, frame + hdr);
	sim_inject(s->w->sim, 1, 0, frame, hdr + EMU_MAD_BYTES);
	sim_run_until(s->w->sim, sim_now(s->w->sim) + 10 * US);
}

static struct emu_cm_msg message(struct scene *s, enum emu_cm_kind kind)
{
	return (struct emu_cm_msg){
		.kind = kind,
		.local_id = THEIR_ID,
		.remote_id = s->id ? s->id->local_id : 0,
		.ca_guid = 99,
		.mtu = 5,
		.qpn = kind == EMU_CM_MSG_DREQ ? s->id->local_qpn : THEIR_QPN,
		.service_id = (uint64_t)s->ps << 16 | PORT,
		.src = addr_of(1, 40000),
		.dst = addr_of(0, PORT),
		.service_timeout = 24,
		.reason = kind == EMU_CM_MSG_REJ ? 7 : 0,
	};
}

static void say_kind(struct scene *s, enum emu_cm_kind kind)
{
	struct emu_cm_msg msg = message(s, kind);

	say(s, &msg);
}

/* ---- into a state --------------------------------------------------------------- */

static struct emu_cm_params our_params(void)
{
	return (struct emu_cm_params){.qpn = OUR_QPN, .qp_type = EMU_QPT_RC, .path_mtu = 5};
}

static void do_connect(struct scene *s)
{
	const struct emu_cm_connect args = {
		.ps = EMU_CM_PS_TCP,
		.src = addr_of(0, 40000),
		.dst = addr_of(1, PORT),
		.params = our_params(),
	};

	assert_int_equal(emu_cm_connect(s->dev, &args, NULL, &s->id), 0);
}

static void do_sidr_connect(struct scene *s)
{
	const struct emu_cm_connect args = {
		.ps = EMU_CM_PS_UDP, .src = addr_of(0, 40000), .dst = addr_of(1, PORT)};

	s->ps = EMU_CM_PS_UDP;
	assert_int_equal(emu_cm_sidr_connect(s->dev, &args, NULL, &s->id), 0);
}

static void do_found(struct scene *s)
{
	emu_cm_found(s->dev, s->id->local_id, 1);
	sim_run_until(s->w->sim, sim_now(s->w->sim) + 10 * US);
}

static void take_request(struct scene *s, enum emu_cm_kind kind)
{
	struct sim_cm_event e;

	say_kind(s, kind);
	assert_true(sim_take_cm_event(s->w->sim, 0, &e));
	s->id = e.event.id;
}

static void do_accept(struct scene *s)
{
	const struct emu_cm_params params = our_params();

	assert_int_equal(emu_cm_accept(s->id, &params), 0);
}

static void do_reject(struct scene *s)
{
	assert_int_equal(emu_cm_reject(s->id, EMU_CM_REJ_CONSUMER_DEFINED, NULL, 0), 0);
}

static void do_sidr_reply(struct scene *s)
{
	const struct emu_cm_params params = our_params();

	assert_int_equal(emu_cm_sidr_reply(s->id, EMU_CM_SIDR_SUCCESS, &params), 0);
}

static void to_new(struct scene *s)
{
}

static void to_lookup(struct scene *s)
{
	do_connect(s);
}

static void to_req_sent(struct scene *s)
{
	do_connect(s);
	do_found(s);
}

static void to_mra_req_rcvd(struct scene *s)
{
	to_req_sent(s);
	say_kind(s, EMU_CM_MSG_MRA);
}

static void to_rep_rcvd(struct scene *s)
{
	to_req_sent(s);
	say_kind(s, EMU_CM_MSG_REP);
}

static void to_req_rcvd(struct scene *s)
{
	take_request(s, EMU_CM_MSG_REQ);
}

static void to_rep_sent(struct scene *s)
{
	to_req_rcvd(s);
	do_accept(s);
}

static void to_mra_rep_rcvd(struct scene *s)
{
	to_rep_sent(s);
	say_kind(s, EMU_CM_MSG_MRA);
}

static void to_established(struct scene *s)
{
	to_rep_sent(s);
	say_kind(s, EMU_CM_MSG_RTU);
}

static void to_dreq_sent(struct scene *s)
{
	to_established(s);
	assert_int_equal(emu_cm_disconnect(s->id), 0);
}

static void to_dreq_rcvd(struct scene *s)
{
	to_established(s);
	say_kind(s, EMU_CM_MSG_DREQ);
}

static void to_timewait(struct scene *s)
{
	to_dreq_sent(s);
	say_kind(s, EMU_CM_MSG_DREP);
}

static void to_sidr_lookup(struct scene *s)
{
	do_sidr_connect(s);
}

static void to_sidr_req_sent(struct scene *s)
{
	do_sidr_connect(s);
	do_found(s);
}

static void to_sidr_req_rcvd(struct scene *s)
{
	s->ps = EMU_CM_PS_UDP;
	take_request(s, EMU_CM_MSG_SIDR_REQ);
}

static void to_answered(struct scene *s)
{
	if (s->ps == EMU_CM_PS_UDP) {
		to_sidr_req_rcvd(s);
		do_sidr_reply(s);
	} else {
		to_req_rcvd(s);
		do_reject(s);
	}
}

static void to_idle(struct scene *s)
{
	to_req_sent(s);
	say_kind(s, EMU_CM_MSG_REJ);
}

static void (*const to_state[EMU_CM_STATES])(struct scene *s) = {
	[EMU_CM_ST_NEW] = to_new,
	[EMU_CM_ST_LOOKUP] = to_lookup,
	[EMU_CM_ST_REQ_SENT] = to_req_sent,
	[EMU_CM_ST_MRA_REQ_RCVD] = to_mra_req_rcvd,
	[EMU_CM_ST_REP_RCVD] = to_rep_rcvd,
	[EMU_CM_ST_REQ_RCVD] = to_req_rcvd,
	[EMU_CM_ST_REP_SENT] = to_rep_sent,
	[EMU_CM_ST_MRA_REP_RCVD] = to_mra_rep_rcvd,
	[EMU_CM_ST_ESTABLISHED] = to_established,
	[EMU_CM_ST_DREQ_SENT] = to_dreq_sent,
	[EMU_CM_ST_DREQ_RCVD] = to_dreq_rcvd,
	[EMU_CM_ST_TIMEWAIT] = to_timewait,
	[EMU_CM_ST_ANSWERED] = to_answered,
	[EMU_CM_ST_SIDR_LOOKUP] = to_sidr_lookup,
	[EMU_CM_ST_SIDR_REQ_SENT] = to_sidr_req_sent,
	[EMU_CM_ST_SIDR_REQ_RCVD] = to_sidr_req_rcvd,
	[EMU_CM_ST_IDLE] = to_idle,
};

/* ---- events --------------------------------------------------------------------- */

#define HEARS(name, kind)                                                                          \
	static void hear_##name(struct scene *s)                                                   \
	{                                                                                          \
		say_kind(s, EMU_CM_MSG_##kind);                                                    \
	}
HEARS(mra, MRA)
HEARS(rej, REJ)
HEARS(rep, REP)
HEARS(rtu, RTU)
HEARS(dreq, DREQ)
HEARS(drep, DREP)
HEARS(sidr_req, SIDR_REQ)
HEARS(sidr_rep, SIDR_REP)

static void hear_req(struct scene *s)
{
	if (s->id)
		say_kind(s, EMU_CM_MSG_REQ);
	else
		say_kind(s, s->ps == EMU_CM_PS_UDP ? EMU_CM_MSG_SIDR_REQ : EMU_CM_MSG_REQ);
}

static void hear_sidr_refusal(struct scene *s)
{
	struct emu_cm_msg msg = message(s, EMU_CM_MSG_SIDR_REP);

	msg.reason = 7;
	say(s, &msg);
}

static void do_refused(struct scene *s)
{
	emu_cm_refused(s->dev, s->id->local_id);
}

static void let_it_time_out(struct scene *s)
{
	/* ANSWERED waits only when nobody owns the id any more. */
	if (s->id->state == EMU_CM_ST_ANSWERED)
		emu_cm_destroy(s->id);
	sim_run_until(s->w->sim, s->id->timer.deadline);
}

static void let_it_give_up(struct scene *s)
{
	s->id->retries = 0;
	let_it_time_out(s);
}

static void kill_peer(struct scene *s)
{
	/* A link exists only to whom something was sent. */
	sim_set_filter(s->w->sim, NULL, NULL);
	sim_kill(s->w->sim, 1, 0);
	s->sent = -1;
	sim_run_until(s->w->sim, sim_now(s->w->sim) + 30 * MS);
}

static void do_establish(struct scene *s)
{
	assert_int_equal(emu_cm_establish(s->id), 0);
}

static void do_disconnect(struct scene *s)
{
	assert_int_equal(emu_cm_disconnect(s->id), 0);
}

static void do_notify(struct scene *s)
{
	assert_int_equal(emu_cm_notify(s->id), 0);
}

static void do_destroy(struct scene *s)
{
	emu_cm_destroy(s->id);
}

static void (*const happen[EMU_CM_ONS])(struct scene *s) = {
	[EMU_CM_ON_REQ] = hear_req,
	[EMU_CM_ON_MRA] = hear_mra,
	[EMU_CM_ON_REJ] = hear_rej,
	[EMU_CM_ON_REP] = hear_rep,
	[EMU_CM_ON_RTU] = hear_rtu,
	[EMU_CM_ON_DREQ] = hear_dreq,
	[EMU_CM_ON_DREP] = hear_drep,
	[EMU_CM_ON_SIDR_REQ] = hear_sidr_req,
	[EMU_CM_ON_SIDR_REP] = hear_sidr_rep,
	[EMU_CM_ON_SIDR_REFUSAL] = hear_sidr_refusal,
	[EMU_CM_ON_FOUND] = do_found,
	[EMU_CM_ON_REFUSED] = do_refused,
	[EMU_CM_ON_TIMEOUT] = let_it_time_out,
	[EMU_CM_ON_GIVE_UP] = let_it_give_up,
	[EMU_CM_ON_PEER_GONE] = kill_peer,
	[EMU_CM_ON_CONNECT] = do_connect,
	[EMU_CM_ON_SIDR_CONNECT] = do_sidr_connect,
	[EMU_CM_ON_ACCEPT] = do_accept,
	[EMU_CM_ON_ESTABLISH] = do_establish,
	[EMU_CM_ON_REJECT] = do_reject,
	[EMU_CM_ON_SIDR_REPLY] = do_sidr_reply,
	[EMU_CM_ON_DISCONNECT] = do_disconnect,
	[EMU_CM_ON_NOTIFY] = do_notify,
	[EMU_CM_ON_DESTROY] = do_destroy,
};

/* ---- what the rows say ----------------------------------------------------------- */

enum {
	SENDS_NOTHING = -1,
	SENDS_LOOK_UP = -2,
	SENDS_AGAIN = -3,
	SENDS_REQ = EMU_CM_MSG_REQ,
	SENDS_MRA = EMU_CM_MSG_MRA,
	SENDS_REP = EMU_CM_MSG_REP,
	SENDS_RTU = EMU_CM_MSG_RTU,
	SENDS_REJ = EMU_CM_MSG_REJ,
	SENDS_REJ_TIMEOUT = EMU_CM_MSG_REJ,
	SENDS_REJ_CONSUMER = EMU_CM_MSG_REJ,
	SENDS_DREQ = EMU_CM_MSG_DREQ,
	SENDS_DREP = EMU_CM_MSG_DREP,
	SENDS_SIDR_REQ = EMU_CM_MSG_SIDR_REQ,
	SENDS_SIDR_REP = EMU_CM_MSG_SIDR_REP,
	SENDS_SIDR_REJECT = EMU_CM_MSG_SIDR_REP,
};

#define EMU_CM_NOTHING (-1)
#define AS_GIVEN 7

struct expected {
	const char *name;
	enum emu_cm_state state, next;
	enum emu_cm_on on;
	int send, report, status;
};

static const struct expected rows[] = {
#define CM(state, on, next, send, timer, report, status)                                           \
	{#state "_" #on, EMU_CM_ST_##state, EMU_CM_ST_##next,                                      \
	 EMU_CM_ON_##on, SENDS_##send,      EMU_CM_##report,                                       \
	 status},
#include "cm/cm.def"
#undef CM
};

static void check_report(struct scene *s, const struct expected *row)
{
	struct sim_cm_event e;
	bool reported = sim_take_cm_event(s->w->sim, 0, &e);

	assert_int_equal(reported, row->report != EMU_CM_NOTHING);
	if (reported) {
		assert_int_equal(e.event.type, row->report);
		assert_int_equal(e.event.status, row->status);
		s->id = e.event.id;
	}
	assert_false(sim_take_cm_event(s->w->sim, 0, &e));
}

static void check_sent(struct scene *s, const struct expected *row, int last)
{
	unsigned asked = sim_lookups(s->w->sim) - s->lookups;

	assert_int_equal(asked, row->send == SENDS_LOOK_UP);
	if (row->send == SENDS_AGAIN)
		assert_int_equal(s->sent, last);
	else if (row->send != SENDS_LOOK_UP)
		assert_int_equal(s->sent, row->send);
}

/* TIMEOUT of an id in ANSWERED reports nothing because its owner has gone: it is freed. */
static bool freed(const struct expected *row)
{
	return row->next == EMU_CM_ST_IDLE &&
	       (row->on == EMU_CM_ON_DESTROY || row->state == EMU_CM_ST_ANSWERED);
}

static void the_row_happens(void **state)
{
	const struct expected *row = *state;
	struct scene s = {.w = world_up(SIM_RELIABLE, 2, 7), .sent = -1, .ps = EMU_CM_PS_TCP};
	struct sim_cm_event e;
	uint32_t local_id = 0;
	int last;

	s.dev = world_dev(s.w, 0);
	sim_set_filter(s.w->sim, note_and_drop, &s);
	sim_lose_lookups(s.w->sim, UINT32_MAX);
	s.listener = listen_on(s.w, 0, EMU_CM_PS_TCP, 4, NULL);
	listen_on(s.w, 0, EMU_CM_PS_UDP, 4, NULL);
	if (row->on == EMU_CM_ON_SIDR_REQ)
		s.ps = EMU_CM_PS_UDP;
	to_state[row->state](&s);
	sim_settle(s.w->sim);
	while (sim_take_cm_event(s.w->sim, 0, &e))
		;
	if (s.id) {
		assert_int_equal(s.id->state, row->state);
		local_id = s.id->local_id;
	}
	s.lookups = sim_lookups(s.w->sim);
	last = s.sent;
	s.sent = -1;

	happen[row->on](&s);
	sim_settle(s.w->sim);
	check_report(&s, row);
	check_sent(&s, row, last);
	if (freed(row))
		assert_null(emu_cm_id_get(s.dev->cm, local_id));
	else
		assert_int_equal(s.id->state, row->next);
	world_down(s.w);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows)];

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[i] = (struct CMUnitTest){.name = rows[i].name,
		                               .test_func = the_row_happens,
		                               .initial_state = (void *)&rows[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
