/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory regions and scatter lists: keys, rights, bounds. */
#include "device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sge.h"

#define BASE 0x10000u
#define LEN 0x1000u

struct fixture {
	struct told told;
	struct emu_dev *dev;
	struct emu_pd *pd, *other;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->dev = device_create(NULL, &f->told);
	assert_int_equal(emu_pd_alloc(f->dev, &f->pd), 0);
	assert_int_equal(emu_pd_alloc(f->dev, &f->other), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(emu_pd_dealloc(f->pd), 0);
	assert_int_equal(emu_pd_dealloc(f->other), 0);
	emu_dev_destroy(f->dev);
	free(f);
	return 0;
}

#define ALL                                                                                        \
	(EMU_ACCESS_LOCAL_WRITE | EMU_ACCESS_REMOTE_WRITE | EMU_ACCESS_REMOTE_READ |               \
	 EMU_ACCESS_REMOTE_ATOMIC)

static void registration_refuses_what_cannot_be(void **state)
{
	static const struct {
		uint64_t addr, iova, len;
		uint32_t access;
		int ret;
	} rows[] = {
		{BASE, BASE, LEN, 0, 0},
		{BASE, BASE, 0, ALL, 0},
		{BASE, BASE, LEN, EMU_ACCESS_REMOTE_READ, 0},
		{BASE, BASE, LEN, ALL | EMU_ACCESS_RELAXED_ORDERING, 0},
		{BASE, 0, LEN, ALL, 0},
		{BASE, BASE, LEN, EMU_ACCESS_REMOTE_WRITE, -EINVAL},
		{BASE, BASE, LEN, EMU_ACCESS_REMOTE_ATOMIC, -EINVAL},
		{BASE, BASE, LEN, 1u << 15, -EINVAL},
		{BASE, BASE, LEN, 1u << 31, -EINVAL},
		{UINT64_MAX - 10, BASE, 12, ALL, -EINVAL},
		{BASE, UINT64_MAX - 10, 12, ALL, -EINVAL},
		{BASE, BASE, UINT64_MAX, ALL, -EINVAL},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct emu_mr *mr = NULL;

		assert_int_equal(emu_mr_reg(f->pd, rows[i].addr, rows[i].iova, rows[i].len,
		                            rows[i].access, &mr),
		                 rows[i].ret);
		if (!rows[i].ret)
			assert_int_equal(emu_mr_dereg(mr), 0);
		else
			assert_null(mr);
	}
}

static void access_is_checked_for_key_right_and_range(void **state)
{
	static const struct {
		uint64_t va, len;
		uint32_t access;
		enum emu_mr_verdict verdict;
	} rows[] = {
		{BASE, LEN, EMU_ACCESS_REMOTE_READ, EMU_MR_OK},
		{BASE, 1, EMU_ACCESS_REMOTE_READ, EMU_MR_OK},
		{BASE + LEN - 1, 1, EMU_ACCESS_REMOTE_READ, EMU_MR_OK},
		{BASE + LEN, 0, EMU_ACCESS_REMOTE_READ, EMU_MR_OK},
		{BASE + LEN, 1, EMU_ACCESS_REMOTE_READ, EMU_MR_RANGE},
		{BASE + LEN - 1, 2, EMU_ACCESS_REMOTE_READ, EMU_MR_RANGE},
		{BASE, LEN + 1, EMU_ACCESS_REMOTE_READ, EMU_MR_RANGE},
		{BASE - 1, 1, EMU_ACCESS_REMOTE_READ, EMU_MR_RANGE},
		{BASE - 1, 10, EMU_ACCESS_REMOTE_READ, EMU_MR_RANGE},
		{0, 1, EMU_ACCESS_REMOTE_READ, EMU_MR_RANGE},
		{UINT64_MAX, 1, EMU_ACCESS_REMOTE_READ, EMU_MR_RANGE},
		{UINT64_MAX, 2, EMU_ACCESS_REMOTE_READ, EMU_MR_RANGE},
		{BASE + 1, UINT64_MAX, EMU_ACCESS_REMOTE_READ, EMU_MR_RANGE},
		{BASE, UINT64_MAX - BASE + 1, EMU_ACCESS_REMOTE_READ, EMU_MR_RANGE},
		{BASE, 1, EMU_ACCESS_REMOTE_WRITE, EMU_MR_RIGHT},
		{BASE, 1, EMU_ACCESS_REMOTE_ATOMIC, EMU_MR_RIGHT},
		{BASE, 1, EMU_ACCESS_REMOTE_READ | EMU_ACCESS_REMOTE_WRITE, EMU_MR_RIGHT},
		{BASE + LEN, 1, EMU_ACCESS_REMOTE_WRITE, EMU_MR_RIGHT},
	};
	struct fixture *f = *state;
	struct emu_mr *mr, *found = NULL;

	assert_int_equal(emu_mr_reg(f->pd, BASE, BASE, LEN, EMU_ACCESS_REMOTE_READ, &mr), 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct emu_access_req req = {rows[i].va, rows[i].len, emu_mr_rkey(mr),
		                             rows[i].access};

		assert_int_equal(emu_mr_check_remote(f->pd, &req, &found), rows[i].verdict);
		req.key = emu_mr_lkey(mr);
		assert_int_equal(emu_mr_check_local(f->pd, &req, &found), rows[i].verdict);
		/* One kind of key is never the other. */
		assert_int_equal(emu_mr_check_remote(f->pd, &req, &found), EMU_MR_KEY);
	}
	assert_ptr_equal(found, mr);
	assert_int_equal(emu_mr_dereg(mr), 0);
}

static void key_of_another_pd_is_unknown(void **state)
{
	struct fixture *f = *state;
	struct emu_access_req req = {BASE, 1, 0, 0};
	struct emu_mr *mr, *found;

	assert_int_equal(emu_mr_reg(f->pd, BASE, BASE, LEN, ALL, &mr), 0);
	req.key = emu_mr_rkey(mr);
	assert_int_equal(emu_mr_check_remote(f->other, &req, &found), EMU_MR_KEY);
	req.key = emu_mr_lkey(mr);
	assert_int_equal(emu_mr_check_local(f->other, &req, &found), EMU_MR_KEY);
	assert_int_equal(emu_mr_check_local(f->pd, &req, &found), EMU_MR_OK);
	assert_int_equal(emu_pd_dealloc(f->pd), -EBUSY);
	assert_int_equal(emu_mr_dereg(mr), 0);
}

static void keys_of_a_dead_region_stay_dead(void **state)
{
	struct fixture *f = *state;
	struct emu_access_req req = {BASE, 1, 0, 0};
	uint32_t dead[100];
	struct emu_mr *mr, *found;

	for (size_t i = 0; i < COUNT(dead); i++) {
		assert_int_equal(emu_mr_reg(f->pd, BASE, BASE, LEN, ALL, &mr), 0);
		assert_int_not_equal(emu_mr_lkey(mr), emu_mr_rkey(mr));
		dead[i] = emu_mr_rkey(mr);
		for (size_t k = 0; k < i; k++) {
			assert_int_not_equal(dead[k], dead[i]);
			req.key = dead[k];
			assert_int_equal(emu_mr_check_remote(f->pd, &req, &found), EMU_MR_KEY);
		}
		assert_int_equal(emu_mr_dereg(mr), 0);
	}
}

/* A small table makes the device reuse its places soon; the keys still differ. */
static void places_are_reused_and_keys_are_not(void **state)
{
	struct emu_limits limits = emu_default_limits;
	struct emu_mr *mr[4], *found;
	struct emu_access_req req = {BASE, 1, 0, EMU_ACCESS_REMOTE_READ};
	struct told told;
	struct emu_dev *dev;
	struct emu_pd *pd;

	limits.max_mr = 4;
	dev = device_create(&limits, &told);
	assert_int_equal(emu_pd_alloc(dev, &pd), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(emu_mr_reg(pd, BASE, BASE, LEN, ALL, &mr[i]), 0);
	assert_int_equal(emu_mr_reg(pd, BASE, BASE, LEN, ALL, &found), -ENOMEM);
	for (unsigned i = 0; i < 60; i++) {
		req.key = emu_mr_rkey(mr[i % 4]);
		assert_int_equal(emu_mr_check_remote(pd, &req, &found), EMU_MR_OK);
		assert_int_equal(emu_mr_dereg(mr[i % 4]), 0);
		assert_int_equal(emu_mr_reg(pd, BASE, BASE, LEN, ALL, &mr[i % 4]), 0);
		assert_int_equal(emu_mr_check_remote(pd, &req, &found), EMU_MR_KEY);
	}
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(emu_mr_dereg(mr[i]), 0);
	assert_int_equal(emu_pd_dealloc(pd), 0);
	emu_dev_destroy(dev);
}

static void wrong_keys_are_unknown(void **state)
{
	struct fixture *f = *state;
	struct emu_access_req req = {BASE, 1, 0, 0};
	struct emu_mr *mr, *found;

	assert_int_equal(emu_mr_reg(f->pd, BASE, BASE, LEN, ALL, &mr), 0);
	for (unsigned bit = 0; bit < 32; bit++) {
		req.key = emu_mr_rkey(mr) ^ 1u << bit;
		assert_int_equal(emu_mr_check_remote(f->pd, &req, &found), EMU_MR_KEY);
	}
	req.key = 0;
	assert_int_equal(emu_mr_check_remote(f->pd, &req, &found), EMU_MR_KEY);
	req.key = UINT32_MAX;
	assert_int_equal(emu_mr_check_remote(f->pd, &req, &found), EMU_MR_KEY);
	assert_int_equal(emu_mr_dereg(mr), 0);
}

/* Every offset and length over a list of three SGEs, one of them empty. */
static void scatter_list_is_walked_byte_by_byte(void **state)
{
	struct fixture *f = *state;
	uint8_t memory[64], before[64], data[16];
	struct emu_mr *mr;
	struct emu_sge sge[4];
	struct emu_sgl sgl = {f->pd, sge, 4};
	static const struct {
		unsigned at, len;
	} piece[4] = {{3, 5}, {30, 0}, {20, 1}, {40, 7}};

	assert_int_equal(
		emu_mr_reg(f->pd, (uintptr_t)memory, (uintptr_t)memory, sizeof(memory), ALL, &mr),
		0);
	for (unsigned i = 0; i < 4; i++)
		sge[i] = (struct emu_sge){(uintptr_t)memory + piece[i].at, piece[i].len,
		                          piece[i].len ? emu_mr_lkey(mr) : 0xbad};
	assert_int_equal(emu_sgl_length(&sgl), 13);
	assert_int_equal(emu_sgl_check(&sgl, EMU_ACCESS_LOCAL_WRITE), EMU_MR_OK);
	for (unsigned off = 0; off <= 13; off++) {
		for (unsigned len = 0; off + len <= 14; len++) {
			enum emu_sgl_put put;
			unsigned done = 0, pos = 0;

			memset(memory, 0xee, sizeof(memory));
			memset(before, 0xee, sizeof(before));
			for (unsigned i = 0; i < len; i++)
				data[i] = (uint8_t)(i + 1);
			put = emu_sgl_put(&sgl, off, data, len);
			if (off + len > 13) {
				assert_int_equal(put, EMU_SGL_PUT_SHORT);
			} else {
				assert_int_equal(put, EMU_SGL_PUT_OK);
				for (unsigned i = 0; i < 4; i++) {
					for (unsigned b = 0; b < piece[i].len; b++, pos++) {
						if (pos >= off && done < len)
							before[piece[i].at + b] = data[done++];
					}
				}
			}
			assert_memory_equal(memory, before, sizeof(memory));
		}
	}
	assert_int_equal(emu_mr_dereg(mr), 0);
}

static void scatter_list_with_one_bad_piece_takes_nothing(void **state)
{
	struct fixture *f = *state;
	uint8_t memory[64] = {0}, zero[64] = {0}, data[16];
	struct emu_mr *mr;
	struct emu_sge sge[2];
	struct emu_sgl sgl = {f->pd, sge, 2};

	memset(data, 1, sizeof(data));
	assert_int_equal(emu_mr_reg(f->pd, (uintptr_t)memory, (uintptr_t)memory, 32, ALL, &mr), 0);
	sge[0] = (struct emu_sge){(uintptr_t)memory, 8, emu_mr_lkey(mr)};
	sge[1] = (struct emu_sge){(uintptr_t)memory + 28, 8, emu_mr_lkey(mr)};
	assert_int_equal(emu_sgl_check(&sgl, 0), EMU_MR_RANGE);
	assert_int_equal(emu_sgl_put(&sgl, 0, data, 16), EMU_SGL_PUT_REFUSED);
	assert_memory_equal(memory, zero, sizeof(memory));
	/* What is used of it is good. */
	assert_int_equal(emu_sgl_put(&sgl, 0, data, 12), EMU_SGL_PUT_OK);
	assert_int_equal(emu_mr_dereg(mr), 0);
}

#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DEVICE(registration_refuses_what_cannot_be),
		WITH_DEVICE(access_is_checked_for_key_right_and_range),
		WITH_DEVICE(key_of_another_pd_is_unknown),
		WITH_DEVICE(keys_of_a_dead_region_stay_dead),
		WITH_DEVICE(places_are_reused_and_keys_are_not),
		WITH_DEVICE(wrong_keys_are_unknown),
		WITH_DEVICE(scatter_list_is_walked_byte_by_byte),
		WITH_DEVICE(scatter_list_with_one_bad_piece_takes_nothing),
	};

	return cmocka_run_group_tests_name("memory regions", tests, NULL, NULL);
}
