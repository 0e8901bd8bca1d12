/* SPDX-License-Identifier: BSD-2-Clause */
/* Making and destroying objects: limits, what keeps what busy, stale pointers. */
#include "fixture.h"

#include <pthread.h>

static struct ibv_qp_init_attr qp_attr(struct ibv_cq *cq)
{
	return (struct ibv_qp_init_attr){
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = {10, 11, 3, 2, 24},
	};
}

static void granted_capabilities_are_written_back(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = qp_attr(cq), init;
	struct ibv_qp_attr queried;
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	assert_non_null(qp);
	assert_true(attr.cap.max_send_wr >= 10 && attr.cap.max_recv_wr >= 11);
	assert_true(attr.cap.max_send_sge >= 3 && attr.cap.max_recv_sge >= 2);
	assert_true(attr.cap.max_inline_data >= 24);
	assert_int_equal(ibv_query_qp(qp, &queried, IBV_QP_CAP, &init), 0);
	assert_memory_equal(&queried.cap, &attr.cap, sizeof(attr.cap));
	assert_memory_equal(&init.cap, &attr.cap, sizeof(attr.cap));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void a_new_qp_is_in_reset(void **state)
{
	struct pair *p = unconnected_pair(NULL);

	assert_int_equal(state_of(&p->a), IBV_QPS_RESET);
	assert_int_equal(p->a.qp->state, IBV_QPS_RESET);
	assert_int_equal(p->a.qp->qp_type, IBV_QPT_RC);
	assert_ptr_equal(p->a.qp->pd, pd);
	assert_int_not_equal(p->a.qp->qp_num, p->b.qp->qp_num);
	assert_true(p->a.qp->qp_num < 1u << 24);
}

static void *new_pd(void)
{
	return ibv_alloc_pd(ctx);
}

static int destroy_pd(void *obj)
{
	return ibv_dealloc_pd(obj);
}

static void *new_cq(void)
{
	return ibv_create_cq(ctx, 1, NULL, NULL, 0);
}

static int destroy_cq(void *obj)
{
	return ibv_destroy_cq(obj);
}

static void *new_channel(void)
{
	return ibv_create_comp_channel(ctx);
}

static int destroy_channel(void *obj)
{
	return ibv_destroy_comp_channel(obj);
}

static void *new_mr(void)
{
	static char byte;

	return ibv_reg_mr(pd, &byte, 1, 0);
}

static int destroy_mr(void *obj)
{
	return ibv_dereg_mr(obj);
}

static struct ibv_cq *shared_cq;

static void *new_qp(void)
{
	struct ibv_qp_init_attr attr = qp_attr(shared_cq);

	return ibv_create_qp(pd, &attr);
}

static int destroy_qp(void *obj)
{
	return ibv_destroy_qp(obj);
}

#define RACES 3000

static struct race {
	int (*destroy)(void *obj);
	void *volatile obj;
	pthread_barrier_t begin, end;
	int won; /* by the other thread */
} race;

static void *destroy_too(void *arg)
{
	for (int i = 0; i < RACES; i++) {
		pthread_barrier_wait(&race.begin);
		race.won = !race.destroy(race.obj);
		pthread_barrier_wait(&race.end);
	}
	return NULL;
}

/* A program's mistake, but one thread's success must not be the other's crash. */
static void of_two_who_destroy_an_object_one_succeeds(void **state)
{
	static const struct {
		void *(*make)(void);
		int (*destroy)(void *obj);
	} rows[] = {
		{new_pd, destroy_pd}, {new_cq, destroy_cq}, {new_channel, destroy_channel},
		{new_mr, destroy_mr}, {new_qp, destroy_qp},
	};

	shared_cq = new_cq();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pthread_t other;

		race.destroy = rows[i].destroy;
		pthread_barrier_init(&race.begin, NULL, 2);
		pthread_barrier_init(&race.end, NULL, 2);
		assert_int_equal(pthread_create(&other, NULL, destroy_too, NULL), 0);
		for (int n = 0; n < RACES; n++) {
			int won;

			race.obj = rows[i].make();
			assert_non_null(race.obj);
			pthread_barrier_wait(&race.begin);
			won = !race.destroy(race.obj);
			pthread_barrier_wait(&race.end);
			assert_int_equal(won + race.won, 1);
		}
		pthread_join(other, NULL);
	}
	assert_int_equal(ibv_destroy_cq(shared_cq), 0);
}

static void refuse_cap(struct ibv_qp_cap cap)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = qp_attr(cq);

	attr.cap = cap;
	errno = 0;
	assert_null(ibv_create_qp(pd, &attr));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void capabilities_above_the_devices_are_refused(void **state)
{
	struct ibv_device_attr dev;

	assert_int_equal(ibv_query_device(ctx, &dev), 0);
	refuse_cap((struct ibv_qp_cap){dev.max_qp_wr + 1, 1, 1, 1, 0});
	refuse_cap((struct ibv_qp_cap){1, dev.max_qp_wr + 1, 1, 1, 0});
	refuse_cap((struct ibv_qp_cap){1, 1, dev.max_sge + 1, 1, 0});
	refuse_cap((struct ibv_qp_cap){1, 1, 1, dev.max_sge + 1, 0});
	refuse_cap((struct ibv_qp_cap){1, 1, 1, 1, 1 << 20});
}

static void capabilities_of_the_device_are_granted_in_full(void **state)
{
	struct ibv_device_attr dev;
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = qp_attr(cq);
	struct ibv_qp *qp;

	assert_int_equal(ibv_query_device(ctx, &dev), 0);
	attr.cap = (struct ibv_qp_cap){dev.max_qp_wr, dev.max_qp_wr, dev.max_sge, dev.max_sge, 0};
	qp = ibv_create_qp(pd, &attr);
	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void unknown_qp_type_and_missing_cq_are_refused(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = qp_attr(cq);

	attr.qp_type = 77;
	errno = 0;
	assert_null(ibv_create_qp(pd, &attr));
	assert_int_equal(errno, EINVAL);
	attr = qp_attr(NULL);
	errno = 0;
	assert_null(ibv_create_qp(pd, &attr));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void cq_sizes_out_of_range_are_refused(void **state)
{
	struct ibv_device_attr dev;
	struct ibv_cq *cq;

	assert_int_equal(ibv_query_device(ctx, &dev), 0);
	errno = 0;
	assert_null(ibv_create_cq(ctx, 0, NULL, NULL, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_cq(ctx, -1, NULL, NULL, 0));
	errno = 0;
	assert_null(ibv_create_cq(ctx, dev.max_cqe + 1, NULL, NULL, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_cq(ctx, 16, NULL, NULL, ctx->num_comp_vectors));
	assert_null(ibv_create_cq(ctx, 16, NULL, NULL, -1));
	cq = ibv_create_cq(ctx, dev.max_cqe, NULL, NULL, ctx->num_comp_vectors - 1);
	assert_non_null(cq);
	assert_true(cq->cqe >= dev.max_cqe);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void cq_with_a_qp_is_busy(void **state)
{
	struct pair *p = unconnected_pair(NULL);

	assert_int_equal(ibv_destroy_cq(p->a.scq), EBUSY);
	assert_int_equal(ibv_destroy_cq(p->a.rcq), EBUSY);
}

static void pd_with_an_mr_or_a_qp_is_busy(void **state)
{
	struct ibv_pd *mine = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = qp_attr(cq);
	static uint8_t buf[64];
	struct ibv_mr *mr;
	struct ibv_qp *qp;

	assert_non_null(mine);
	mr = ibv_reg_mr(mine, buf, sizeof(buf), 0);
	assert_non_null(mr);
	assert_int_equal(ibv_dealloc_pd(mine), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	qp = ibv_create_qp(mine, &attr);
	assert_non_null(qp);
	assert_int_equal(ibv_dealloc_pd(mine), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dealloc_pd(mine), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void channel_with_a_cq_is_busy(void **state)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_cq *cq;

	assert_non_null(channel);
	cq = ibv_create_cq(ctx, 16, NULL, channel, 0);
	assert_non_null(cq);
	assert_int_equal(ibv_destroy_comp_channel(channel), EBUSY);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
}

static void max_pd_can_be_made_and_one_more_fails(void **state)
{
	struct ibv_device_attr dev;
	struct ibv_pd **pds;
	int n;

	assert_int_equal(ibv_query_device(ctx, &dev), 0);
	pds = calloc(dev.max_pd + 1, sizeof(*pds));
	assert_non_null(pds);
	errno = 0;
	for (n = 0; n <= dev.max_pd && (pds[n] = ibv_alloc_pd(ctx)); n++)
		;
	assert_int_equal(errno, ENOMEM);
	/* One is the fixture's. */
	assert_int_equal(n, dev.max_pd - 1);
	while (n)
		assert_int_equal(ibv_dealloc_pd(pds[--n]), 0);
	free(pds);
}

static void destroyed_objects_are_refused(void **state)
{
	struct pair *p = unconnected_pair(NULL);
	struct ibv_qp *qp = p->a.qp;
	struct ibv_mr *mr = p->a.mr;
	struct ibv_qp_attr attr = init_attr(&p->opts);

	assert_int_equal(ibv_destroy_qp(qp), 0);
	p->a.qp = NULL;
	assert_int_not_equal(ibv_destroy_qp(qp), 0);
	assert_int_not_equal(ibv_modify_qp(qp, &attr, INIT_MASK), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	p->a.mr = NULL;
	assert_int_not_equal(ibv_dereg_mr(mr), 0);
}

static void objects_of_another_kind_are_refused(void **state)
{
	struct pair *p = unconnected_pair(NULL);

	assert_int_not_equal(ibv_destroy_qp((struct ibv_qp *)p->a.scq), 0);
	assert_int_not_equal(ibv_destroy_cq((struct ibv_cq *)p->a.qp), 0);
	assert_int_not_equal(ibv_dereg_mr((struct ibv_mr *)pd), 0);
	assert_int_not_equal(ibv_dealloc_pd((struct ibv_pd *)p->a.mr), 0);
	assert_int_equal(state_of(&p->a), IBV_QPS_RESET);
}

static void objects_can_be_made_and_destroyed_many_times(void **state)
{
	for (int i = 0; i < 500; i++) {
		struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
		struct ibv_qp_init_attr attr = qp_attr(cq);
		struct ibv_qp *qp = ibv_create_qp(pd, &attr);

		assert_non_null(qp);
		assert_int_equal(ibv_destroy_qp(qp), 0);
		assert_int_equal(ibv_destroy_cq(cq), 0);
	}
}

static void what_the_device_lacks_says_so(void **state)
{
	struct ibv_xrcd_init_attr xrcd = {.comp_mask = IBV_XRCD_INIT_ATTR_FD, .fd = -1};
	struct ibv_alloc_dm_attr dm = {.length = 64};

	errno = 0;
	assert_null(ibv_alloc_dm(ctx, &dm));
	assert_int_equal(errno, EOPNOTSUPP);
	errno = 0;
	assert_null(ibv_alloc_null_mr(pd));
	assert_int_equal(errno, EOPNOTSUPP);
	errno = 0;
	assert_null(ibv_open_xrcd(ctx, &xrcd));
	assert_true(errno == EOPNOTSUPP || errno == EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(granted_capabilities_are_written_back),
		TEST(a_new_qp_is_in_reset),
		TEST(capabilities_above_the_devices_are_refused),
		TEST(capabilities_of_the_device_are_granted_in_full),
		TEST(unknown_qp_type_and_missing_cq_are_refused),
		TEST(cq_sizes_out_of_range_are_refused),
		TEST(cq_with_a_qp_is_busy),
		TEST(pd_with_an_mr_or_a_qp_is_busy),
		TEST(channel_with_a_cq_is_busy),
		TEST(max_pd_can_be_made_and_one_more_fails),
		TEST(destroyed_objects_are_refused),
		TEST(of_two_who_destroy_an_object_one_succeeds),
		TEST(objects_of_another_kind_are_refused),
		TEST(objects_can_be_made_and_destroyed_many_times),
		TEST(what_the_device_lacks_says_so),
	};

	return RUN(tests);
}
