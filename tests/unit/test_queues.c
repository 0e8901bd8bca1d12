/* SPDX-License-Identifier: BSD-2-Clause */
/* The rings by themselves: completion queues, and slots of work queues that polling frees. */
#include "device.h"

#include <errno.h>

#include "cq.h"
#include "wq.h"

static struct emu_cq *make_cq(struct told *told, uint32_t cqe)
{
	struct emu_dev *dev = device_create(NULL, told);
	struct emu_cq *cq;

	assert_int_equal(emu_cq_create(dev, cqe, told, &cq), 0);
	assert_int_equal(emu_cq_capacity(cq), cqe);
	return cq;
}

static void end_cq(struct emu_cq *cq)
{
	struct emu_dev *dev = cq->dev;

	assert_int_equal(emu_cq_destroy(cq), 0);
	emu_dev_destroy(dev);
}

static void push(struct emu_cq *cq, uint64_t wr_id, enum emu_wc_status status, bool solicited)
{
	struct emu_cqe cqe = {.wc = {.wr_id = wr_id, .status = status}};

	emu_cq_push(cq, &cqe, solicited);
}

static void completions_come_out_in_order_over_many_laps(void **state)
{
	struct told told;
	struct emu_cq *cq = make_cq(&told, 5);
	struct emu_wc wc[8];
	uint64_t in = 0, out = 0;

	for (unsigned lap = 0; lap < 100; lap++) {
		assert_true(emu_cq_empty(cq));
		for (unsigned i = 0; i <= lap % 5; i++)
			push(cq, in++, EMU_WC_SUCCESS, false);
		assert_false(emu_cq_empty(cq));
		while (out < in) {
			int n = emu_cq_poll(cq, 2, wc);

			assert_in_range(n, 1, 2);
			for (int i = 0; i < n; i++)
				assert_int_equal(wc[i].wr_id, out++);
		}
		assert_int_equal(emu_cq_poll(cq, 8, wc), 0);
	}
	end_cq(cq);
}

static void arming_table(void **state)
{
	enum what { ARM_NONE, ARM_SOL, ARM_ANY, GET, GET_SOL, GET_ERR };
	static const struct {
		enum what step[4];
		unsigned events;
	} rows[] = {
		{{ARM_NONE, GET, GET_SOL, GET_ERR}, 0},
		{{ARM_ANY, GET, GET, GET_SOL}, 1},
		{{ARM_SOL, GET, GET, GET}, 0},
		{{ARM_SOL, GET, GET_SOL, GET_SOL}, 1},
		{{ARM_SOL, GET, GET_ERR, GET_SOL}, 1},
		{{ARM_SOL, ARM_ANY, GET, GET}, 1},
		{{ARM_ANY, ARM_SOL, GET, GET}, 1},
		{{ARM_ANY, ARM_ANY, GET, GET}, 1},
		{{ARM_ANY, GET, ARM_ANY, GET}, 2},
		{{ARM_ANY, GET, ARM_SOL, GET}, 1},
		{{GET_SOL, ARM_ANY, ARM_SOL, ARM_ANY}, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct told told;
		struct emu_cq *cq = make_cq(&told, 8);

		for (unsigned s = 0; s < 4; s++) {
			enum what what = rows[i].step[s];

			if (what <= ARM_ANY)
				emu_cq_arm(cq, (enum emu_arm)what);
			else
				push(cq, s, what == GET_ERR ? EMU_WC_WR_FLUSH_ERR : EMU_WC_SUCCESS,
				     what == GET_SOL);
		}
		assert_int_equal(told.cq_events, rows[i].events);
		if (told.cq_events)
			assert_ptr_equal(told.user, &told);
		end_cq(cq);
	}
}

static void overflow_is_told_once_and_for_ever(void **state)
{
	struct told told;
	struct emu_cq *cq = make_cq(&told, 3);
	struct emu_wc wc[8];

	for (unsigned i = 0; i < 3; i++)
		push(cq, i, EMU_WC_SUCCESS, false);
	assert_int_equal(told.async_events, 0);
	push(cq, 3, EMU_WC_SUCCESS, false);
	push(cq, 4, EMU_WC_SUCCESS, false);
	assert_int_equal(told.async_events, 1);
	assert_int_equal(told.last_async, EMU_EVENT_CQ_ERR);
	assert_int_equal(emu_cq_poll(cq, 8, wc), 3);
	push(cq, 5, EMU_WC_SUCCESS, false);
	assert_int_equal(emu_cq_poll(cq, 8, wc), 0);
	assert_int_equal(told.async_events, 1);
	end_cq(cq);
}

static void polling_a_completion_frees_the_slots_up_to_it(void **state)
{
	struct told told;
	struct emu_cq *cq = make_cq(&told, 8);
	_Atomic uint32_t freed = 0, other = 0;
	struct emu_cqe cqe = {.freed = &freed, .wc = {.qp_num = 1}};
	struct emu_wc wc;

	cqe.slot_end = 4;
	emu_cq_push(cq, &cqe, false);
	cqe.freed = &other;
	cqe.wc.qp_num = 2;
	cqe.slot_end = 7;
	emu_cq_push(cq, &cqe, false);
	cqe.freed = &freed;
	cqe.wc.qp_num = 1;
	cqe.slot_end = 6;
	emu_cq_push(cq, &cqe, false);
	assert_int_equal(freed, 0);
	assert_int_equal(emu_cq_poll(cq, 1, &wc), 1);
	assert_int_equal(freed, 4);
	assert_int_equal(other, 0);
	/* A queue that is gone is not written any more. */
	emu_cq_forget(cq, 2);
	assert_int_equal(emu_cq_poll(cq, 1, &wc), 1);
	assert_int_equal(other, 0);
	assert_int_equal(emu_cq_poll(cq, 1, &wc), 1);
	assert_int_equal(freed, 6);
	end_cq(cq);
}

static void sizes_are_bounded_by_the_device(void **state)
{
	struct emu_limits limits = emu_default_limits;
	struct told told;
	struct emu_dev *dev;
	struct emu_cq *cq, *second;

	limits.max_cqe = 100;
	limits.max_cq = 1;
	dev = device_create(&limits, &told);
	assert_int_equal(emu_cq_create(dev, 0, NULL, &cq), -EINVAL);
	assert_int_equal(emu_cq_create(dev, 101, NULL, &cq), -EINVAL);
	assert_int_equal(emu_cq_create(dev, 100, NULL, &cq), 0);
	assert_int_equal(emu_cq_create(dev, 1, NULL, &second), -ENOMEM);
	end_cq(cq);
}

static void posting_refuses_what_the_type_does_not_know(void **state)
{
	static const enum emu_wr_opcode known[] = {
		EMU_WR_RDMA_WRITE,           EMU_WR_RDMA_WRITE_WITH_IMM, EMU_WR_SEND,
		EMU_WR_SEND_WITH_IMM,        EMU_WR_RDMA_READ,           EMU_WR_ATOMIC_CMP_AND_SWP,
		EMU_WR_ATOMIC_FETCH_AND_ADD, EMU_WR_SEND_WITH_INV,       EMU_WR_LOCAL_INV};

	for (size_t i = 0; i < COUNT(known); i++) {
		assert_non_null(emu_wr_op(known[i]));
		assert_true(emu_wr_op(known[i])->types & 1u << EMU_QPT_RC);
	}
	assert_null(emu_wr_op(EMU_WR_TSO));
	assert_null(emu_wr_op(EMU_WR_COUNT));
	assert_null(emu_wr_op(UINT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(completions_come_out_in_order_over_many_laps),
		cmocka_unit_test(arming_table),
		cmocka_unit_test(overflow_is_told_once_and_for_ever),
		cmocka_unit_test(polling_a_completion_frees_the_slots_up_to_it),
		cmocka_unit_test(sizes_are_bounded_by_the_device),
		cmocka_unit_test(posting_refuses_what_the_type_does_not_know),
	};

	return cmocka_run_group_tests_name("queues", tests, NULL, NULL);
}
