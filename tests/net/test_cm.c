/* SPDX-License-Identifier: BSD-2-Clause */
/* What two programs see of a connection's life, event by event. */
#include "cm_rig.h"

#include <errno.h>
#include <string.h>

static int listener_user, client_user, server_user;

/* ---- connecting ------------------------------------------------------------- */

static void connect_accept_establish_gives_each_side_its_events(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	struct emu_cm_params answer = params_with(w, "server-");
	struct emu_cm_id *client, *server;
	struct sim_cm_event e;

	listen_on(w, 1, EMU_CM_PS_TCP, 4, &listener_user);
	client = connect_to(w, 0, 1, "client-dat", &client_user);
	e = expect_status(w, 1, EMU_CM_REQUEST, 0);
	assert_ptr_equal(e.event.user, &listener_user);
	assert_non_null(e.event.listener);
	expect_data(&e, "client-dat", EMU_CM_REQ_DATA);
	server = e.event.id;
	emu_cm_taken(server);
	emu_cm_set_user(server, &server_user);

	assert_int_equal(emu_cm_accept(server, &answer), 0);
	e = expect_status(w, 0, EMU_CM_RESPONSE, 0);
	assert_ptr_equal(e.event.id, client);
	assert_ptr_equal(e.event.user, &client_user);
	expect_data(&e, "server-", EMU_CM_REP_DATA);

	assert_int_equal(emu_cm_establish(client), 0);
	e = expect_status(w, 1, EMU_CM_ESTABLISHED, 0);
	assert_ptr_equal(e.event.id, server);
	assert_ptr_equal(e.event.user, &server_user);
	assert_int_equal(e.event.params.private_data_len, 0);
	assert_int_equal(e.event.params.qpn, 0);
	expect_end(w);
	world_down(w);
}

static void parameters_travel_and_depths_are_swapped(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	struct emu_cm_connect args = {
		.ps = EMU_CM_PS_TCP,
		.src = addr_of(0, 40001),
		.dst = addr_of(1, PORT),
		.params = params_with(w, NULL),
	};
	struct emu_cm_params answer = params_with(w, NULL);
	struct emu_cm_id *id;
	struct sim_cm_event e;

	listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);
	args.params.srq = 1;
	args.params.ece_vendor = 0x15b3;
	args.params.ece_options = 0x1f;
	assert_int_equal(emu_cm_connect(world_dev(w, 0), &args, NULL, &id), 0);
	e = expect(w, 1, EMU_CM_REQUEST);
	assert_int_equal(e.event.ps, EMU_CM_PS_TCP);
	assert_int_equal(e.event.src.port, PORT);
	assert_int_equal(e.event.dst.port, 40001);
	assert_memory_equal(&e.event.src.ip, &args.dst.ip, 16);
	assert_memory_equal(&e.event.dst.ip, &args.src.ip, 16);
	assert_int_equal(e.event.params.qpn, args.params.qpn);
	assert_int_equal(e.event.params.psn, args.params.psn);
	assert_int_equal(e.event.params.qp_type, EMU_QPT_RC);
	assert_int_equal(e.event.params.responder_resources, 2);
	assert_int_equal(e.event.params.initiator_depth, 3);
	assert_int_equal(e.event.params.flow_control, 1);
	assert_int_equal(e.event.params.retry_count, 5);
	assert_int_equal(e.event.params.rnr_retry_count, 6);
	assert_int_equal(e.event.params.srq, 1);
	assert_int_equal(e.event.params.path_mtu, 5);
	assert_int_equal(e.event.params.ack_timeout, 19);
	assert_int_equal(e.event.params.ece_vendor, 0x15b3);
	assert_int_equal(e.event.params.ece_options, 0x1f);

	answer.ece_vendor = 0xabcdef;
	assert_int_equal(emu_cm_accept(e.event.id, &answer), 0);
	e = expect(w, 0, EMU_CM_RESPONSE);
	assert_int_equal(e.event.params.qpn, answer.qpn);
	assert_int_equal(e.event.params.responder_resources, 2);
	assert_int_equal(e.event.params.initiator_depth, 3);
	assert_int_equal(e.event.params.rnr_retry_count, 6);
	assert_int_equal(e.event.params.retry_count, 0); /* a REP has none */
	assert_int_equal(e.event.params.flow_control, 1);
	assert_int_equal(e.event.params.srq, 0);
	assert_int_equal(e.event.params.ece_vendor, 0xabcdef);
	world_down(w);
}

static void private_data_of_full_size_arrives_and_more_is_refused(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	char full[200];
	struct emu_cm_connect args = {
		.ps = EMU_CM_PS_TCP,
		.src = addr_of(0, 40001),
		.dst = addr_of(1, PORT),
		.params = params_with(w, NULL),
	};
	struct emu_cm_params answer = params_with(w, NULL);
	struct emu_cm_id *id;
	struct sim_cm_event e;

	memset(full, 'B', sizeof(full));
	listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);
	args.params.private_data = full;
	args.params.private_data_len = 57;
	assert_int_equal(emu_cm_connect(world_dev(w, 0), &args, NULL, &id), -EINVAL);
	args.params.private_data_len = 56;
	assert_int_equal(emu_cm_connect(world_dev(w, 0), &args, NULL, &id), 0);
	e = expect(w, 1, EMU_CM_REQUEST);
	assert_memory_equal(e.data, full, 56);

	answer.private_data = full;
	answer.private_data_len = 197;
	assert_int_equal(emu_cm_accept(e.event.id, &answer), -EINVAL);
	answer.private_data_len = 196;
	assert_int_equal(emu_cm_accept(e.event.id, &answer), 0);
	e = expect(w, 0, EMU_CM_RESPONSE);
	assert_memory_equal(e.data, full, 196);
	assert_int_equal(emu_cm_reject(e.event.id, 28, full, 149), -EINVAL);
	world_down(w);
}

static void ipv6_addresses_travel_as_they_are(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 1, 1);
	const struct emu_cm_addr any6 = {.ip.raw = {[0] = 0xfd, [15] = 1}, .port = PORT};
	const struct emu_cm_addr v4 = addr_of(0, PORT);
	struct emu_cm_listen args = {.ps = EMU_CM_PS_TCP, .addr.port = PORT};
	struct emu_cm_listener *l;
	struct emu_dev *dev = world_dev(w, 0);

	args.family = EMU_CM_IPV6_ONLY;
	assert_int_equal(emu_cm_listen(dev, &args, &l), 0);
	assert_true(emu_cm_listening(dev, EMU_CM_PS_TCP, &any6));
	assert_false(emu_cm_listening(dev, EMU_CM_PS_TCP, &v4));
	args.family = EMU_CM_IPV4_ONLY;
	assert_int_equal(emu_cm_listen(dev, &args, &l), 0);
	assert_true(emu_cm_listening(dev, EMU_CM_PS_TCP, &v4));
	assert_false(emu_cm_listening(dev, EMU_CM_PS_UDP, &v4));
	args.family = EMU_CM_ANY_FAMILY;
	assert_int_equal(emu_cm_listen(dev, &args, &l), -EADDRINUSE);
	world_down(w);
}

static void an_id_connects_to_a_listener_of_its_own_process(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 1, 1);
	struct link link;

	listen_on(w, 0, EMU_CM_PS_TCP, 4, NULL);
	link = establish(w, 0, 0);
	assert_int_equal(emu_cm_disconnect(link.client), 0);
	assert_ptr_equal(expect(w, 0, EMU_CM_DISCONNECTED).event.id, link.server);
	assert_int_equal(emu_cm_disconnect(link.server), 0);
	assert_ptr_equal(expect(w, 0, EMU_CM_DISCONNECTED).event.id, link.client);
	world_down(w);
}

/* ---- refused ------------------------------------------------------------------ */

static void nobody_listens_gives_rejected_8(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	struct emu_cm_id *id = connect_to(w, 0, 1, NULL, NULL);
	struct sim_cm_event e = expect_status(w, 0, EMU_CM_REJECTED, 8);

	expect_data(&e, "", EMU_CM_REJ_DATA);
	assert_int_equal(emu_cm_establish(id), -EINVAL);
	emu_cm_destroy(id);
	expect_end(w);
	assert_int_equal(emu_cm_count(world_dev(w, 0)), 0);
	world_down(w);
}

static void a_listener_gone_after_the_lookup_gives_rejected_8(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	struct emu_cm_listener *l = listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);

	connect_to(w, 0, 1, NULL, NULL);
	sim_run_until(w->sim, 11 * US); /* found, the REQ is on its way */
	emu_cm_unlisten(l);
	expect_status(w, 0, EMU_CM_REJECTED, 8);
	world_down(w);
}

static void rejected_with_data_gives_28_and_the_data(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	const struct emu_cm_params params = params_with(w, NULL);
	struct sim_cm_event e;
	struct link link;

	listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);
	link = request_only(w, 0, 1);
	assert_int_equal(emu_cm_reject(link.server, EMU_CM_REJ_CONSUMER_DEFINED, "nope!", 5), 0);
	e = expect_status(w, 0, EMU_CM_REJECTED, 28);
	expect_data(&e, "nope!", EMU_CM_REJ_DATA);
	assert_int_equal(emu_cm_reject(link.server, 28, NULL, 0), -EINVAL);
	assert_int_equal(emu_cm_accept(link.server, &params), -EINVAL);
	emu_cm_destroy(link.server);
	emu_cm_destroy(link.client);
	expect_end(w);
	assert_int_equal(emu_cm_count(world_dev(w, 1)), 0);
	world_down(w);
}

static void an_ece_rejection_carries_its_reason(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	struct link link;

	listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);
	link = request_only(w, 0, 1);
	assert_int_equal(
		emu_cm_reject(link.server, EMU_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED, NULL, 0), 0);
	expect_status(w, 0, EMU_CM_REJECTED, 35);
	world_down(w);
}

static void a_request_destroyed_unanswered_gives_rejected_28(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	struct link link;

	listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);
	link = request_only(w, 0, 1);
	emu_cm_destroy(link.server);
	expect_status(w, 0, EMU_CM_REJECTED, 28);
	expect_end(w);
	world_down(w);
}

static void a_listener_destroyed_with_an_unread_request_gives_rejected_28(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	struct emu_cm_listener *l = listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);

	connect_to(w, 0, 1, NULL, NULL);
	expect(w, 1, EMU_CM_REQUEST);
	emu_cm_unlisten(l);
	expect_status(w, 0, EMU_CM_REJECTED, 28);
	expect_end(w);
	assert_int_equal(emu_cm_count(world_dev(w, 1)), 0);
	world_down(w);
}

static void a_request_that_was_read_outlives_its_listener(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	struct emu_cm_listener *l = listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);
	const struct emu_cm_params params = params_with(w, NULL);
	struct link link = request_only(w, 0, 1);

	emu_cm_unlisten(l);
	assert_int_equal(emu_cm_accept(link.server, &params), 0);
	expect(w, 0, EMU_CM_RESPONSE);
	assert_int_equal(emu_cm_establish(link.client), 0);
	expect(w, 1, EMU_CM_ESTABLISHED);
	world_down(w);
}

static void a_client_that_goes_before_the_answer_gives_rejected_4(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	struct link link;

	listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);
	link = request_only(w, 0, 1);
	emu_cm_destroy(link.client);
	assert_ptr_equal(expect_status(w, 1, EMU_CM_REJECTED, 4).event.id, link.server);
	expect_end(w);
	world_down(w);
}

static void a_client_that_goes_after_the_answer_gives_rejected_28(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	struct link link;

	listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);
	link = accept_only(w, 0, 1);
	emu_cm_destroy(link.client);
	expect_status(w, 1, EMU_CM_REJECTED, 28);
	expect_end(w);
	world_down(w);
}

static void a_qp_that_is_in_another_connection_is_rejected_as_stale(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 1, 1);
	struct emu_cm_params params = params_with(w, NULL);
	struct emu_cm_connect args = {
		.ps = EMU_CM_PS_TCP, .src = addr_of(0, 40000), .dst = addr_of(0, PORT)};
	struct emu_cm_id *client, *server;

	/* Both ends in one process name QP 0x55, as no two QPs of it can. */
	listen_on(w, 0, EMU_CM_PS_TCP, 4, NULL);
	params.qpn = 0x55;
	args.params = params;
	assert_int_equal(emu_cm_connect(world_dev(w, 0), &args, NULL, &client), 0);
	server = expect(w, 0, EMU_CM_REQUEST).event.id;
	assert_int_equal(emu_cm_accept(server, &params), 0);
	assert_ptr_equal(expect_status(w, 0, EMU_CM_REJECTED, 10).event.id, server);
	assert_int_equal(emu_cm_establish(client), -EINVAL);
	world_down(w);
}

/* ---- disconnecting ----------------------------------------------------------------- */

static void disconnect_is_answered_by_the_other_program(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	uint64_t before;
	struct link link;

	listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);
	link = establish(w, 0, 1);
	assert_int_equal(emu_cm_disconnect(link.client), 0);
	expect_status(w, 1, EMU_CM_DISCONNECTED, 0);
	expect_silence(w, 0, SECOND);
	assert_int_equal(emu_cm_disconnect(link.server), 0);
	before = sim_now(w->sim);
	expect_status(w, 0, EMU_CM_DISCONNECTED, 0);
	assert_int_equal(emu_cm_disconnect(link.client), 0);
	assert_int_equal(emu_cm_disconnect(link.server), 0);
	expect(w, 0, EMU_CM_TIMEWAIT_EXIT);
	assert_in_range(sim_now(w->sim) - before, TIMEWAIT_NS, TIMEWAIT_NS + MS);
	expect(w, 1, EMU_CM_TIMEWAIT_EXIT);
	emu_cm_destroy(link.client);
	emu_cm_destroy(link.server);
	expect_end(w);
	assert_int_equal(emu_cm_count(world_dev(w, 0)) + emu_cm_count(world_dev(w, 1)), 0);
	world_down(w);
}

static void both_disconnect_at_once(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	struct link link;

	listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);
	link = establish(w, 0, 1);
	assert_int_equal(emu_cm_disconnect(link.client), 0);
	assert_int_equal(emu_cm_disconnect(link.server), 0);
	expect_status(w, 0, EMU_CM_DISCONNECTED, 0);
	expect_status(w, 1, EMU_CM_DISCONNECTED, 0);
	expect(w, 0, EMU_CM_TIMEWAIT_EXIT);
	expect(w, 1, EMU_CM_TIMEWAIT_EXIT);
	expect_end(w);
	world_down(w);
}

static void destroying_a_connected_id_disconnects_the_other_side(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	struct link link;

	listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);
	link = establish(w, 0, 1);
	emu_cm_destroy(link.client);
	assert_ptr_equal(expect_status(w, 1, EMU_CM_DISCONNECTED, 0).event.id, link.server);
	emu_cm_destroy(link.server);
	expect_end(w);
	assert_int_equal(emu_cm_count(world_dev(w, 0)) + emu_cm_count(world_dev(w, 1)), 0);
	world_down(w);
}

/* ---- an early packet ------------------------------------------------------------------ */

static void notify_establishes_before_the_rtu(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	struct link link;

	listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);
	link = accept_only(w, 0, 1);
	assert_int_equal(emu_cm_notify(link.client), -EINVAL);
	assert_int_equal(emu_cm_notify(link.server), 0);
	expect(w, 1, EMU_CM_ESTABLISHED);
	assert_int_equal(emu_cm_notify(link.server), -EISCONN);
	assert_int_equal(emu_cm_establish(link.client), 0);
	expect_end(w); /* the RTU is no second event */
	world_down(w);
}

/* ---- backlog ------------------------------------------------------------------------------ */

static void requests_beyond_the_backlog_come_at_the_next_try(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	struct emu_cm_id *id;

	listen_on(w, 1, EMU_CM_PS_TCP, 1, NULL);
	for (int i = 0; i < 3; i++)
		connect_to(w, 0, 1, NULL, NULL);
	id = expect(w, 1, EMU_CM_REQUEST).event.id;
	expect_silence(w, 1, SECOND);
	assert_int_equal(emu_dev_counters(world_dev(w, 1))->cm_backlog_full, 2);
	emu_cm_taken(id);
	emu_cm_taken(id);
	id = expect(w, 1, EMU_CM_REQUEST).event.id;
	assert_in_range(sim_now(w->sim), TRY_NS, TRY_NS + MS);
	emu_cm_taken(id);
	expect(w, 1, EMU_CM_REQUEST);
	world_down(w);
}

static void two_hundred_clients_at_once_all_connect(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 8, 1);
	const struct emu_cm_params params = params_with(w, NULL);
	struct sim_cm_event e;
	unsigned established = 0, answered = 0;

	/* All requests arrive together: each try lets 20 of them in. */
	listen_on(w, 0, EMU_CM_PS_TCP, 20, NULL);
	for (unsigned i = 0; i < 200; i++)
		connect_to(w, 1 + i % 7, 0, NULL, NULL);
	while (established < 200) {
		assert_true(sim_step(w->sim, 200 * SECOND));
		for (unsigned i = 1; i < 8; i++) {
			while (sim_take_cm_event(w->sim, i, &e)) {
				assert_int_equal(e.event.type, EMU_CM_RESPONSE);
				assert_int_equal(emu_cm_establish(e.event.id), 0);
			}
		}
		while (sim_take_cm_event(w->sim, 0, &e)) {
			if (e.event.type == EMU_CM_ESTABLISHED) {
				established++;
				continue;
			}
			assert_int_equal(e.event.type, EMU_CM_REQUEST);
			emu_cm_taken(e.event.id);
			struct emu_cm_params own = params;
			own.qpn += answered++;
			assert_int_equal(emu_cm_accept(e.event.id, &own), 0);
		}
	}
	expect_end(w);
	world_down(w);
}

static void ten_thousand_connections_leave_nothing(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);

	listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);
	for (int i = 0; i < 10000; i++) {
		struct link link = establish(w, 0, 1);

		assert_int_equal(emu_cm_disconnect(link.client), 0);
		expect(w, 1, EMU_CM_DISCONNECTED);
		assert_int_equal(emu_cm_disconnect(link.server), 0);
		expect(w, 0, EMU_CM_DISCONNECTED);
		emu_cm_destroy(link.client);
		emu_cm_destroy(link.server);
	}
	expect_end(w);
	assert_int_equal(emu_cm_count(world_dev(w, 0)) + emu_cm_count(world_dev(w, 1)), 0);
	world_down(w);
}

/* ---- time --------------------------------------------------------------------------------------
 */

static void a_dead_host_is_unreachable_after_all_tries(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 1, 1);

	connect_to(w, 0, 5, NULL, NULL); /* no such engine */
	expect_status(w, 0, EMU_CM_UNREACHABLE, -110);
	assert_int_equal(sim_now(w->sim), TRIES * TRY_NS);
	assert_int_equal(sim_lookups(w->sim), TRIES);
	expect_end(w);
	world_down(w);
}

static void a_slow_program_does_not_time_its_client_out(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	const struct emu_cm_params params = params_with(w, NULL);
	struct link link;

	listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);
	link = request_only(w, 0, 1);
	sim_run_until(w->sim, 600 * SECOND);
	assert_int_equal(emu_cm_accept(link.server, &params), 0);
	expect(w, 0, EMU_CM_RESPONSE);
	world_down(w);
}

static void an_accept_that_is_never_answered_is_unreachable(void **state)
{
	struct world *w = world_up(SIM_LOSSY, 2, 1);
	const struct emu_cm_params params = params_with(w, NULL);
	struct link link;
	uint64_t before;

	listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);
	link = request_only(w, 0, 1);
	sim_partition(w->sim, 0, 1, true);
	before = sim_now(w->sim);
	assert_int_equal(emu_cm_accept(link.server, &params), 0);
	expect_status(w, 1, EMU_CM_UNREACHABLE, -110);
	assert_int_equal(sim_now(w->sim) - before, TRIES * TRY_NS);
	world_down(w);
}

static void a_disconnect_that_is_never_answered_ends_with_timed_out(void **state)
{
	struct world *w = world_up(SIM_LOSSY, 2, 1);
	struct link link;

	listen_on(w, 1, EMU_CM_PS_TCP, 4, NULL);
	link = establish(w, 0, 1);
	sim_partition(w->sim, 0, 1, true);
	assert_int_equal(emu_cm_disconnect(link.client), 0);
	expect_status(w, 0, EMU_CM_DISCONNECTED, -110);
	expect(w, 0, EMU_CM_TIMEWAIT_EXIT);
	world_down(w);
}

/* ---- datagram services --------------------------------------------------------------------------
 */

static void sidr_gives_the_qp_and_its_key(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	struct emu_cm_params reply = {
		.qpn = 0x2abc, .qkey = 0x1234567, .private_data = "hi", .private_data_len = 2};
	struct emu_cm_id *client, *server;
	struct sim_cm_event e;

	listen_on(w, 1, EMU_CM_PS_UDP, 4, &listener_user);
	client = sidr_connect_to(w, 0, 1, "client-dat");
	e = expect(w, 1, EMU_CM_SIDR_REQUEST);
	assert_ptr_equal(e.event.user, &listener_user);
	assert_int_equal(e.event.params.qpn, 0);
	assert_int_equal(e.event.params.qkey, 0);
	expect_data(&e, "client-dat", EMU_CM_SIDR_REQ_DATA);
	server = e.event.id;
	emu_cm_taken(server);
	assert_int_equal(emu_cm_sidr_reply(server, EMU_CM_SIDR_SUCCESS, &reply), 0);
	assert_int_equal(emu_cm_sidr_reply(server, EMU_CM_SIDR_SUCCESS, &reply), -EINVAL);
	e = expect(w, 0, EMU_CM_SIDR_RESPONSE);
	assert_int_equal(e.event.params.qpn, 0x2abc);
	assert_int_equal(e.event.params.qkey, 0x1234567);
	expect_data(&e, "hi", EMU_CM_SIDR_REP_DATA);
	emu_cm_destroy(client);
	emu_cm_destroy(server);
	expect_end(w);
	assert_int_equal(emu_cm_count(world_dev(w, 1)), 0);
	world_down(w);
}

static void a_sidr_rejection_is_unreachable_2(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);
	const struct emu_cm_params none = {0};
	struct emu_cm_id *server;

	listen_on(w, 1, EMU_CM_PS_UDP, 4, NULL);
	sidr_connect_to(w, 0, 1, NULL);
	server = expect(w, 1, EMU_CM_SIDR_REQUEST).event.id;
	assert_int_equal(emu_cm_sidr_reply(server, EMU_CM_SIDR_REJECT, &none), 0);
	expect_status(w, 0, EMU_CM_UNREACHABLE, 2);
	sidr_connect_to(w, 0, 1, NULL);
	emu_cm_destroy(expect(w, 1, EMU_CM_SIDR_REQUEST).event.id);
	expect_status(w, 0, EMU_CM_UNREACHABLE, 2);
	world_down(w);
}

static void sidr_to_nobody_is_unreachable_1_and_to_no_host_timed_out(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);

	sidr_connect_to(w, 0, 1, NULL);
	expect_status(w, 0, EMU_CM_UNREACHABLE, 1);
	sidr_connect_to(w, 0, 9, NULL);
	expect_status(w, 0, EMU_CM_UNREACHABLE, -110);
	world_down(w);
}

static void bad_arguments_are_refused_and_change_nothing(void **state)
{
	struct world *w = world_up(SIM_RELIABLE, 1, 1);
	const struct emu_cm_connect good = {
		.ps = EMU_CM_PS_TCP,
		.src = addr_of(0, 40000),
		.dst = addr_of(0, PORT),
		.params = params_with(w, NULL),
	};
	struct emu_cm_connect bad[9];
	struct emu_cm_id *id;
	struct emu_cm_listener *l;
	const struct emu_cm_listen no_port = {.ps = EMU_CM_PS_TCP};

	for (size_t i = 0; i < COUNT(bad); i++)
		bad[i] = good;
	bad[0].ps = 0x999;
	bad[1].src.ip = (struct emu_gid){{0}};
	bad[2].dst.port = 0;
	bad[3].dst.ip = (struct emu_gid){{0xfd}};
	bad[4].params.retry_count = 8;
	bad[5].params.rnr_retry_count = 8;
	bad[6].params.qp_type = EMU_QPT_UD;
	bad[7].params.path_mtu = 6;
	bad[8].params.private_data_len = 1;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(emu_cm_connect(world_dev(w, 0), &bad[i], NULL, &id), -EINVAL);
	assert_int_equal(emu_cm_listen(world_dev(w, 0), &no_port, &l), -EINVAL);
	assert_int_equal(emu_cm_count(world_dev(w, 0)), 0);
	expect_end(w);
	world_down(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connect_accept_establish_gives_each_side_its_events),
		cmocka_unit_test(parameters_travel_and_depths_are_swapped),
		cmocka_unit_test(private_data_of_full_size_arrives_and_more_is_refused),
		cmocka_unit_test(ipv6_addresses_travel_as_they_are),
		cmocka_unit_test(an_id_connects_to_a_listener_of_its_own_process),
		cmocka_unit_test(nobody_listens_gives_rejected_8),
		cmocka_unit_test(a_listener_gone_after_the_lookup_gives_rejected_8),
		cmocka_unit_test(rejected_with_data_gives_28_and_the_data),
		cmocka_unit_test(an_ece_rejection_carries_its_reason),
		cmocka_unit_test(a_request_destroyed_unanswered_gives_rejected_28),
		cmocka_unit_test(a_listener_destroyed_with_an_unread_request_gives_rejected_28),
		cmocka_unit_test(a_request_that_was_read_outlives_its_listener),
		cmocka_unit_test(a_client_that_goes_before_the_answer_gives_rejected_4),
		cmocka_unit_test(a_client_that_goes_after_the_answer_gives_rejected_28),
		cmocka_unit_test(a_qp_that_is_in_another_connection_is_rejected_as_stale),
		cmocka_unit_test(disconnect_is_answered_by_the_other_program),
		cmocka_unit_test(both_disconnect_at_once),
		cmocka_unit_test(destroying_a_connected_id_disconnects_the_other_side),
		cmocka_unit_test(notify_establishes_before_the_rtu),
		cmocka_unit_test(requests_beyond_the_backlog_come_at_the_next_try),
		cmocka_unit_test(two_hundred_clients_at_once_all_connect),
		cmocka_unit_test(ten_thousand_connections_leave_nothing),
		cmocka_unit_test(a_dead_host_is_unreachable_after_all_tries),
		cmocka_unit_test(a_slow_program_does_not_time_its_client_out),
		cmocka_unit_test(an_accept_that_is_never_answered_is_unreachable),
		cmocka_unit_test(a_disconnect_that_is_never_answered_ends_with_timed_out),
		cmocka_unit_test(sidr_gives_the_qp_and_its_key),
		cmocka_unit_test(a_sidr_rejection_is_unreachable_2),
		cmocka_unit_test(sidr_to_nobody_is_unreachable_1_and_to_no_host_timed_out),
		cmocka_unit_test(bad_arguments_are_refused_and_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
