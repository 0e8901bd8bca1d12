/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hostile input, chosen by a seed. Engine 2 is the enemy: it throws truncated,
 * mutated, replayed and forged MADs at 0 and 1, which connect, answer and go at
 * random among themselves and with it. Whatever comes, nothing breaks, nothing
 * is left over, and 0 and 1 still get every connection between them done.
 *
 * cm_fuzz [first seed [number of seeds]]
 */
#include "cm_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/msg.h"
#include "cm/out.h"
#include "pkt.h"

#define SEEDS 60
#define STEPS 3000
#define FRAME_MAX (EMU_HDR_MAX + EMU_MAD_BYTES)
#define HEARD 64
#define IDS 40

struct heard {
	uint8_t bytes[FRAME_MAX];
	size_t len;
};

struct fuzz {
	struct world *w;
	uint64_t seed;
	struct heard heard[HEARD]; /* frames of all conversations, the newest ones */
	unsigned nheard;
	struct {
		struct emu_cm_id *id;
		unsigned engine;
	} owned[IDS];
	unsigned nowned;
};

static uint32_t dice(struct fuzz *f, uint32_t n)
{
	return sim_random(f->w->sim, n);
}

static enum sim_verdict listen_in(void *arg, const struct sim_frame *frame)
{
	struct fuzz *f = arg;
	struct heard *h = &f->heard[f->nheard++ % HEARD];

	h->len = frame->hdr_len + frame->payload;
	assert_true(h->len <= sizeof(h->bytes));
	memcpy(h->bytes, frame->hdr, frame->hdr_len);
	memcpy(h->bytes + frame->hdr_len, frame->tx->iov[0].base, frame->payload);
	return SIM_PASS;
}

/* ---- the enemy ------------------------------------------------------------------- */

static void flip_some(struct fuzz *f, uint8_t *bytes, size_t len)
{
	for (uint32_t n = 1 + dice(f, 6); len && n; n--)
		bytes[dice(f, (uint32_t)len)] = (uint8_t)dice(f, 256);
}

static void replay(struct fuzz *f, unsigned to)
{
	struct heard h;

	if (!f->nheard)
		return;
	h = f->heard[dice(f, f->nheard < HEARD ? f->nheard : HEARD)];
	switch (dice(f, 4)) {
	case 0:
		break;
	case 1:
		h.len = dice(f, (uint32_t)h.len + 1);
		break;
	default:
		flip_some(f, h.bytes, h.len);
	}
	sim_inject(f->w->sim, 2, to, h.bytes, h.len);
}

/* In its own name or another's, about a conversation that may exist. */
static void forge(struct fuzz *f, unsigned to)
{
	uint8_t frame[FRAME_MAX];
	unsigned as = dice(f, 3);
	struct emu_pkt pkt = {
		.op = emu_opcode(EMU_PKT_UD_SEND_ONLY),
		.dqpn = to << 12 | EMU_CM_QP,
		.qkey = dice(f, 20) ? EMU_CM_QKEY : dice(f, UINT32_MAX),
		.src_qpn = dice(f, 20) ? as << 12 | EMU_CM_QP : dice(f, 1u << 24),
		.grh = {.sgid = sim_gid(as), .dgid = sim_gid(to)},
	};
	struct emu_cm_msg msg = {
		.kind = (enum emu_cm_kind)dice(f, EMU_CM_KINDS),
		.local_id = dice(f, 16),
		.remote_id = dice(f, UINT32_MAX) << 16 | dice(f, 64),
		.ca_guid = dice(f, 3),
		.qpn = dice(f, 16),
		.service_id = (dice(f, 2) ? 0x01060000u : 0x01110000u) | PORT,
		.mtu = dice(f, 8),
		.service_timeout = dice(f, 32),
		.reason = dice(f, 40),
		.src = {sim_gid(as), (uint16_t)dice(f, 65536)},
		.dst = {sim_gid(to), PORT},
	};
	uint32_t hdr = emu_pkt_pack(&pkt, frame);

	emu_cm_pack(&msg, frame + hdr);
	if (!dice(f, 4))
		flip_some(f, frame + hdr, EMU_MAD_BYTES);
	sim_inject(f->w->sim, 2, to, frame, hdr + EMU_MAD_BYTES);
}

/* Knows everything of a conversation, and speaks in the name of one side. */
static void impersonate(struct fuzz *f, unsigned to)
{
	struct heard h;
	struct emu_cm_msg msg;
	struct emu_pkt pkt;
	uint32_t hdr;

	if (!f->nheard)
		return;
	h = f->heard[dice(f, f->nheard < HEARD ? f->nheard : HEARD)];
	assert_true(emu_pkt_parse(h.bytes, h.len, &pkt));
	assert_true(emu_cm_parse(pkt.payload, pkt.payload_len, &msg));
	hdr = (uint32_t)(pkt.payload - h.bytes);
	msg.kind = (enum emu_cm_kind)dice(f, EMU_CM_KINDS);
	msg.data_len = 0;
	emu_cm_pack(&msg, h.bytes + hdr);
	sim_inject(f->w->sim, 2, to, h.bytes, h.len);
}

static void (*const attacks[])(struct fuzz *f, unsigned to) = {replay, forge, impersonate};

static void attack(struct fuzz *f)
{
	attacks[dice(f, COUNT(attacks))](f, dice(f, 2));
}

/* ---- programs that do anything ------------------------------------------------------- */

static void own(struct fuzz *f, struct emu_cm_id *id, unsigned engine)
{
	if (f->nowned == IDS) {
		unsigned i = dice(f, IDS);

		emu_cm_destroy(f->owned[i].id);
		f->owned[i] = f->owned[--f->nowned];
	}
	f->owned[f->nowned].id = id;
	f->owned[f->nowned++].engine = engine;
}

static void take_events(struct fuzz *f)
{
	struct sim_cm_event e;

	for (unsigned i = 0; i < 3; i++) {
		while (sim_take_cm_event(f->w->sim, i, &e)) {
			if (e.event.type == EMU_CM_REQUEST || e.event.type == EMU_CM_SIDR_REQUEST)
				own(f, e.event.id, i);
		}
	}
}

static void call_something(struct fuzz *f)
{
	const struct emu_cm_params params = params_with(f->w, "x");
	unsigned i = dice(f, f->nowned ? f->nowned : 1);
	struct emu_cm_id *id = f->nowned ? f->owned[i].id : NULL;

	if (!id)
		return;
	switch (dice(f, 9)) {
	case 0:
		emu_cm_taken(id);
		break;
	case 1:
		emu_cm_accept(id, &params);
		break;
	case 2:
		emu_cm_reject(id, EMU_CM_REJ_CONSUMER_DEFINED, "y", 1);
		break;
	case 3:
		emu_cm_establish(id);
		break;
	case 4:
		emu_cm_disconnect(id);
		break;
	case 5:
		emu_cm_notify(id);
		break;
	case 6:
		emu_cm_sidr_reply(id, (enum emu_cm_sidr_status)dice(f, 3), &params);
		break;
	default:
		f->owned[i] = f->owned[--f->nowned];
		emu_cm_destroy(id);
	}
}

static void ask_somebody(struct fuzz *f)
{
	unsigned from = dice(f, 3), to = dice(f, 4);

	own(f,
	    dice(f, 3) ? connect_to(f->w, from, to, "hello", NULL)
	               : sidr_connect_to(f->w, from, to, "hello"),
	    from);
}

static void let_time_pass(struct fuzz *f)
{
	static const uint64_t spans[] = {0, 2 * US, 20 * US, MS, 100 * MS, SECOND, 10 * SECOND};
	uint64_t span = spans[dice(f, COUNT(spans))];

	sim_run_until(f->w->sim, sim_now(f->w->sim) + span);
	take_events(f);
}

static void drop_all(struct fuzz *f)
{
	take_events(f);
	while (f->nowned)
		emu_cm_destroy(f->owned[--f->nowned].id);
}

/* ---- the two that must not suffer ------------------------------------------------------- */

static struct emu_cm_id *wait_for(struct fuzz *f, unsigned engine, enum emu_cm_event_type type,
                                  const struct emu_cm_id *id, uint16_t port)
{
	struct sim_cm_event e;

	for (;;) {
		while (sim_take_cm_event(f->w->sim, engine, &e)) {
			bool request = e.event.type == EMU_CM_REQUEST;

			if (e.event.type == type &&
			    (id ? e.event.id == id : e.event.dst.port == port))
				return e.event.id;
			if (request || e.event.type == EMU_CM_SIDR_REQUEST)
				own(f, e.event.id, engine);
			if (e.event.id == id)
				fail_msg("seed %llu: event %d status %d, not %d",
				         (unsigned long long)f->seed, e.event.type, e.event.status,
				         type);
		}
		if (dice(f, 2))
			attack(f);
		assert_true(sim_step(f->w->sim, sim_now(f->w->sim) + 300 * SECOND));
	}
}

static void connect_cleanly(struct fuzz *f)
{
	uint16_t port = (uint16_t)(50000 + dice(f, 10000));
	const struct emu_cm_connect args = {
		.ps = EMU_CM_PS_TCP,
		.src = addr_of(0, port),
		.dst = addr_of(1, PORT),
		.params = params_with(f->w, "clean"),
	};
	const struct emu_cm_params answer = params_with(f->w, "clean");
	struct emu_cm_id *client, *server;

	assert_int_equal(emu_cm_connect(world_dev(f->w, 0), &args, NULL, &client), 0);
	server = wait_for(f, 1, EMU_CM_REQUEST, NULL, port);
	emu_cm_taken(server);
	assert_int_equal(emu_cm_accept(server, &answer), 0);
	wait_for(f, 0, EMU_CM_RESPONSE, client, 0);
	assert_int_equal(emu_cm_establish(client), 0);
	wait_for(f, 1, EMU_CM_ESTABLISHED, server, 0);
	assert_int_equal(emu_cm_disconnect(client), 0);
	wait_for(f, 1, EMU_CM_DISCONNECTED, server, 0);
	emu_cm_destroy(server);
	wait_for(f, 0, EMU_CM_DISCONNECTED, client, 0);
	emu_cm_destroy(client);
}

/* ---- one seed ------------------------------------------------------------------------------ */

static void play(uint64_t seed)
{
	struct fuzz f = {.w = world_up(seed % 2 ? SIM_LOSSY : SIM_RELIABLE, 3, seed), .seed = seed};

	sim_set_filter(f.w->sim, listen_in, &f);
	for (unsigned i = 0; i < 2; i++) {
		listen_on(f.w, i, EMU_CM_PS_TCP, 0, NULL);
		listen_on(f.w, i, EMU_CM_PS_UDP, 5, NULL);
	}
	for (int step = 0; step < STEPS; step++) {
		switch (dice(&f, 8)) {
		case 0:
			ask_somebody(&f);
			break;
		case 1:
		case 2:
			call_something(&f);
			break;
		case 3:
		case 4:
		case 5:
			attack(&f);
			break;
		default:
			let_time_pass(&f);
		}
		if (step % 300 == 0)
			connect_cleanly(&f);
	}
	do {
		drop_all(&f);
		assert_true(sim_run_idle(f.w->sim, sim_now(f.w->sim) + 10000 * SECOND));
		take_events(&f);
	} while (f.nowned);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(emu_cm_count(world_dev(f.w, i)), 0);
	assert_true(emu_dev_counters(world_dev(f.w, 0))->cm_dropped > 0);
	assert_true(emu_dev_counters(world_dev(f.w, 0))->cm_malformed > 0);
	world_down(f.w);
}

static uint64_t first_seed = 1, seeds = SEEDS;

static void hostile_input_does_no_harm(void **state)
{
	for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
		print_message("seed %llu\n", (unsigned long long)seed);
		play(seed);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_input_does_no_harm),
	};

	if (argc > 1)
		first_seed = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		seeds = strtoull(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
