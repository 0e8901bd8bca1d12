/* SPDX-License-Identifier: BSD-2-Clause */
/* See fixture.h. */
#include "fixture.h"

#include <poll.h>
#include <stdio.h>
#include <time.h>

#define PAIRS_MAX 8
#define DIVERGENCES_MAX 128
#define WAIT_MS 5000
#define FIRST_PSN 0x1234

struct ibv_context *ctx;
struct ibv_pd *pd;

static struct pair *pairs[PAIRS_MAX];
static unsigned pair_count;
static uint8_t gid_index;
static union ibv_gid gid;

/* ---- the caps file -------------------------------------------------------- */

struct divergence {
	char verb[16]; /* lacks or diverges */
	char name[96];
	char reason[160];
};

static struct divergence divergences[DIVERGENCES_MAX];
static unsigned divergence_count;

static void read_caps(void)
{
	const char *path = getenv("CONFORMANCE_CAPS");
	FILE *f = path ? fopen(path, "r") : NULL;
	char line[400];

	while (f && fgets(line, sizeof(line), f) && divergence_count < DIVERGENCES_MAX) {
		struct divergence *d = &divergences[divergence_count];

		if (line[0] != '#' &&
		    sscanf(line, "%15s %95s %159[^\n]", d->verb, d->name, d->reason) >= 2)
			divergence_count++;
	}
	if (f)
		fclose(f);
}

static const struct divergence *find_divergence(const char *verb, const char *name)
{
	for (unsigned i = 0; i < divergence_count; i++) {
		if (!strcmp(divergences[i].verb, verb) && !strcmp(divergences[i].name, name))
			return &divergences[i];
	}
	return NULL;
}

bool lacks(const char *what)
{
	return find_divergence("lacks", what);
}

static void skipped(void **state)
{
	skip();
}

/* ---- device ---------------------------------------------------------------- */

static int open_device(void **state)
{
	const char *wanted = getenv("CONFORMANCE_DEVICE");
	const char *index = getenv("CONFORMANCE_GID");
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (unsigned i = 0; list && list[i] && !ctx; i++) {
		if (!wanted || !strcmp(wanted, ibv_get_device_name(list[i])))
			ctx = ibv_open_device(list[i]);
	}
	if (list)
		ibv_free_device_list(list);
	gid_index = index ? atoi(index) : 0;
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	if (pd && !ibv_query_gid(ctx, 1, gid_index, &gid))
		return 0;
	fprintf(stderr, "no device to test: %s\n", strerror(errno));
	return -1;
}

static int close_device(void **state)
{
	if (!pd)
		return 0;
	return ibv_dealloc_pd(pd) || ibv_close_device(ctx) ? -1 : 0;
}

/* ---- pairs ----------------------------------------------------------------- */

struct options defaults(void)
{
	return (struct options){
		.type = IBV_QPT_RC,
		.cap = {.max_send_wr = 16,
	                .max_recv_wr = 16,
	                .max_send_sge = 2,
	                .max_recv_sge = 2,
	                .max_inline_data = 64},
		.access = ALL_ACCESS,
		.cqe = 64,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 1,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.path_mtu = IBV_MTU_1024,
	};
}

static struct ibv_qp *create_qp(struct end *e, struct ibv_pd *of, const struct options *o)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = e->scq,
		.recv_cq = e->rcq,
		.cap = o->cap,
		.srq = e->srq,
		.qp_type = o->type,
		.sq_sig_all = o->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = of,
	};

	if (o->extended) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE |
		                      IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
		                      IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
		                      IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		                      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	}
	return ibv_create_qp_ex(ctx, &attr);
}

static void make_end(struct end *e, struct ibv_pd *of, uint32_t srq_wr, const struct options *o)
{
	if (o->events) {
		e->channel = ibv_create_comp_channel(ctx);
		assert_non_null(e->channel);
	}
	e->scq = ibv_create_cq(ctx, o->cqe, NULL, NULL, 0);
	e->rcq = ibv_create_cq(ctx, o->cqe, e, e->channel, 0);
	assert_non_null(e->scq);
	assert_non_null(e->rcq);
	if (srq_wr) {
		struct ibv_srq_init_attr attr = {.attr = {.max_wr = srq_wr, .max_sge = 1}};

		e->srq = ibv_create_srq(of, &attr);
		assert_non_null(e->srq);
	}
	e->qp = create_qp(e, of, o);
	assert_non_null(e->qp);
	e->buf = aligned_alloc(4096, BUF_SIZE);
	assert_non_null(e->buf);
	memset(e->buf, 0, BUF_SIZE);
	e->mr = ibv_reg_mr(of, e->buf, BUF_SIZE, ALL_ACCESS);
	assert_non_null(e->mr);
}

struct pair *unconnected_pair(const struct options *o)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	assert_true(pair_count < PAIRS_MAX);
	pairs[pair_count++] = p;
	p->opts = o ? *o : defaults();
	p->a.peer = &p->b;
	p->b.peer = &p->a;
	make_end(&p->a, pd, 0, &p->opts);
	make_end(&p->b, p->opts.pd_b ? p->opts.pd_b : pd, p->opts.srq_wr, &p->opts);
	return p;
}

struct pair *connected_pair(const struct options *o)
{
	struct pair *p = unconnected_pair(o);

	assert_int_equal(to_init(&p->a, &p->opts), 0);
	assert_int_equal(to_init(&p->b, &p->opts), 0);
	assert_int_equal(to_rtr(&p->a, p->b.qp->qp_num, &p->opts), 0);
	assert_int_equal(to_rtr(&p->b, p->a.qp->qp_num, &p->opts), 0);
	assert_int_equal(to_rts(&p->a, &p->opts), 0);
	assert_int_equal(to_rts(&p->b, &p->opts), 0);
	return p;
}

static void destroy_qp(struct end *e)
{
	if (e->qp)
		ibv_destroy_qp(e->qp);
}

static void free_end(struct end *e)
{
	if (e->srq)
		ibv_destroy_srq(e->srq);
	if (e->mr)
		ibv_dereg_mr(e->mr);
	if (e->scq)
		ibv_destroy_cq(e->scq);
	if (e->rcq)
		ibv_destroy_cq(e->rcq);
	if (e->channel)
		ibv_destroy_comp_channel(e->channel);
	free(e->buf);
}

/* After each test, passed or not. */
static int free_pairs(void **state)
{
	while (pair_count) {
		struct pair *p = pairs[--pair_count];

		destroy_qp(&p->a);
		destroy_qp(&p->b);
		free_end(&p->a);
		free_end(&p->b);
		free(p);
	}
	return 0;
}

/* ---- states ---------------------------------------------------------------- */

struct ibv_qp_attr init_attr(const struct options *o)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = o->access,
	};
}

struct ibv_qp_attr rtr_attr(uint32_t dest_qpn, const struct options *o)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = o->path_mtu,
		.dest_qp_num = dest_qpn,
		.rq_psn = FIRST_PSN,
		.max_dest_rd_atomic = o->max_dest_rd_atomic,
		.min_rnr_timer = o->min_rnr_timer,
		.ah_attr =
			{
				.is_global = 1,
				.port_num = 1,
				.grh = {.dgid = gid, .sgid_index = gid_index, .hop_limit = 64},
			},
	};
}

struct ibv_qp_attr rts_attr(const struct options *o)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.sq_psn = FIRST_PSN,
		.timeout = o->timeout,
		.retry_cnt = o->retry_cnt,
		.rnr_retry = o->rnr_retry,
		.max_rd_atomic = o->max_rd_atomic,
	};
}

int to_init(struct end *e, const struct options *o)
{
	struct ibv_qp_attr attr = init_attr(o);

	return ibv_modify_qp(e->qp, &attr, INIT_MASK);
}

int to_rtr(struct end *e, uint32_t dest_qpn, const struct options *o)
{
	struct ibv_qp_attr attr = rtr_attr(dest_qpn, o);

	return ibv_modify_qp(e->qp, &attr, o->type == IBV_QPT_UC ? RTR_UC_MASK : RTR_MASK);
}

int to_rts(struct end *e, const struct options *o)
{
	struct ibv_qp_attr attr = rts_attr(o);

	return ibv_modify_qp(e->qp, &attr, o->type == IBV_QPT_UC ? RTS_UC_MASK : RTS_MASK);
}

int to_state(struct end *e, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};

	return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE);
}

enum ibv_qp_state state_of(struct end *e)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	assert_int_equal(ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

void expect_state(struct end *e, enum ibv_qp_state state)
{
	uint64_t end = now_ms() + WAIT_MS;

	while (state_of(e) != state && now_ms() < end)
		;
	assert_int_equal(state_of(e), state);
}

/* ---- traffic --------------------------------------------------------------- */

struct request request(struct end *e, uint64_t id, enum ibv_wr_opcode op, uint32_t len)
{
	struct request r = {
		.sge = {.addr = (uintptr_t)e->buf, .length = len, .lkey = e->mr->lkey},
		.wr = {.wr_id = id, .num_sge = 1, .opcode = op, .send_flags = IBV_SEND_SIGNALED},
	};

	if (op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		r.wr.wr.atomic.remote_addr = (uintptr_t)e->peer->buf;
		r.wr.wr.atomic.rkey = e->peer->mr->rkey;
	} else {
		r.wr.wr.rdma.remote_addr = (uintptr_t)e->peer->buf;
		r.wr.wr.rdma.rkey = e->peer->mr->rkey;
	}
	return r;
}

int post(struct end *e, struct request *r)
{
	struct ibv_send_wr *bad = NULL;
	int err;

	r->wr.sg_list = &r->sge;
	err = ibv_post_send(e->qp, &r->wr, &bad);
	if (err)
		assert_ptr_equal(bad, &r->wr);
	return err;
}

void do_post(struct end *e, uint64_t id, enum ibv_wr_opcode op, uint32_t len)
{
	struct request r = request(e, id, op, len);

	assert_int_equal(post(e, &r), 0);
}

int post_recv(struct end *e, uint64_t id, uint32_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->buf + RECV_OFFSET, .length = len, .lkey = e->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad = NULL;
	int err = e->srq ? ibv_post_srq_recv(e->srq, &wr, &bad) : ibv_post_recv(e->qp, &wr, &bad);

	if (err)
		assert_ptr_equal(bad, &wr);
	return err;
}

struct ibv_wc expect_wc(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status)
{
	uint64_t end = now_ms() + WAIT_MS;
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, &wc);
	} while (!n && now_ms() < end);
	if (n != 1)
		fail_msg("no completion where wr_id %lu was expected (ibv_poll_cq: %d)",
		         (unsigned long)id, n);
	if (wc.status != status)
		fail_msg("wr_id %lu completed with %s, not %s", (unsigned long)wc.wr_id,
		         ibv_wc_status_str(wc.status), ibv_wc_status_str(status));
	assert_int_equal(wc.wr_id, id);
	return wc;
}

void expect_no_wc(struct ibv_cq *cq, int ms)
{
	uint64_t end = now_ms() + ms;
	struct ibv_wc wc;

	do {
		if (ibv_poll_cq(cq, 1, &wc))
			fail_msg("a completion with %s where none was expected",
			         ibv_wc_status_str(wc.status));
	} while (now_ms() < end);
}

bool readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

void expect_async(enum ibv_event_type type, const void *element)
{
	struct ibv_async_event event;

	if (!readable(ctx->async_fd, WAIT_MS))
		fail_msg("no event where %s was expected", ibv_event_type_str(type));
	assert_int_equal(ibv_get_async_event(ctx, &event), 0);
	ibv_ack_async_event(&event);
	assert_string_equal(ibv_event_type_str(event.event_type), ibv_event_type_str(type));
	assert_ptr_equal(event.element.qp, element);
}

void expect_no_async(int ms)
{
	assert_false(readable(ctx->async_fd, ms));
}

uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

/* ---- the program ------------------------------------------------------------ */

int run(const struct CMUnitTest *tests, size_t count)
{
	struct CMUnitTest *mine = calloc(count, sizeof(*mine));
	int failures;

	if (!mine)
		return 99;
	read_caps();
	for (size_t i = 0; i < count; i++) {
		const struct divergence *d = find_divergence("diverges", tests[i].name);

		mine[i] = tests[i];
		mine[i].teardown_func = free_pairs;
		if (d) {
			mine[i].test_func = skipped;
			printf("%s: this device diverges: %s\n", d->name, d->reason);
		}
	}
	failures = _cmocka_run_group_tests("conformance", mine, count, open_device, close_device);
	free(mine);
	return failures;
}
