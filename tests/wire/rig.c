/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

#include "wire_loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 10000000000u
#define SLOTS 64

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct rig *new_rig(void)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	fake_init(&rig->a);
	fake_init(&rig->b);
	rig->to = &rig->b;
	return rig;
}

static void make_noise(struct rig *rig)
{
	rig->memory = malloc(rig->peer->max_payload);
	assert_non_null(rig->memory);
	for (uint32_t i = 0; i < rig->peer->max_payload; i++)
		rig->memory[i] = (uint8_t)(i * 2654435761u >> 13);
}

int rig_loop(void **state)
{
	struct rig *rig = new_rig();

	rig->to = &rig->a;
	assert_int_equal(wire_loop_open(&rig->a, &rig->loop), 0);
	rig->peer = wire_loop_peer(rig->loop);
	make_noise(rig);
	*state = rig;
	return 0;
}

static void set_config(struct sv_config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	strcpy(cfg->provider, "tcp");
	/* Away from programs under softverbs, and from other runs of this test. */
	cfg->port_base = (uint16_t)(12000 + (getpid() % 200) * SLOTS);
}

static void listen_somewhere(struct wire_ofi *ofi, uint32_t *slot)
{
	int ret = -EADDRINUSE;

	for (; *slot < SLOTS && ret == -EADDRINUSE; ++*slot)
		ret = wire_ofi_listen(ofi, *slot);
	--*slot;
	assert_int_equal(ret, 0);
}

void rig_open_a(struct rig *rig)
{
	assert_int_equal(wire_ofi_open(&rig->cfg_a, &rig->a, &rig->ofi_a), 0);
	wire_ofi_tick(rig->ofi_a, now_ns());
	listen_somewhere(rig->ofi_a, &rig->slot_a);
}

void rig_open_b(struct rig *rig)
{
	assert_int_equal(wire_ofi_open(&rig->cfg_b, &rig->b, &rig->ofi_b), 0);
	wire_ofi_tick(rig->ofi_b, now_ns());
	listen_somewhere(rig->ofi_b, &rig->slot_b);
}

void rig_close_b(struct rig *rig)
{
	wire_ofi_close(rig->ofi_b);
	rig->ofi_b = NULL;
}

void rig_connect(struct rig *rig)
{
	struct wire_addr addr = {
		.ip.s6_addr = { [10] = 0xff, 0xff, 127, 0, 0, 1 },
		.slot = rig->slot_b,
	};

	rig->peer = wire_ofi_peer(rig->ofi_a, &addr);
	assert_non_null(rig->peer);
}

int rig_ofi(void **state)
{
	struct rig *rig = new_rig();

	set_config(&rig->cfg_a);
	set_config(&rig->cfg_b);
	rig_open_a(rig);
	rig_open_b(rig);
	rig_connect(rig);
	make_noise(rig);
	*state = rig;
	return 0;
}

int rig_free(void **state)
{
	struct rig *rig = *state;

	if (rig->ofi_a)
		wire_ofi_close(rig->ofi_a);
	if (rig->ofi_b)
		wire_ofi_close(rig->ofi_b);
	wire_loop_close(rig->loop);
	fake_clear(&rig->a);
	fake_clear(&rig->b);
	free(rig->memory);
	free(rig);
	return 0;
}

static void pass(struct wire_ofi *ofi)
{
	if (!ofi)
		return;
	wire_ofi_tick(ofi, now_ns());
	wire_ofi_poll(ofi);
	wire_ofi_flush(ofi, false);
}

void rig_pass_a(struct rig *rig)
{
	pass(rig->ofi_a);
	if (rig->loop)
		wire_loop_poll(rig->loop);
}

void rig_pass_b(struct rig *rig)
{
	pass(rig->ofi_b);
}

bool rig_until(struct rig *rig, const unsigned *count, unsigned goal)
{
	uint64_t end = now_ns() + PATIENCE_NS;

	while (*count < goal && now_ns() < end) {
		rig_pass_a(rig);
		rig_pass_b(rig);
	}
	return *count >= goal;
}

void rig_run_ms(struct rig *rig, unsigned ms)
{
	uint64_t end = now_ns() + ms * 1000000u;

	do {
		rig_pass_a(rig);
		rig_pass_b(rig);
	} while (now_ns() < end);
}

enum wire_sent rig_send(struct rig *rig, struct emu_tx *tx)
{
	enum wire_sent sent;
	unsigned writable;

	for (;;) {
		writable = rig->a.writable;
		sent = rig->peer->ops->send(rig->peer, tx);
		if (sent != WIRE_BUSY)
			return sent;
		assert_true(rig_until(rig, &rig->a.writable, writable + 1));
	}
}
