/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engines with nothing but connection managers, and the few words that tests of
 * it speak. What does not come out as said fails the running cmocka test.
 */
#ifndef TESTS_NET_CM_RIG_H
#define TESTS_NET_CM_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire_sim.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define US 1000ull
#define MS 1000000ull
#define SECOND 1000000000ull

/* The CM's default times: one try, and how long a connection's packets may live on. */
#define TRY_NS ((4096ull << 20) + 2 * (4096ull << 18))
#define TIMEWAIT_NS (4096ull << 19)
#define TRIES 16

#define PORT 7471

struct world {
	struct sim *sim;
	unsigned engines;
	uint32_t next_qpn; /* each connection has its own, as QPs would */
};

/* The wire has 5 us of delay. */
struct world *world_up(enum sim_flavour flavour, unsigned engines, uint64_t seed);
void world_down(struct world *w);
struct emu_dev *world_dev(struct world *w, unsigned engine);

struct emu_cm_addr addr_of(unsigned engine, uint16_t port);
/* On every address; user is what REQUEST events carry. */
struct emu_cm_listener *listen_on(struct world *w, unsigned engine, uint16_t ps, uint32_t backlog,
                                  void *user);
/* Valid parameters, a QP number of its own, and this text as private data. */
struct emu_cm_params params_with(struct world *w, const char *text);
struct emu_cm_id *connect_to(struct world *w, unsigned from, unsigned to, const char *text,
                             void *user);
struct emu_cm_id *sidr_connect_to(struct world *w, unsigned from, unsigned to, const char *text);

/* Runs until the engine reports something, which must be of that type. */
struct sim_cm_event expect(struct world *w, unsigned engine, enum emu_cm_event_type type);
/* Also of that status. */
struct sim_cm_event expect_status(struct world *w, unsigned engine, enum emu_cm_event_type type,
                                  int status);
/* The engine reports nothing within so long. */
void expect_silence(struct world *w, unsigned engine, uint64_t ns);
/* Nothing is left to happen, and nothing was reported by any engine. */
void expect_end(struct world *w);
/* The text, then zeros up to the full size. */
void expect_data(const struct sim_cm_event *e, const char *text, uint32_t size);

/* Both ends of a connection. */
struct link {
	struct emu_cm_id *client, *server;
};
/* To engine's listener that is there already, all the way to ESTABLISHED. */
struct link establish(struct world *w, unsigned from, unsigned to);
/* The client's id is in REP_RCVD, the server's in REP_SENT. */
struct link accept_only(struct world *w, unsigned from, unsigned to);
/* The client asked, the server's program has taken it. */
struct link request_only(struct world *w, unsigned from, unsigned to);

#endif
