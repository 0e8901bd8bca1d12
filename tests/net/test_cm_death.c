/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process is killed in each state of a connection: the other side gets the
 * event that a kernel's connection manager would have given it.
 */
#include "cm_rig.h"

#include <string.h>

#include "cm/conn.h"
#include "cm/out.h"
#include "pkt.h"

#define SOON (100 * MS)

static struct world *two_with_a_listener(void)
{
	struct world *w = world_up(SIM_RELIABLE, 2, 1);

	listen_on(w, 1, EMU_CM_PS_TCP, 0, NULL);
	listen_on(w, 1, EMU_CM_PS_UDP, 0, NULL);
	return w;
}

static void kill_engine(struct world *w, unsigned engine)
{
	sim_kill(w->sim, engine, MS);
}

static void expect_soon(struct world *w, unsigned engine, enum emu_cm_event_type type, int status)
{
	uint64_t before = sim_now(w->sim);

	expect_status(w, engine, type, status);
	assert_true(sim_now(w->sim) - before < SOON);
}

/* ---- the listening process dies ------------------------------------------------------ */

static void before_the_lookup(void **state)
{
	struct world *w = two_with_a_listener();

	kill_engine(w, 1);
	connect_to(w, 0, 1, NULL, NULL);
	expect_soon(w, 0, EMU_CM_REJECTED, 8);
	world_down(w);
}

static void between_lookup_and_request(void **state)
{
	const struct sim_params params = {
		.flavour = SIM_RELIABLE, .delay_ns = 5 * US, .connect_ns = MS};
	struct world *w = two_with_a_listener();

	sim_set_params(w->sim, &params);
	connect_to(w, 0, 1, NULL, NULL);
	sim_run_until(w->sim, 11 * US);
	kill_engine(w, 1);
	expect_soon(w, 0, EMU_CM_REJECTED, 8);
	world_down(w);
}

static void with_a_request_unanswered(void **state)
{
	struct world *w = two_with_a_listener();

	request_only(w, 0, 1);
	sim_run_until(w->sim, MS);
	kill_engine(w, 1);
	expect_soon(w, 0, EMU_CM_REJECTED, 28);
	world_down(w);
}

static void with_a_request_accepted(void **state)
{
	struct world *w = two_with_a_listener();

	accept_only(w, 0, 1);
	kill_engine(w, 1);
	expect_soon(w, 0, EMU_CM_REJECTED, 28);
	expect_end(w);
	world_down(w);
}

static void with_a_datagram_request_unanswered(void **state)
{
	struct world *w = two_with_a_listener();

	sidr_connect_to(w, 0, 1, NULL);
	expect(w, 1, EMU_CM_SIDR_REQUEST);
	kill_engine(w, 1);
	expect_soon(w, 0, EMU_CM_UNREACHABLE, 2);
	world_down(w);
}

/* ---- the asking process dies ------------------------------------------------------------ */

static void with_a_request_made(void **state)
{
	struct world *w = two_with_a_listener();
	struct link link = request_only(w, 0, 1);
	const struct emu_cm_params params = params_with(w, NULL);

	sim_run_until(w->sim, MS);
	kill_engine(w, 0);
	expect_soon(w, 1, EMU_CM_REJECTED, 4);
	assert_int_equal(emu_cm_accept(link.server, &params), -22);
	world_down(w);
}

static void with_an_answer_unread(void **state)
{
	struct world *w = two_with_a_listener();

	accept_only(w, 0, 1);
	kill_engine(w, 0);
	expect_soon(w, 1, EMU_CM_REJECTED, 28);
	world_down(w);
}

/* ---- either dies, connected ------------------------------------------------------------------ */

static void while_connected(unsigned dead)
{
	struct world *w = two_with_a_listener();
	struct link link = establish(w, 0, 1);
	struct emu_cm_id *left = dead ? link.client : link.server;

	kill_engine(w, dead);
	expect_soon(w, !dead, EMU_CM_DISCONNECTED, 0);
	assert_int_equal(emu_cm_disconnect(left), 0);
	expect(w, !dead, EMU_CM_TIMEWAIT_EXIT);
	emu_cm_destroy(left);
	expect_end(w);
	assert_int_equal(emu_cm_count(world_dev(w, !dead)), 0);
	world_down(w);
}

static void server_while_connected(void **state)
{
	while_connected(1);
}

static void client_while_connected(void **state)
{
	while_connected(0);
}

static void with_a_disconnect_unanswered(void **state)
{
	struct world *w = two_with_a_listener();
	struct link link = establish(w, 0, 1);

	assert_int_equal(emu_cm_disconnect(link.client), 0);
	expect(w, 1, EMU_CM_DISCONNECTED);
	kill_engine(w, 1);
	expect_soon(w, 0, EMU_CM_DISCONNECTED, 0);
	expect(w, 0, EMU_CM_TIMEWAIT_EXIT);
	world_down(w);
}

static void after_it_disconnected(void **state)
{
	struct world *w = two_with_a_listener();
	struct link link = establish(w, 0, 1);

	assert_int_equal(emu_cm_disconnect(link.client), 0);
	expect(w, 1, EMU_CM_DISCONNECTED);
	kill_engine(w, 0);
	expect_silence(w, 1, SECOND);
	assert_int_equal(emu_cm_disconnect(link.server), 0);
	expect(w, 1, EMU_CM_TIMEWAIT_EXIT);
	world_down(w);
}

static void destroyed_ids_of_a_dead_peer_are_freed(void **state)
{
	struct world *w = two_with_a_listener();
	struct link link = establish(w, 0, 1);

	kill_engine(w, 1);
	emu_cm_destroy(link.client);
	expect_end(w);
	assert_int_equal(emu_cm_count(world_dev(w, 0)), 0);
	world_down(w);
}

static void all_connections_of_a_process_end_with_it(void **state)
{
	struct world *w = two_with_a_listener();

	for (int i = 0; i < 100; i++)
		establish(w, 0, 1);
	kill_engine(w, 0);
	for (int i = 0; i < 100; i++)
		expect_soon(w, 1, EMU_CM_DISCONNECTED, 0);
	world_down(w);
}

/* ---- what is no death -------------------------------------------------------------------------
 */

static void a_link_that_breaks_and_comes_back_ends_nothing(void **state)
{
	struct world *w = two_with_a_listener();
	struct link link = establish(w, 0, 1);

	sim_partition(w->sim, 0, 1, true);
	sim_partition(w->sim, 0, 1, false);
	expect_silence(w, 0, SECOND);
	expect_silence(w, 1, SECOND);
	assert_int_equal(emu_cm_disconnect(link.client), 0);
	expect_status(w, 1, EMU_CM_DISCONNECTED, 0);
	world_down(w);
}

static void a_request_survives_a_broken_link(void **state)
{
	struct world *w = two_with_a_listener();
	const struct emu_cm_params params = params_with(w, NULL);
	struct link link = request_only(w, 0, 1);

	sim_run_until(w->sim, MS);
	sim_partition(w->sim, 0, 1, true);
	sim_partition(w->sim, 0, 1, false);
	expect_silence(w, 0, SECOND);
	assert_int_equal(emu_cm_accept(link.server, &params), 0);
	expect(w, 0, EMU_CM_RESPONSE);
	world_down(w);
}

/* ---- another life at the same address
 * ------------------------------------------------------------ */

static void say(struct world *w, struct emu_cm_msg *msg)
{
	uint8_t frame[EMU_HDR_MAX + EMU_MAD_BYTES];
	struct emu_pkt pkt = {
		.op = emu_opcode(EMU_PKT_UD_SEND_ONLY),
		.dqpn = 1 << 12 | EMU_CM_QP,
		.qkey = EMU_CM_QKEY,
		.src_qpn = EMU_CM_QP,
		.grh = {.sgid = sim_gid(0), .dgid = sim_gid(1)},
	};
	uint32_t hdr = emu_pkt_pack(&pkt, frame);

	emu_cm_pack(msg, frame + hdr);
	sim_inject(w->sim, 0, 1, frame, hdr + EMU_MAD_BYTES);
}

static void its_next_life_does_not_know_the_connection(void **state)
{
	struct world *w = two_with_a_listener();
	struct link link = establish(w, 0, 1);
	struct emu_cm_msg rej = {
		.kind = EMU_CM_MSG_REJ,
		.local_id = link.client->local_id,
		.remote_id = link.server->local_id,
		.reason = EMU_CM_REJ_INVALID_COMM_ID,
	};

	say(w, &rej);
	expect_soon(w, 1, EMU_CM_DISCONNECTED, 0);
	world_down(w);
}

static void a_request_from_its_next_life_is_not_stale(void **state)
{
	struct world *w = two_with_a_listener();
	struct link link = establish(w, 0, 1);
	struct emu_cm_msg req = {
		.kind = EMU_CM_MSG_REQ,
		.local_id = 0x77,
		.ca_guid = 0xdead,
		.qpn = link.server->remote_qpn,
		.mtu = 5,
		.service_id = (uint64_t)EMU_CM_PS_TCP << 16 | PORT,
		.src = addr_of(0, 40000),
		.dst = addr_of(1, PORT),
	};

	say(w, &req);
	assert_ptr_equal(expect(w, 1, EMU_CM_DISCONNECTED).event.id, link.server);
	assert_ptr_not_equal(expect(w, 1, EMU_CM_REQUEST).event.id, link.server);
	world_down(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_the_lookup),
		cmocka_unit_test(between_lookup_and_request),
		cmocka_unit_test(with_a_request_unanswered),
		cmocka_unit_test(with_a_request_accepted),
		cmocka_unit_test(with_a_datagram_request_unanswered),
		cmocka_unit_test(with_a_request_made),
		cmocka_unit_test(with_an_answer_unread),
		cmocka_unit_test(server_while_connected),
		cmocka_unit_test(client_while_connected),
		cmocka_unit_test(with_a_disconnect_unanswered),
		cmocka_unit_test(after_it_disconnected),
		cmocka_unit_test(destroyed_ids_of_a_dead_peer_are_freed),
		cmocka_unit_test(all_connections_of_a_process_end_with_it),
		cmocka_unit_test(a_link_that_breaks_and_comes_back_ends_nothing),
		cmocka_unit_test(a_request_survives_a_broken_link),
		cmocka_unit_test(its_next_life_does_not_know_the_connection),
		cmocka_unit_test(a_request_from_its_next_life_is_not_stale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
