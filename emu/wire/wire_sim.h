/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A world of engines in one process: virtual clock, seeded delay, loss,
 * duplication, reordering, partition and death. The same seed and the same
 * calls give the same run, byte for byte and nanosecond for nanosecond.
 *
 * Engine i has the GID ::ffff:10.0.0.i (gid index 0) and the QP numbers
 * (i + 16 k) << 12 | n. Each is a process on a host of its own, and what it listens
 * for is found there. Nothing here is thread-safe; one thread drives the world, and
 * calls emu_ functions of its engines between the sim_ calls.
 */
#ifndef EMU_WIRE_SIM_H
#define EMU_WIRE_SIM_H

#include <emu/cm.h>
#include <emu/emu.h>

#define SIM_ENGINES 16
#define SIM_NEVER UINT64_MAX
#define SIM_PPM 1000000u

struct sim;

enum sim_flavour {
	SIM_LOSSY,    /* one MTU packet a frame, may be lost; probes answer WIRE_PROBE_DOWN */
	SIM_RELIABLE, /* runs of packets, in order, nothing lost while the link stands */
};

/* Probabilities are in parts per million, times in nanoseconds. All zero: a perfect lossy wire. */
struct sim_params {
	enum sim_flavour flavour;
	uint64_t delay_ns;  /* one way */
	uint64_t jitter_ns; /* added to delay, uniform in [0, jitter]; lossy frames may pass each
	                       other */
	uint32_t loss_ppm, dup_ppm; /* lossy */
	uint32_t reorder_ppm;       /* lossy: this frame is late by up to 8 delays */
	uint32_t busy_ppm;          /* reliable: a send finds the link full for 2 delays */
	uint32_t held_ppm;    /* reliable: a payload above EMU_TX_COPY_MAX is read at delivery */
	uint64_t connect_ns;  /* reliable: the first send to a peer answers WIRE_BUSY for so long */
	uint32_t max_payload; /* reliable: bytes of payload in a frame; 0: 65,536 */
	bool fast_death;      /* engines added from now on report a broken link at once */
};

/* One asynchronous event, or one event of an armed CQ (type EMU_EVENT_NONE). */
struct sim_event {
	uint64_t time;
	enum emu_event_type type;
	void *user;
};

/* An event of the connection manager; params.private_data points into data. */
struct sim_cm_event {
	uint64_t time;
	struct emu_cm_event event;
	uint8_t data[256];
};

/* What a filter decides about a frame that is about to travel. */
enum sim_verdict {
	SIM_PASS,
	SIM_DROP,
	SIM_TWICE,
	SIM_LATE, /* passes 8 delays later; on a reliable wire everything behind it too */
};

struct sim_frame {
	unsigned src, dst;
	uint64_t time;      /* now */
	const uint8_t *hdr; /* the packet's header, hdr_len bytes */
	uint32_t hdr_len;
	size_t payload;          /* bytes that follow it */
	const struct emu_tx *tx; /* the packet itself */
};

typedef enum sim_verdict sim_filter(void *arg, const struct sim_frame *frame);

/* NULL: no memory. params is copied. */
struct sim *sim_create(uint64_t seed, const struct sim_params *params);
/* The objects of all engines must be gone. */
void sim_destroy(struct sim *sim);
/*
 * A new engine; returns its index, -ENOMEM, or what emu_dev_create returned.
 * limits NULL: emu_default_limits.
 */
int sim_add(struct sim *sim, const struct emu_limits *limits);
struct emu_dev *sim_dev(struct sim *sim, unsigned engine);
struct emu_gid sim_gid(unsigned engine);

uint64_t sim_now(const struct sim *sim);
/* A random number below n (n > 0) of the world's own generator. */
uint32_t sim_random(struct sim *sim, uint32_t n);
/* Changes the parameters for frames sent from now on (flavour excepted). */
void sim_set_params(struct sim *sim, const struct sim_params *params);

/* Lets every engine do what it can do now; the clock stands still. */
void sim_settle(struct sim *sim);
/*
 * Settles, then goes to the next delivery or deadline at or before limit and
 * settles again. False: there is none; the clock then shows limit unless that
 * is SIM_NEVER.
 */
bool sim_step(struct sim *sim, uint64_t limit);
/* Until the clock shows that time. */
void sim_run_until(struct sim *sim, uint64_t time);
/* Until nothing is left to happen; true if that was before limit. */
bool sim_run_idle(struct sim *sim, uint64_t limit);
/* Until done(arg), asked after each step; false: limit came first. */
bool sim_run_done(struct sim *sim, bool (*done)(void *arg), void *arg, uint64_t limit);

/* Takes the oldest event of the engine; false: none. */
bool sim_take_async(struct sim *sim, unsigned engine, struct sim_event *event);
bool sim_take_cq_event(struct sim *sim, unsigned engine, struct sim_event *event);
bool sim_take_cm_event(struct sim *sim, unsigned engine, struct sim_cm_event *event);
/* The next n times the core asks for a peer there is no memory for it. */
void sim_refuse_peers(struct sim *sim, unsigned n);
/* The next n look-ups get no answer. */
void sim_lose_lookups(struct sim *sim, unsigned n);
/* Look-ups asked for so far, lost ones included. */
unsigned sim_lookups(const struct sim *sim);

/* Asked for every frame that is sent, before loss; NULL: none. */
void sim_set_filter(struct sim *sim, sim_filter *filter, void *arg);
/* Puts a frame of any bytes on the wire from src to dst: hostile input. */
void sim_inject(struct sim *sim, unsigned src, unsigned dst, const void *frame, size_t len);

/*
 * The engine answers no more (a killed process). Reliable: the others learn it
 * (emu_wire_gone) after notice_ns, SIM_NEVER: not at all.
 */
void sim_kill(struct sim *sim, unsigned engine, uint64_t notice_ns);
/* The engine gets no CPU for so long; its host still takes frames for it. */
void sim_pause(struct sim *sim, unsigned engine, uint64_t ns);
/* Cut (true) or mend (false) the path between a and b; reliable: both learn of the cut at once. */
void sim_partition(struct sim *sim, unsigned a, unsigned b, bool cut);

/*
 * From now on the engines find [addr, addr + len) not mapped (-EFAULT), in all
 * worlds of this process: the guarded copies of struct emu_env know no world.
 * At most 16 ranges.
 */
void sim_unmap(const void *addr, size_t len);
void sim_map_all(void);

/* A digest of all frames and times so far: equal digests, equal runs. */
uint64_t sim_digest(const struct sim *sim);
uint64_t sim_frames(const struct sim *sim);

#endif
