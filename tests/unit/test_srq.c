/* SPDX-License-Identifier: BSD-2-Clause */
/* The slots of a shared receive queue: taken in order, given back by anybody in any order. */
#include "device.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "srq.h"

#define WR 64u
#define ROUNDS 20000u
#define THREADS 3

struct world {
	struct emu_dev *dev;
	struct emu_pd *pd;
	struct emu_srq *srq;
	struct told told;
};

static void create(struct world *w, uint32_t max_wr)
{
	struct emu_srq_attr attr = {.max_wr = max_wr, .max_sge = 1};

	w->dev = device_create(NULL, &w->told);
	assert_int_equal(emu_pd_alloc(w->dev, &w->pd), 0);
	assert_int_equal(emu_srq_create(w->pd, &attr, w, &w->srq), 0);
}

static void destroy(struct world *w)
{
	assert_int_equal(emu_srq_destroy(w->srq), 0);
	assert_int_equal(emu_pd_dealloc(w->pd), 0);
	emu_dev_destroy(w->dev);
}

static int post(struct world *w, uint64_t wr_id)
{
	struct emu_sge sge = {wr_id, 8, 1};
	struct emu_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};

	return emu_post_srq_recv(w->srq, &wr);
}

static void receives_are_taken_in_posting_order(void **state)
{
	struct world w;

	create(&w, 5);
	assert_null(emu_srq_peek(w.srq));
	for (unsigned lap = 0; lap < 20; lap++) {
		for (unsigned i = 0; i < 5; i++)
			assert_int_equal(post(&w, lap * 5 + i), 0);
		assert_int_equal(post(&w, 0), -ENOMEM);
		for (unsigned i = 0; i < 5; i++) {
			const struct emu_rqe *rqe = emu_srq_peek(w.srq);
			uint32_t slot;

			assert_non_null(rqe);
			assert_int_equal(rqe->wr_id, lap * 5 + i);
			slot = emu_srq_take(w.srq);
			assert_ptr_equal(emu_srq_slot(w.srq, slot), rqe);
			emu_srq_give_back(w.srq, slot);
		}
		assert_null(emu_srq_peek(w.srq));
	}
	destroy(&w);
}

static void slot_is_free_when_given_back_whatever_is_older(void **state)
{
	struct world w;
	uint32_t slot[3];

	create(&w, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(post(&w, i), 0);
	for (unsigned i = 0; i < 3; i++)
		slot[i] = emu_srq_take(w.srq);
	emu_srq_give_back(w.srq, slot[2]);
	emu_srq_give_back(w.srq, slot[1]);
	assert_int_equal(post(&w, 3), 0);
	assert_int_equal(post(&w, 4), 0);
	assert_int_equal(post(&w, 5), -ENOMEM);
	/* What is still in work keeps its contents. */
	assert_int_equal(emu_srq_slot(w.srq, slot[0])->wr_id, 0);
	assert_int_equal(emu_srq_peek(w.srq)->wr_id, 3);
	destroy(&w);
}

/* Pollers that give slots back while the poster takes them. */
struct poller {
	struct world *w;
	_Atomic uint32_t inbox; /* a slot plus one; 0: empty */
	_Atomic bool stop;
};

static void *give_back(void *arg)
{
	struct poller *p = arg;
	uint32_t slot;

	while (!atomic_load(&p->stop)) {
		slot = atomic_exchange(&p->inbox, 0);
		if (slot)
			emu_srq_give_back(p->w->srq, slot - 1);
		else
			sched_yield();
	}
	return NULL;
}

static void slots_given_back_by_many_threads_are_each_found_once(void **state)
{
	struct poller pollers[THREADS] = {0};
	pthread_t threads[THREADS];
	bool in_use[WR] = {false};
	struct world w;
	unsigned n = 0;

	create(&w, WR);
	for (unsigned i = 0; i < THREADS; i++) {
		pollers[i].w = &w;
		assert_int_equal(pthread_create(&threads[i], NULL, give_back, &pollers[i]), 0);
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct poller *p = &pollers[i % THREADS];

		while (post(&w, i))
			sched_yield();
		while (atomic_load(&p->inbox))
			sched_yield();
		assert_int_equal(emu_srq_peek(w.srq)->wr_id, i);
		atomic_store(&p->inbox, emu_srq_take(w.srq) + 1);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		while (atomic_load(&pollers[i].inbox))
			sched_yield();
		atomic_store(&pollers[i].stop, true);
		pthread_join(threads[i], NULL);
	}
	while (!post(&w, n)) {
		uint32_t slot = emu_srq_take(w.srq);

		assert_false(in_use[slot]);
		in_use[slot] = true;
		n++;
	}
	assert_int_equal(n, WR);
	destroy(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(receives_are_taken_in_posting_order),
		cmocka_unit_test(slot_is_free_when_given_back_whatever_is_older),
		cmocka_unit_test(slots_given_back_by_many_threads_are_each_found_once),
	};

	return cmocka_run_group_tests_name("SRQ slots", tests, NULL, NULL);
}
