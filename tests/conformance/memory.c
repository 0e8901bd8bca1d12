/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory regions: what may be registered, keys, re-registration, memory that goes away. */
#include "fixture.h"

#include <sys/mman.h>
#include <unistd.h>

static uint8_t page[8192] __attribute__((aligned(4096)));

static void refuse(void *addr, size_t len, int access, int err)
{
	errno = 0;
	assert_null(ibv_reg_mr(pd, addr, len, access));
	assert_int_equal(errno, err);
}

static void accept(void *addr, size_t len, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, addr, len, access);

	assert_non_null(mr);
	assert_ptr_equal(mr->addr, addr);
	assert_int_equal(mr->length, len);
	assert_ptr_equal(mr->pd, pd);
	assert_ptr_equal(mr->context, ctx);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void remote_write_and_atomic_need_local_write(void **state)
{
	refuse(page, 4096, IBV_ACCESS_REMOTE_WRITE, EINVAL);
	refuse(page, 4096, IBV_ACCESS_REMOTE_ATOMIC, EINVAL);
	accept(page, 4096, IBV_ACCESS_REMOTE_READ);
	accept(page, 4096, 0);
}

static void unknown_access_bits_are_refused(void **state)
{
	refuse(page, 4096, IBV_ACCESS_LOCAL_WRITE | 1 << 19, EINVAL);
}

static void optional_access_bits_are_taken(void **state)
{
	accept(page, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
	accept(page, 4096, IBV_ACCESS_LOCAL_WRITE | 1 << 28);
}

static void access_bits_that_the_compiler_cannot_see_work_too(void **state)
{
	volatile int access = ALL_ACCESS;

	accept(page, 4096, access);
	access |= IBV_ACCESS_RELAXED_ORDERING;
	accept(page, 4096, access);
}

static void length_0_works(void **state)
{
	accept(page, 0, IBV_ACCESS_LOCAL_WRITE);
}

static void wrapping_range_is_refused(void **state)
{
	refuse(page, SIZE_MAX - 10, IBV_ACCESS_LOCAL_WRITE, EINVAL);
}

static void unmapped_memory_is_a_fault(void **state)
{
	uint8_t *hole =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(hole != MAP_FAILED);
	assert_int_equal(munmap(hole + 4096, 4096), 0);
	refuse(hole + 4096, 4096, IBV_ACCESS_LOCAL_WRITE, EFAULT);
	refuse(hole, 8192, IBV_ACCESS_LOCAL_WRITE, EFAULT);
	refuse(hole, 8192, 0, EFAULT);
	accept(hole, 4096, IBV_ACCESS_LOCAL_WRITE);
	munmap(hole, 4096);
}

static void read_only_memory_is_a_fault_only_with_local_write(void **state)
{
	static const char text[] = "read-only";

	refuse((void *)text, sizeof(text), IBV_ACCESS_LOCAL_WRITE, EFAULT);
	accept((void *)text, sizeof(text), 0);
}

static void bad_flags_on_bad_memory_are_invalid_first(void **state)
{
	refuse((void *)0x10000, 4096, IBV_ACCESS_REMOTE_WRITE, EINVAL);
}

static void keys_differ_and_are_not_reused_at_once(void **state)
{
	struct ibv_mr *one = ibv_reg_mr(pd, page, 4096, ALL_ACCESS);
	struct ibv_mr *two = ibv_reg_mr(pd, page, 4096, ALL_ACCESS);
	uint32_t rkey, lkey;

	assert_non_null(one);
	assert_non_null(two);
	assert_int_not_equal(one->rkey, two->rkey);
	assert_int_not_equal(one->lkey, two->lkey);
	rkey = one->rkey;
	lkey = one->lkey;
	assert_int_equal(ibv_dereg_mr(one), 0);
	for (int i = 0; i < 16; i++) {
		one = ibv_reg_mr(pd, page, 4096, ALL_ACCESS);
		assert_non_null(one);
		assert_int_not_equal(one->rkey, rkey);
		assert_int_not_equal(one->lkey, lkey);
		assert_int_equal(ibv_dereg_mr(one), 0);
	}
	assert_int_equal(ibv_dereg_mr(two), 0);
}

static void iova_names_the_region_to_peers(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_mr *mr = ibv_reg_mr_iova(pd, p->b.buf, 4096, 0x123000, ALL_ACCESS);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 64);

	assert_non_null(mr);
	p->a.buf[0] = 42;
	r.wr.wr.rdma.remote_addr = 0x123000 + 100;
	r.wr.wr.rdma.rkey = mr->rkey;
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(p->b.buf[100], 42);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void zero_based_region_is_named_by_offsets(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct ibv_mr *mr = ibv_reg_mr(pd, p->b.buf, 4096, ALL_ACCESS | IBV_ACCESS_ZERO_BASED);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 64);

	assert_non_null(mr);
	p->a.buf[0] = 43;
	r.wr.wr.rdma.remote_addr = 200;
	r.wr.wr.rdma.rkey = mr->rkey;
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(p->b.buf[200], 43);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void rereg_changes_the_rights(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r;

	assert_int_equal(ibv_rereg_mr(p->b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
	                              IBV_ACCESS_LOCAL_WRITE),
	                 0);
	r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 64);
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_REM_ACCESS_ERR);
}

static void rereg_changes_the_range(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r;

	assert_int_equal(
		ibv_rereg_mr(p->b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, page, 4096, 0), 0);
	assert_ptr_equal(p->b.mr->addr, page);
	page[0] = 0;
	p->a.buf[0] = 17;
	r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 64);
	r.wr.wr.rdma.remote_addr = (uintptr_t)page;
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(page[0], 17);
}

static void bad_rereg_leaves_the_region_as_it_was(void **state)
{
	struct pair *p = connected_pair(NULL);

	assert_int_equal(ibv_rereg_mr(p->b.mr, 1 << 9, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(
		ibv_rereg_mr(p->b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, NULL, 4096, 0),
		IBV_REREG_MR_ERR_INPUT);
	do_post(&p->a, 1, IBV_WR_RDMA_WRITE, 64);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
}

/* A region whose pages are gone by the time somebody uses it. */
static struct ibv_mr *reg_and_unmap(uint8_t **addr)
{
	struct ibv_mr *mr;

	*addr = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(*addr != MAP_FAILED);
	mr = ibv_reg_mr(pd, *addr, 4096, ALL_ACCESS);
	assert_non_null(mr);
	assert_int_equal(munmap(*addr, 4096), 0);
	return mr;
}

static void write_into_memory_that_was_unmapped_fails_and_nobody_crashes(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_WRITE, 64);
	uint8_t *gone;
	struct ibv_mr *mr = reg_and_unmap(&gone);

	r.wr.wr.rdma.remote_addr = (uintptr_t)gone;
	r.wr.wr.rdma.rkey = mr->rkey;
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_REM_OP_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void read_from_memory_that_was_unmapped_fails_and_nobody_crashes(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_RDMA_READ, 64);
	uint8_t *gone;
	struct ibv_mr *mr = reg_and_unmap(&gone);

	r.wr.wr.rdma.remote_addr = (uintptr_t)gone;
	r.wr.wr.rdma.rkey = mr->rkey;
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_REM_OP_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void send_from_memory_that_was_unmapped_is_a_local_protection_error(void **state)
{
	struct pair *p = connected_pair(NULL);
	struct request r = request(&p->a, 1, IBV_WR_SEND, 64);
	uint8_t *gone;
	struct ibv_mr *mr = reg_and_unmap(&gone);

	r.sge.addr = (uintptr_t)gone;
	r.sge.lkey = mr->lkey;
	assert_int_equal(post_recv(&p->b, 11, 64), 0);
	assert_int_equal(post(&p->a, &r), 0);
	expect_wc(p->a.scq, 1, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(remote_write_and_atomic_need_local_write),
		TEST(unknown_access_bits_are_refused),
		TEST(optional_access_bits_are_taken),
		TEST(access_bits_that_the_compiler_cannot_see_work_too),
		TEST(length_0_works),
		TEST(wrapping_range_is_refused),
		TEST(unmapped_memory_is_a_fault),
		TEST(read_only_memory_is_a_fault_only_with_local_write),
		TEST(bad_flags_on_bad_memory_are_invalid_first),
		TEST(keys_differ_and_are_not_reused_at_once),
		TEST(iova_names_the_region_to_peers),
		TEST(zero_based_region_is_named_by_offsets),
		TEST(rereg_changes_the_rights),
		TEST(rereg_changes_the_range),
		TEST(bad_rereg_leaves_the_region_as_it_was),
		TEST(write_into_memory_that_was_unmapped_fails_and_nobody_crashes),
		TEST(read_from_memory_that_was_unmapped_fails_and_nobody_crashes),
		TEST(send_from_memory_that_was_unmapped_is_a_local_protection_error),
	};

	return RUN(tests);
}
