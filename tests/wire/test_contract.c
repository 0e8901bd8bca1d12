/* SPDX-License-Identifier: BSD-2-Clause */
/* What include/emu/wire.h promises, on every wire that two real ends can share. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

static void expect(struct rig *rig, uint32_t number, size_t payload)
{
	struct packet *p = fake_take(rig->to);

	assert_non_null(p);
	assert_true(fake_matches(p, number, rig->memory, payload));
	free(p);
}

static void every_size_arrives_whole(void **state)
{
	struct rig *rig = *state;
	const size_t sizes[] = { 0, 1, 3, 4, 255, 4095, 4096, 4097, 20000,
				 rig->peer->max_payload - 1, rig->peer->max_payload };
	struct emu_tx tx;

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fake_tx(&tx, i, rig->memory, sizes[i], 1);
		assert_int_not_equal(rig_send(rig, &tx), WIRE_FAULT);
		assert_true(rig_until(rig, &rig->to->received, i + 1));
		rig_run_ms(rig, 1); /* until a held tx is back */
		expect(rig, i, sizes[i]);
	}
}

/* Small packets are collected and big ones are not: they must not overtake each other. */
static void order_is_kept_across_sizes(void **state)
{
	enum { N = 400 };
	struct rig *rig = *state;
	struct emu_tx *tx = calloc(N, sizeof(*tx));
	unsigned held = 0;

	assert_non_null(tx);
	for (uint32_t i = 0; i < N; i++) {
		size_t size = i % 7 == 3 ? rig->peer->max_payload : i % 5 == 1 ? 4097 : i * 9 % 900;

		fake_tx(&tx[i], i, rig->memory, size, 1 + i % 3);
		held += rig_send(rig, &tx[i]) == WIRE_HELD;
	}
	assert_true(rig_until(rig, &rig->to->received, N));
	for (uint32_t i = 0; i < N; i++)
		expect(rig, i, i % 7 == 3 ? rig->peer->max_payload :
			       i % 5 == 1 ? 4097 :
					    i * 9 % 900);
	assert_true(rig_until(rig, &rig->a.tx_done, held));
	assert_int_equal(rig->a.tx_done, held);
	free(tx);
}

static void small_payload_is_taken_at_once(void **state)
{
	struct rig *rig = *state;
	struct emu_tx tx;

	fake_tx(&tx, 1, rig->memory, EMU_TX_COPY_MAX, 2);
	assert_int_equal(rig_send(rig, &tx), WIRE_DONE);
	memset(&tx, 0, sizeof(tx));
	assert_true(rig_until(rig, &rig->to->received, 1));
	expect(rig, 1, EMU_TX_COPY_MAX);
}

static void many_pieces_arrive_as_one(void **state)
{
	struct rig *rig = *state;
	struct emu_tx tx[2];

	for (uint32_t i = 0; i < 2; i++) {
		size_t size = i ? rig->peer->max_payload : 4000;

		fake_tx(&tx[i], i, rig->memory, size, EMU_TX_IOV_MAX);
		assert_int_not_equal(rig_send(rig, &tx[i]), WIRE_FAULT);
		assert_true(rig_until(rig, &rig->to->received, i + 1));
		expect(rig, i, size);
	}
}

static void probe_is_answered_after_what_was_sent_before(void **state)
{
	enum { N = 50 };
	struct rig *rig = *state;
	struct emu_tx tx;

	for (uint32_t i = 0; i < N; i++) {
		fake_tx(&tx, i, rig->memory, 1000, 1);
		assert_int_equal(rig_send(rig, &tx), WIRE_DONE);
	}
	assert_int_equal(rig->peer->ops->probe(rig->peer), WIRE_PROBE_STARTED);
	assert_int_equal(rig->a.answered, 0);
	assert_true(rig_until(rig, &rig->a.answered, 1));
	assert_int_equal(rig->to->received, N);
	assert_int_equal(rig->a.gone, 0);
}

static void probes_in_a_row_are_answered(void **state)
{
	struct rig *rig = *state;
	struct emu_tx tx;
	unsigned answered;

	fake_tx(&tx, 0, rig->memory, 10, 1);
	rig_send(rig, &tx);
	for (int i = 0; i < 10; i++) {
		rig->peer->ops->probe(rig->peer);
		rig->peer->ops->probe(rig->peer);
		rig_pass_a(rig);
		rig->peer->ops->probe(rig->peer);
		answered = rig->a.answered;
		assert_true(rig_until(rig, &rig->a.answered, answered + 1));
	}
}

static void unreadable_payload_is_a_fault_and_nothing_is_sent(void **state)
{
	struct rig *rig = *state;
	const size_t sizes[] = { 100, 5000 };
	struct emu_tx tx;

	fake_tx(&tx, 0, rig->memory, 10, 1);
	rig_send(rig, &tx);
	rig->a.unreadable = true;
	for (int i = 0; i < 2; i++) {
		fake_tx(&tx, 7, rig->memory, sizes[i], 1);
		assert_int_equal(rig_send(rig, &tx), WIRE_FAULT);
	}
	rig->a.unreadable = false;
	fake_tx(&tx, 1, rig->memory, 10, 1);
	assert_int_equal(rig_send(rig, &tx), WIRE_DONE);
	assert_true(rig_until(rig, &rig->to->received, 2));
	rig_run_ms(rig, 5);
	assert_int_equal(rig->to->received, 2);
	expect(rig, 0, 10);
	expect(rig, 1, 10);
}

/* A receiver that does not read makes the wire busy, and nothing is lost by it. */
static void full_wire_is_busy_until_writable(void **state)
{
	enum { N = 4000 };
	struct rig *rig = *state;
	struct emu_tx *tx = calloc(N, sizeof(*tx));
	uint32_t sent = 0;

	assert_non_null(tx);
	fake_tx(&tx[0], sent, rig->memory, rig->peer->max_payload, 1);
	rig_send(rig, &tx[sent++]);
	for (; sent < N; sent++) {
		fake_tx(&tx[sent], sent, rig->memory, rig->peer->max_payload, 1);
		if (rig->peer->ops->send(rig->peer, &tx[sent]) != WIRE_BUSY)
			continue;
		if (!rig->ofi_a)
			break;
		/* The sender alone: until the sockets are full too. */
		rig_pass_a(rig);
		rig_pass_a(rig);
		if (rig->peer->ops->send(rig->peer, &tx[sent]) == WIRE_BUSY)
			break;
	}
	assert_true(sent < N);
	rig->a.writable = 0;
	assert_true(rig_until(rig, &rig->a.writable, 1));
	assert_int_not_equal(rig_send(rig, &tx[sent]), WIRE_FAULT);
	sent++;
	assert_true(rig_until(rig, &rig->to->received, sent));
	for (uint32_t i = 0; i < sent; i++)
		expect(rig, i, rig->peer->max_payload);
	free(tx);
}

#define CASE(test, build) \
	{ #test " on " #build, test, rig_##build, rig_free, NULL }
#define ON_BOTH(test) CASE(test, loop), CASE(test, ofi)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BOTH(every_size_arrives_whole),
		ON_BOTH(order_is_kept_across_sizes),
		ON_BOTH(small_payload_is_taken_at_once),
		ON_BOTH(many_pieces_arrive_as_one),
		ON_BOTH(probe_is_answered_after_what_was_sent_before),
		ON_BOTH(probes_in_a_row_are_answered),
		ON_BOTH(unreadable_payload_is_a_fault_and_nothing_is_sent),
		ON_BOTH(full_wire_is_busy_until_writable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
