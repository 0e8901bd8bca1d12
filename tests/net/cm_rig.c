/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm_rig.h"

#include <stdlib.h>
#include <string.h>

/* Longer than all retries of anything. */
#define FOREVER (4000 * SECOND)

struct world *world_up(enum sim_flavour flavour, unsigned engines, uint64_t seed)
{
	const struct sim_params params = {.flavour = flavour, .delay_ns = 5 * US};
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->sim = sim_create(seed, &params);
	assert_non_null(w->sim);
	w->engines = engines;
	for (unsigned i = 0; i < engines; i++)
		assert_int_equal(sim_add(w->sim, NULL), (int)i);
	return w;
}

void world_down(struct world *w)
{
	sim_destroy(w->sim);
	free(w);
}

struct emu_dev *world_dev(struct world *w, unsigned engine)
{
	return sim_dev(w->sim, engine);
}

struct emu_cm_addr addr_of(unsigned engine, uint16_t port)
{
	return (struct emu_cm_addr){.ip = sim_gid(engine), .port = port};
}

struct emu_cm_listener *listen_on(struct world *w, unsigned engine, uint16_t ps, uint32_t backlog,
                                  void *user)
{
	const struct emu_cm_listen args = {
		.ps = ps, .addr.port = PORT, .backlog = backlog, .user = user};
	struct emu_cm_listener *listener;

	assert_int_equal(emu_cm_listen(world_dev(w, engine), &args, &listener), 0);
	return listener;
}

struct emu_cm_params params_with(struct world *w, const char *text)
{
	return (struct emu_cm_params){
		.qpn = 0x1000 + w->next_qpn++ % 0x10000,
		.psn = 0x123456,
		.qp_type = EMU_QPT_RC,
		.responder_resources = 3,
		.initiator_depth = 2,
		.flow_control = 1,
		.retry_count = 5,
		.rnr_retry_count = 6,
		.path_mtu = 5,
		.ack_timeout = 19,
		.private_data = text,
		.private_data_len = text ? (uint32_t)strlen(text) : 0,
	};
}

static struct emu_cm_connect connect_args(struct world *w, uint16_t ps, unsigned from, unsigned to,
                                          const char *text)
{
	return (struct emu_cm_connect){
		.ps = ps,
		.src = addr_of(from, 40000),
		.dst = addr_of(to, PORT),
		.params = params_with(w, text),
	};
}

struct emu_cm_id *connect_to(struct world *w, unsigned from, unsigned to, const char *text,
                             void *user)
{
	const struct emu_cm_connect args = connect_args(w, EMU_CM_PS_TCP, from, to, text);
	struct emu_cm_id *id;

	assert_int_equal(emu_cm_connect(world_dev(w, from), &args, user, &id), 0);
	return id;
}

struct emu_cm_id *sidr_connect_to(struct world *w, unsigned from, unsigned to, const char *text)
{
	const struct emu_cm_connect args = connect_args(w, EMU_CM_PS_UDP, from, to, text);
	struct emu_cm_id *id;

	assert_int_equal(emu_cm_sidr_connect(world_dev(w, from), &args, NULL, &id), 0);
	return id;
}

struct sim_cm_event expect_status(struct world *w, unsigned engine, enum emu_cm_event_type type,
                                  int status)
{
	struct sim_cm_event e = expect(w, engine, type);

	assert_int_equal(e.event.status, status);
	return e;
}

struct sim_cm_event expect(struct world *w, unsigned engine, enum emu_cm_event_type type)
{
	static struct sim_cm_event e;
	uint64_t limit = sim_now(w->sim) + FOREVER;

	while (!sim_take_cm_event(w->sim, engine, &e))
		if (!sim_step(w->sim, limit))
			fail_msg("engine %u reports nothing, event %d was due", engine, type);
	assert_int_equal(e.event.type, type);
	return e;
}

static void expect_nothing(struct world *w, unsigned engine)
{
	struct sim_cm_event e;

	if (sim_take_cm_event(w->sim, engine, &e))
		fail_msg("engine %u reports event %d, status %d", engine, e.event.type,
		         e.event.status);
}

void expect_silence(struct world *w, unsigned engine, uint64_t ns)
{
	sim_run_until(w->sim, sim_now(w->sim) + ns);
	expect_nothing(w, engine);
}

void expect_end(struct world *w)
{
	assert_true(sim_run_idle(w->sim, sim_now(w->sim) + FOREVER));
	for (unsigned i = 0; i < w->engines; i++)
		expect_nothing(w, i);
}

void expect_data(const struct sim_cm_event *e, const char *text, uint32_t size)
{
	size_t len = strlen(text);

	assert_int_equal(e->event.params.private_data_len, size);
	assert_memory_equal(e->data, text, len);
	for (size_t i = len; i < size; i++)
		assert_int_equal(e->data[i], 0);
}

struct link request_only(struct world *w, unsigned from, unsigned to)
{
	struct link link = {.client = connect_to(w, from, to, NULL, NULL)};

	link.server = expect(w, to, EMU_CM_REQUEST).event.id;
	emu_cm_taken(link.server);
	return link;
}

struct link accept_only(struct world *w, unsigned from, unsigned to)
{
	struct link link = request_only(w, from, to);
	const struct emu_cm_params params = params_with(w, NULL);

	assert_int_equal(emu_cm_accept(link.server, &params), 0);
	assert_ptr_equal(expect(w, from, EMU_CM_RESPONSE).event.id, link.client);
	return link;
}

struct link establish(struct world *w, unsigned from, unsigned to)
{
	struct link link = accept_only(w, from, to);

	assert_int_equal(emu_cm_establish(link.client), 0);
	assert_ptr_equal(expect(w, to, EMU_CM_ESTABLISHED).event.id, link.server);
	return link;
}
