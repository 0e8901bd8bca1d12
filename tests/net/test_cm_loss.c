/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two programs and a wire that does one thing wrong: whichever message it is,
 * both see what they would have seen without.
 */
#include "cm_rig.h"

#include <stdio.h>
#include <string.h>

enum scene {
	CLIENT_DISCONNECTS,
	SERVER_DISCONNECTS,
	BOTH_DISCONNECT,
	SERVER_REJECTS,
	CLIENT_REJECTS,
	DATAGRAM,
	DATAGRAM_REJECTED,
};

struct play {
	enum scene scene;
	enum sim_verdict fault;
	int at; /* which message; -1: none */
	int messages;
	struct world *w;
	struct emu_cm_id *client, *server;
	char seen[2][200]; /* by each side */
};

static enum sim_verdict one_fault(void *arg, const struct sim_frame *frame)
{
	struct play *p = arg;

	return p->messages++ == p->at ? p->fault : SIM_PASS;
}

/* ---- the programs --------------------------------------------------------------- */

static void answer(struct play *p, struct emu_cm_id *id)
{
	const struct emu_cm_params params = params_with(p->w, "yes");

	p->server = id;
	emu_cm_taken(id);
	if (p->scene == SERVER_REJECTS)
		assert_int_equal(emu_cm_reject(id, EMU_CM_REJ_CONSUMER_DEFINED, "no", 2), 0);
	else
		assert_int_equal(emu_cm_accept(id, &params), 0);
}

static void answer_datagram(struct play *p, struct emu_cm_id *id)
{
	const struct emu_cm_params params = {.qpn = 5, .qkey = 6};

	p->server = id;
	emu_cm_taken(id);
	assert_int_equal(emu_cm_sidr_reply(id,
	                                   p->scene == DATAGRAM_REJECTED ? EMU_CM_SIDR_REJECT
	                                                                 : EMU_CM_SIDR_SUCCESS,
	                                   &params),
	                 0);
}

static void get_ready(struct play *p, struct emu_cm_id *id)
{
	if (p->scene == CLIENT_REJECTS)
		assert_int_equal(emu_cm_reject(id, EMU_CM_REJ_CONSUMER_DEFINED, NULL, 0), 0);
	else
		assert_int_equal(emu_cm_establish(id), 0);
}

static void part(struct play *p)
{
	if (p->scene != SERVER_DISCONNECTS)
		assert_int_equal(emu_cm_disconnect(p->client), 0);
	if (p->scene != CLIENT_DISCONNECTS)
		assert_int_equal(emu_cm_disconnect(p->server), 0);
}

static void react(struct play *p, unsigned side, const struct emu_cm_event *e)
{
	char *seen = p->seen[side];

	snprintf(seen + strlen(seen), sizeof(p->seen[side]) - strlen(seen), "%d/%d ", e->type,
	         e->status);
	switch (e->type) {
	case EMU_CM_REQUEST:
		answer(p, e->id);
		break;
	case EMU_CM_SIDR_REQUEST:
		answer_datagram(p, e->id);
		break;
	case EMU_CM_RESPONSE:
		get_ready(p, e->id);
		break;
	case EMU_CM_ESTABLISHED:
		part(p);
		break;
	case EMU_CM_DISCONNECTED:
		assert_int_equal(emu_cm_disconnect(e->id), 0);
		break;
	default:
		break;
	}
}

static void perform(struct play *p)
{
	struct sim_cm_event e;

	p->w = world_up(SIM_LOSSY, 2, 3);
	sim_set_filter(p->w->sim, one_fault, p);
	listen_on(p->w, 1, EMU_CM_PS_TCP, 0, NULL);
	listen_on(p->w, 1, EMU_CM_PS_UDP, 0, NULL);
	p->client = p->scene >= DATAGRAM ? sidr_connect_to(p->w, 0, 1, "hi")
	                                 : connect_to(p->w, 0, 1, "hi", NULL);
	while (sim_step(p->w->sim, 3000 * SECOND)) {
		for (unsigned side = 0; side < 2; side++)
			while (sim_take_cm_event(p->w->sim, side, &e))
				react(p, side, &e.event);
	}
	emu_cm_destroy(p->client);
	emu_cm_destroy(p->server);
	expect_end(p->w);
	assert_int_equal(emu_cm_count(world_dev(p->w, 0)) + emu_cm_count(world_dev(p->w, 1)), 0);
	world_down(p->w);
}

static void any_message_may_fail(enum scene scene, enum sim_verdict fault)
{
	struct play clean = {.scene = scene, .at = -1};

	perform(&clean);
	assert_true(clean.messages >= 2);
	for (int at = 0; at < clean.messages; at++) {
		struct play p = {.scene = scene, .at = at, .fault = fault};

		perform(&p);
		for (unsigned side = 0; side < 2; side++)
			if (strcmp(p.seen[side], clean.seen[side]) != 0)
				fail_msg("message %d: side %u sees %s, not %s", at, side,
				         p.seen[side], clean.seen[side]);
	}
}

#define FAULTS(name, scene)                                                                        \
	static void name##_with_a_message_lost(void **state)                                       \
	{                                                                                          \
		any_message_may_fail(scene, SIM_DROP);                                             \
	}                                                                                          \
	static void name##_with_a_message_twice(void **state)                                      \
	{                                                                                          \
		any_message_may_fail(scene, SIM_TWICE);                                            \
	}                                                                                          \
	static void name##_with_a_message_late(void **state)                                       \
	{                                                                                          \
		any_message_may_fail(scene, SIM_LATE);                                             \
	}

FAULTS(client_disconnects, CLIENT_DISCONNECTS)
FAULTS(server_disconnects, SERVER_DISCONNECTS)
FAULTS(both_disconnect, BOTH_DISCONNECT)
FAULTS(server_rejects, SERVER_REJECTS)
FAULTS(client_rejects, CLIENT_REJECTS)
FAULTS(datagram, DATAGRAM)
FAULTS(datagram_rejected, DATAGRAM_REJECTED)

/* ---- worse -------------------------------------------------------------------------- */

static void a_lost_lookup_is_asked_again(void **state)
{
	struct world *w = world_up(SIM_LOSSY, 2, 1);

	listen_on(w, 1, EMU_CM_PS_TCP, 0, NULL);
	sim_lose_lookups(w->sim, 2);
	connect_to(w, 0, 1, NULL, NULL);
	expect(w, 1, EMU_CM_REQUEST);
	assert_in_range(sim_now(w->sim), 2 * TRY_NS, 2 * TRY_NS + MS);
	world_down(w);
}

static void when_both_disconnect_one_message_may_be_lost_at_no_cost(void **state)
{
	struct world *w = world_up(SIM_LOSSY, 2, 1);
	struct play drop_next = {.fault = SIM_DROP};
	struct link link;

	listen_on(w, 1, EMU_CM_PS_TCP, 0, NULL);
	link = establish(w, 0, 1);
	sim_set_filter(w->sim, one_fault, &drop_next);
	assert_int_equal(emu_cm_disconnect(link.client), 0);
	assert_int_equal(emu_cm_disconnect(link.server), 0);
	sim_run_until(w->sim, sim_now(w->sim) + MS);
	expect(w, 0, EMU_CM_DISCONNECTED);
	expect(w, 1, EMU_CM_DISCONNECTED);
	assert_true(sim_now(w->sim) < 2 * MS);
	world_down(w);
}

static void answers_to_lookups_that_nobody_waits_for_do_nothing(void **state)
{
	struct world *w = world_up(SIM_LOSSY, 2, 1);

	for (uint32_t cookie = 0; cookie < 70000; cookie += 7) {
		emu_cm_found(world_dev(w, 0), cookie, 1);
		emu_cm_refused(world_dev(w, 0), cookie);
	}
	emu_cm_found(world_dev(w, 0), UINT32_MAX, UINT32_MAX);
	expect_end(w);
	world_down(w);
}

static void a_third_of_everything_lost_delays_and_does_no_more(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		const struct sim_params params = {.flavour = SIM_LOSSY,
		                                  .delay_ns = 5 * US,
		                                  .jitter_ns = 50 * US,
		                                  .loss_ppm = 300000,
		                                  .dup_ppm = 200000,
		                                  .reorder_ppm = 100000};
		struct world *w = world_up(SIM_LOSSY, 2, seed);
		struct link link;

		sim_set_params(w->sim, &params);
		listen_on(w, 1, EMU_CM_PS_TCP, 0, NULL);
		link = establish(w, 0, 1);
		assert_int_equal(emu_cm_disconnect(link.client), 0);
		expect_status(w, 1, EMU_CM_DISCONNECTED, 0);
		emu_cm_destroy(link.server);
		expect_status(w, 0, EMU_CM_DISCONNECTED, 0);
		emu_cm_destroy(link.client);
		expect_end(w);
		world_down(w);
	}
}

#define FAULT_TESTS(name)                                                                          \
	cmocka_unit_test(name##_with_a_message_lost),                                              \
		cmocka_unit_test(name##_with_a_message_twice),                                     \
		cmocka_unit_test(name##_with_a_message_late)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT_TESTS(client_disconnects),
		FAULT_TESTS(server_disconnects),
		FAULT_TESTS(both_disconnect),
		FAULT_TESTS(server_rejects),
		FAULT_TESTS(client_rejects),
		FAULT_TESTS(datagram),
		FAULT_TESTS(datagram_rejected),
		cmocka_unit_test(a_lost_lookup_is_asked_again),
		cmocka_unit_test(when_both_disconnect_one_message_may_be_lost_at_no_cost),
		cmocka_unit_test(answers_to_lookups_that_nobody_waits_for_do_nothing),
		cmocka_unit_test(a_third_of_everything_lost_delays_and_does_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
