/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers that come, go, refuse, lie or are not welcome, on the libfabric wire. */
#include "rig.h"

#include "ofi_sock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>

static enum wire_sent send_one(struct rig *rig, uint32_t number, size_t payload)
{
	struct emu_tx tx;

	fake_tx(&tx, number, rig->memory, payload, 1);
	return rig_send(rig, &tx);
}

static void establish(struct rig *rig)
{
	assert_int_equal(send_one(rig, 0, 8), WIRE_DONE);
	assert_true(rig_until(rig, &rig->b.received, 1));
}

/* Send until one arrives: what is sent at first may be lost, as on any network. */
static bool gets_through(struct rig *rig, unsigned tries)
{
	unsigned before = rig->b.received;

	while (tries-- && rig->b.received == before) {
		send_one(rig, 1, 8);
		rig_run_ms(rig, 12);
	}
	return rig->b.received > before;
}

static void peer_that_refuses_loses_packets_silently(void **state)
{
	struct rig *rig = *state;
	struct emu_tx tx;

	rig_close_b(rig);
	fake_tx(&tx, 0, rig->memory, 8, 1);
	assert_int_equal(rig->peer->ops->send(rig->peer, &tx), WIRE_BUSY);
	assert_true(rig_until(rig, &rig->a.writable, 1));
	assert_int_equal(rig->peer->ops->send(rig->peer, &tx), WIRE_DONE);
	assert_int_equal(rig->peer->ops->send(rig->peer, &tx), WIRE_DONE);
	assert_int_equal(rig->peer->ops->probe(rig->peer), WIRE_PROBE_DOWN);
	assert_int_equal(rig->a.gone, 0);
}

static void peer_that_comes_later_is_found(void **state)
{
	struct rig *rig = *state;

	rig_close_b(rig);
	send_one(rig, 0, 8);
	send_one(rig, 0, 8);
	rig_open_b(rig);
	assert_true(gets_through(rig, 50));
}

/* Else the answers to what was probed for are still on their way, and a retry is counted. */
static void probe_is_answered_once_the_peer_can_answer(void **state)
{
	struct rig *rig = *state;
	struct packet *p;
	struct emu_tx tx;

	establish(rig);
	send_one(rig, 7, 8);
	assert_true(rig_until(rig, &rig->b.received, 1));
	p = fake_take(&rig->b);
	assert_non_null(p);
	fake_tx(&tx, 0, rig->memory, 8, 1);
	assert_int_equal(p->src->ops->send(p->src, &tx), WIRE_BUSY);
	free(p);
	rig->b.writable = 0;
	assert_int_equal(rig->peer->ops->probe(rig->peer), WIRE_PROBE_STARTED);
	assert_true(rig_until(rig, &rig->a.answered, 1));
	assert_int_equal(rig->b.writable, 1);
}

/* The last words of a process that ends: an ACK, a datagram. */
static void what_was_sent_before_the_end_arrives(void **state)
{
	enum { N = 3 };
	struct rig *rig = *state;
	struct packet *p;
	struct emu_tx tx;

	establish(rig);
	p = fake_take(&rig->b);
	assert_non_null(p);
	fake_tx(&tx, 0, rig->memory, 8, 1);
	assert_int_equal(p->src->ops->send(p->src, &tx), WIRE_BUSY);
	assert_true(rig_until(rig, &rig->b.writable, 1));
	for (uint32_t i = 0; i < N; i++) {
		fake_tx(&tx, i, rig->memory, 8, 1);
		assert_int_equal(p->src->ops->send(p->src, &tx), WIRE_DONE);
		rig_pass_b(rig);
	}
	free(p);
	rig_close_b(rig);
	/* Who wants to sleep makes libfabric look: it finds the words and the end at once. */
	wire_ofi_may_sleep(rig->ofi_a);
	rig_run_ms(rig, 20);
	assert_int_equal(rig->a.received, N);
}

static void death_of_a_peer_is_reported_once(void **state)
{
	struct rig *rig = *state;

	establish(rig);
	rig_close_b(rig);
	assert_true(rig_until(rig, &rig->a.gone, 1));
	rig_run_ms(rig, 5);
	assert_int_equal(rig->a.gone, 1);
	assert_int_equal(rig->peer->ops->probe(rig->peer), WIRE_PROBE_DOWN);
}

static void death_of_a_peer_gives_held_packets_back(void **state)
{
	struct rig *rig = *state;
	struct emu_tx *tx = calloc(4000, sizeof(*tx));
	unsigned held = 0;

	assert_non_null(tx);
	establish(rig);
	for (unsigned i = 0; i < 4000; i++) {
		enum wire_sent sent;

		fake_tx(&tx[i], i, rig->memory, rig->peer->max_payload, 1);
		sent = rig->peer->ops->send(rig->peer, &tx[i]);
		rig_pass_a(rig);
		if (sent == WIRE_BUSY)
			break;
		held += sent == WIRE_HELD;
	}
	assert_true(rig->a.tx_done < held);
	rig->a.writable = 0;
	rig_close_b(rig);
	assert_true(rig_until(rig, &rig->a.gone, 1));
	assert_int_equal(rig->a.tx_done, held);
	assert_int_equal(rig->a.writable, 1);
	free(tx);
}

/* Nobody is told when a frame that small leaves, unless it is asked for, as before the end. */
static void small_frames_count_as_sending_until_they_have_left(void **state)
{
	struct rig *rig = *state;

	establish(rig);
	rig_run_ms(rig, 20);
	assert_int_equal(send_one(rig, 1, 8), WIRE_DONE);
	wire_ofi_flush(rig->ofi_a, false);
	wire_ofi_confirm(rig->ofi_a);
	assert_true(wire_ofi_sending(rig->ofi_a));
	wire_ofi_flush(rig->ofi_a, false);
	assert_true(wire_ofi_sending(rig->ofi_a));
	assert_true(rig_until(rig, &rig->b.received, 2));
	rig_run_ms(rig, 20);
	assert_false(wire_ofi_sending(rig->ofi_a));
	/* What confirmed it is no packet, and the link stands. */
	assert_int_equal(rig->b.received, 2);
	assert_int_equal(rig->a.gone, 0);
	assert_true(gets_through(rig, 1));
}

static void abort_gives_held_packets_back_at_once(void **state)
{
	struct rig *rig = *state;
	struct emu_tx tx[4];
	unsigned held = 0;

	establish(rig);
	for (unsigned i = 0; i < 4; i++) {
		fake_tx(&tx[i], i, rig->memory, rig->peer->max_payload, 1);
		held += rig->peer->ops->send(rig->peer, &tx[i]) == WIRE_HELD;
	}
	assert_true(held > 0);
	rig->peer->ops->abort(rig->peer);
	assert_int_equal(rig->a.tx_done, held);
	assert_int_equal(rig->a.gone, 1);
	assert_true(gets_through(rig, 50));
}

static void reborn_peer_is_reconnected(void **state)
{
	struct rig *rig = *state;

	for (int i = 0; i < 5; i++) {
		assert_true(gets_through(rig, 50));
		rig_close_b(rig);
		assert_true(rig_until(rig, &rig->a.gone, (unsigned)i + 1));
		rig_open_b(rig);
	}
	assert_true(gets_through(rig, 50));
}

static void source_of_a_packet_is_the_peer_that_answers_go_to(void **state)
{
	const struct wire_addr a = {
		.ip.s6_addr = { [10] = 0xff, 0xff, 127, 0, 0, 1 },
		.slot = ((struct rig *)*state)->slot_a,
	};
	struct rig *rig = *state;
	struct wire_peer *back;
	struct packet *p;

	establish(rig);
	p = fake_take(&rig->b);
	back = wire_ofi_peer(rig->ofi_b, &a);
	assert_ptr_equal(p->src, back);
	free(p);
}

static void slot_belongs_to_one_process(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(wire_ofi_listen(rig->ofi_a, rig->slot_b), -EADDRINUSE);
	assert_int_equal(wire_ofi_listen(rig->ofi_b, rig->slot_a), -EADDRINUSE);
	rig_close_b(rig);
	assert_int_equal(wire_ofi_listen(rig->ofi_a, rig->slot_b), 0);
}

/* ---- the secret ------------------------------------------------------------------ */

static bool connects_with(struct rig *rig, const char *secret_a, const char *secret_b)
{
	strcpy(rig->cfg_a.secret, secret_a);
	strcpy(rig->cfg_b.secret, secret_b);
	return gets_through(rig, 5);
}

static void same_secret_connects(void **state)
{
	assert_true(connects_with(*state, "sesame", "sesame"));
}

static void other_secret_does_not_connect(void **state)
{
	struct rig *rig = *state;

	assert_false(connects_with(rig, "sesame", "barley"));
	assert_non_null(wire_ofi_notice(rig->ofi_a)); /* the user learns of it, once */
	assert_false(gets_through(rig, 2));
	assert_null(wire_ofi_notice(rig->ofi_a));
}

static void missing_secret_does_not_connect(void **state)
{
	assert_false(connects_with(*state, "", "barley"));
}

static void unexpected_secret_does_not_connect(void **state)
{
	assert_false(connects_with(*state, "sesame", ""));
}

/* ---- who may connect ---------------------------------------------------------------- */

static void allow_list_decides_by_prefix(void **state)
{
	static const struct {
		const char *ip;
		bool in;
	} rows[] = {
		{ "::ffff:127.0.0.1", true },	 { "::1", true },
		{ "::ffff:127.9.9.9", true },	 { "::ffff:10.1.2.3", true },
		{ "::ffff:10.255.0.1", true },	 { "::ffff:11.0.0.1", false },
		{ "::ffff:192.168.4.7", true },	 { "::ffff:192.168.4.8", false },
		{ "fd00:1:2:3::9", true },	 { "fd00:1:2:4::9", false },
		{ "::ffff:172.16.15.1", true },	 { "::ffff:172.16.16.1", false },
		{ "::ffff:0.0.0.0", false },	 { "::", false },
	};
	struct sv_net nets[4] = {
		{ .prefix = 96 + 8 }, { .prefix = 128 }, { .prefix = 64 }, { .prefix = 96 + 20 },
	};

	inet_pton(AF_INET6, "::ffff:10.0.0.0", &nets[0].addr);
	inet_pton(AF_INET6, "::ffff:192.168.4.7", &nets[1].addr);
	inet_pton(AF_INET6, "fd00:1:2:3::", &nets[2].addr);
	inet_pton(AF_INET6, "::ffff:172.16.0.0", &nets[3].addr);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct in6_addr ip;

		assert_int_equal(inet_pton(AF_INET6, rows[i].ip, &ip), 1);
		if (ofi_sock_allowed(&ip, nets, 4) != rows[i].in)
			fail_msg("%s", rows[i].ip);
	}
}

/* With SOFTVERBS_ALLOW the listener is open to others; this host must still get in. */
static void open_listener_still_admits_this_host(void **state)
{
	struct rig *rig = *state;

	rig_close_b(rig);
	inet_pton(AF_INET6, "::ffff:10.0.0.0", &rig->cfg_b.allow[0].addr);
	rig->cfg_b.allow[0].prefix = 104;
	inet_pton(AF_INET6, "fd00::", &rig->cfg_b.allow[1].addr);
	rig->cfg_b.allow[1].prefix = 8;
	rig->cfg_b.allow_count = 2;
	rig_open_b(rig);
	rig_connect(rig);
	assert_true(gets_through(rig, 50));
	rig->cfg_a.allow_count = 0;
	assert_int_equal(wire_ofi_listen(rig->ofi_a, rig->slot_b), -EADDRINUSE);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, rig_ofi, rig_free)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(peer_that_refuses_loses_packets_silently),
		CASE(peer_that_comes_later_is_found),
		CASE(probe_is_answered_once_the_peer_can_answer),
		CASE(what_was_sent_before_the_end_arrives),
		CASE(death_of_a_peer_is_reported_once),
		CASE(death_of_a_peer_gives_held_packets_back),
		CASE(small_frames_count_as_sending_until_they_have_left),
		CASE(abort_gives_held_packets_back_at_once),
		CASE(reborn_peer_is_reconnected),
		CASE(source_of_a_packet_is_the_peer_that_answers_go_to),
		CASE(slot_belongs_to_one_process),
		CASE(same_secret_connects),
		CASE(other_secret_does_not_connect),
		CASE(missing_secret_does_not_connect),
		CASE(unexpected_secret_does_not_connect),
		CASE(open_listener_still_admits_this_host),
		cmocka_unit_test(allow_list_decides_by_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
