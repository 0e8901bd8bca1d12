/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes wrong on an RC connection, one row a cause: the initiator's status
 * and vendor_err, what the responder's program sees, that nothing was written,
 * and that every request behind it is flushed in order.
 */
#include "rig.h"

#include <stdio.h>
#include <string.h>

#define MTU 1024u
#define AT 4096u /* the request's offset in the responder's buffer */
#define FLUSHED_SEND 0xf5
#define FLUSHED_RECV 0xf9

struct request {
	struct rig *rig;
	struct emu_sge sge[2];
	struct emu_send_wr wr;   /* a WRITE of 3000 bytes to AT, unsignaled, before arrange() */
	struct emu_sge recv_sge; /* 4096 bytes at 8192 */
	uint32_t behind;         /* flags of the requests behind it */
	struct emu_mr *extra;    /* deregistered at the end */
	struct emu_pd *extra_pd;
};

struct row {
	const char *cause;
	void (*prepare)(struct rig *rig); /* before the connection is made */
	void (*arrange)(struct request *req);
	enum emu_wc_status status;
	uint32_t vendor_err;
	/* The responder: status of its first receive (SUCCESS: not taken), event, state. */
	enum emu_wc_status recv_status;
	enum emu_event_type event;
	enum emu_qp_state state;
};

static void use(struct request *req, enum emu_wr_opcode opcode)
{
	req->wr.opcode = opcode;
	if (opcode == EMU_WR_ATOMIC_CMP_AND_SWP || opcode == EMU_WR_ATOMIC_FETCH_AND_ADD)
		req->sge[0].length = 8;
}

static void name_extra(struct request *req, struct emu_pd *pd, uint32_t access)
{
	uint64_t addr = (uintptr_t)req->rig->b.buf + AT;

	assert_int_equal(emu_mr_reg(pd, addr, addr, 8192, access, &req->extra), 0);
	req->wr.rkey = emu_mr_rkey(req->extra);
}

/* ---- keys, bounds, rights of the region ---------------------------------- */

static void bad_rkey(struct request *req)
{
	req->wr.rkey ^= 0x10000;
}

static void bad_rkey_read(struct request *req)
{
	use(req, EMU_WR_RDMA_READ);
	req->wr.rkey = 0;
}

static void bad_rkey_atomic(struct request *req)
{
	use(req, EMU_WR_ATOMIC_FETCH_AND_ADD);
	req->wr.rkey ^= 1;
}

static void bad_rkey_write_imm(struct request *req)
{
	use(req, EMU_WR_RDMA_WRITE_WITH_IMM);
	req->wr.rkey ^= 0x10000;
}

static void stale_rkey(struct request *req)
{
	name_extra(req, req->rig->b.pd, RIG_ALL_ACCESS);
	assert_int_equal(emu_mr_dereg(req->extra), 0);
	req->extra = NULL;
}

/* A key must not come back to life in the next registration. */
static void reused_rkey(struct request *req)
{
	uint32_t stale;

	stale_rkey(req);
	stale = req->wr.rkey;
	name_extra(req, req->rig->b.pd, RIG_ALL_ACCESS);
	assert_int_not_equal(req->wr.rkey, stale);
	req->wr.rkey = stale;
}

static void other_pd(struct request *req)
{
	assert_int_equal(emu_pd_alloc(req->rig->b.dev, &req->extra_pd), 0);
	name_extra(req, req->extra_pd, RIG_ALL_ACCESS);
}

static void beyond_end(struct request *req)
{
	name_extra(req, req->rig->b.pd, RIG_ALL_ACCESS);
	req->wr.remote_addr += 8192 - 2999;
}

static void beyond_end_read(struct request *req)
{
	beyond_end(req);
	use(req, EMU_WR_RDMA_READ);
}

static void beyond_end_atomic(struct request *req)
{
	beyond_end(req);
	use(req, EMU_WR_ATOMIC_CMP_AND_SWP);
	req->wr.remote_addr = (uintptr_t)req->rig->b.buf + AT + 8192;
}

static void before_start(struct request *req)
{
	name_extra(req, req->rig->b.pd, RIG_ALL_ACCESS);
	req->wr.remote_addr--;
}

static void around_the_end_of_addresses(struct request *req)
{
	req->wr.remote_addr = UINT64_MAX - 100;
}

static void no_remote_write(struct request *req)
{
	name_extra(req, req->rig->b.pd, RIG_ALL_ACCESS & ~EMU_ACCESS_REMOTE_WRITE);
}

static void no_remote_read(struct request *req)
{
	use(req, EMU_WR_RDMA_READ);
	name_extra(req, req->rig->b.pd, RIG_ALL_ACCESS & ~EMU_ACCESS_REMOTE_READ);
}

static void no_remote_atomic(struct request *req)
{
	use(req, EMU_WR_ATOMIC_CMP_AND_SWP);
	name_extra(req, req->rig->b.pd, RIG_ALL_ACCESS & ~EMU_ACCESS_REMOTE_ATOMIC);
}

/* ---- rights of the queue pair, invalid requests ---------------------------- */

static void qp_denies_write(struct rig *rig)
{
	rig->b.attr.access_flags &= ~EMU_ACCESS_REMOTE_WRITE;
}

static void qp_denies_read(struct rig *rig)
{
	rig->b.attr.access_flags &= ~EMU_ACCESS_REMOTE_READ;
}

static void qp_denies_atomic(struct rig *rig)
{
	rig->b.attr.access_flags &= ~EMU_ACCESS_REMOTE_ATOMIC;
}

static void plain_write(struct request *req)
{
}

static void plain_read(struct request *req)
{
	use(req, EMU_WR_RDMA_READ);
}

static void plain_atomic(struct request *req)
{
	use(req, EMU_WR_ATOMIC_CMP_AND_SWP);
}

static void misaligned_atomic(struct request *req)
{
	use(req, EMU_WR_ATOMIC_FETCH_AND_ADD);
	req->wr.remote_addr += 4;
}

/* An aligned name of a word that is not. */
static void misaligned_word(struct request *req)
{
	uint64_t addr = (uintptr_t)req->rig->b.buf + AT + 4;

	use(req, EMU_WR_ATOMIC_FETCH_AND_ADD);
	assert_int_equal(emu_mr_reg(req->rig->b.pd, addr, 0, 8192, RIG_ALL_ACCESS, &req->extra), 0);
	req->wr.rkey = emu_mr_rkey(req->extra);
	req->wr.remote_addr = 8;
}

static void responder_takes_no_reads(struct rig *rig)
{
	rig->b.attr.max_dest_rd_atomic = 0;
}

static void long_send(struct request *req)
{
	use(req, EMU_WR_SEND);
	req->recv_sge.length = 2999;
}

static void long_send_one_packet(struct request *req)
{
	use(req, EMU_WR_SEND);
	req->sge[0].length = 11;
	req->recv_sge.length = 10;
}

/* ---- the receive's own buffer ---------------------------------------------- */

static void recv_bad_lkey(struct request *req)
{
	use(req, EMU_WR_SEND);
	req->recv_sge.lkey ^= 0x10000;
}

static void recv_beyond_end(struct request *req)
{
	use(req, EMU_WR_SEND);
	req->recv_sge.addr = (uintptr_t)req->rig->b.buf + RIG_BUF - 2999;
}

static void recv_not_writable(struct request *req)
{
	use(req, EMU_WR_SEND);
	name_extra(req, req->rig->b.pd, EMU_ACCESS_REMOTE_READ);
	req->recv_sge.addr = (uintptr_t)req->rig->b.buf + AT;
	req->recv_sge.lkey = emu_mr_lkey(req->extra);
}

static void recv_unmapped(struct request *req)
{
	use(req, EMU_WR_SEND);
	sim_unmap(req->rig->b.buf + 8192, 4096);
}

static void target_unmapped(struct request *req)
{
	sim_unmap(req->rig->b.buf + AT, 4096);
}

static void source_unmapped_read(struct request *req)
{
	use(req, EMU_WR_RDMA_READ);
	/* Without a fence a SEND may overtake the READ (IBTA table 79). */
	req->behind = EMU_SEND_FENCE;
	sim_unmap(req->rig->b.buf + AT, 4096);
}

static void word_unmapped(struct request *req)
{
	use(req, EMU_WR_ATOMIC_FETCH_AND_ADD);
	sim_unmap(req->rig->b.buf + AT, 8);
}

/* ---- the initiator's own mistakes -------------------------------------------- */

static void own_bad_lkey(struct request *req)
{
	req->sge[0].lkey ^= 0x10000;
}

static void own_bad_lkey_send(struct request *req)
{
	use(req, EMU_WR_SEND);
	req->sge[0].lkey = 0;
}

/* The second piece is the bad one: the peer must not see the first. */
static void own_bad_second_lkey(struct request *req)
{
	req->sge[0].length = 2 * MTU;
	req->sge[1] = rig_sge(&req->rig->a, 0, 10);
	req->sge[1].lkey ^= 0x10000;
	req->wr.num_sge = 2;
}

static void own_stale_lkey(struct request *req)
{
	struct emu_mr *mr;
	uint64_t addr = (uintptr_t)req->rig->a.buf;

	assert_int_equal(emu_mr_reg(req->rig->a.pd, addr, addr, 8192, 0, &mr), 0);
	req->sge[0].lkey = emu_mr_lkey(mr);
	assert_int_equal(emu_mr_dereg(mr), 0);
}

static void own_longer_than_region(struct request *req)
{
	req->sge[0].addr = (uintptr_t)req->rig->a.buf + RIG_BUF - 2999;
}

static void own_not_writable(struct request *req)
{
	uint64_t addr = (uintptr_t)req->rig->a.buf;

	use(req, EMU_WR_RDMA_READ);
	assert_int_equal(emu_mr_reg(req->rig->a.pd, addr, addr, 8192, 0, &req->extra), 0);
	req->sge[0] =
		(struct emu_sge){.addr = addr, .length = 3000, .lkey = emu_mr_lkey(req->extra)};
}

static void own_source_unmapped(struct request *req)
{
	sim_unmap(req->rig->a.buf + 2000, 4096);
}

static void own_target_unmapped(struct request *req)
{
	use(req, EMU_WR_RDMA_READ);
	req->behind = EMU_SEND_FENCE;
	sim_unmap(req->rig->a.buf + 2000, 4096);
}

static void small_messages_only(struct rig *rig)
{
	rig->limits.max_msg_sz = 2999;
}

static void atomic_of_4_bytes(struct request *req)
{
	use(req, EMU_WR_ATOMIC_FETCH_AND_ADD);
	req->sge[0].length = 4;
}

static void atomic_of_16_bytes(struct request *req)
{
	use(req, EMU_WR_ATOMIC_CMP_AND_SWP);
	req->sge[0].length = 16;
}

static void invalidate_plain_region(struct request *req)
{
	use(req, EMU_WR_LOCAL_INV);
	req->wr.imm_data = emu_mr_rkey(req->rig->a.mr);
	req->wr.num_sge = 0;
}

#define ACCESS EMU_WC_REM_ACCESS_ERR, 0x88, EMU_WC_SUCCESS, EMU_EVENT_QP_ACCESS_ERR, EMU_QPS_ERR
#define INVALID EMU_WC_REM_INV_REQ_ERR, 0x8a, EMU_WC_SUCCESS, EMU_EVENT_QP_REQ_ERR, EMU_QPS_ERR
#define TOO_LONG EMU_WC_REM_INV_REQ_ERR, 0x8a, EMU_WC_LOC_LEN_ERR, EMU_EVENT_NONE, EMU_QPS_ERR
#define RECV_BAD EMU_WC_REM_OP_ERR, 0x89, EMU_WC_LOC_PROT_ERR, EMU_EVENT_NONE, EMU_QPS_ERR
#define LOCAL(status, vendor_err) status, vendor_err, EMU_WC_SUCCESS, EMU_EVENT_NONE, EMU_QPS_RTS
#define ANY_VENDOR 0x10000
#define ANY_EVENT ((enum emu_event_type)0x1000)
#define UNMAPPED EMU_WC_REM_OP_ERR, 0x89, EMU_WC_SUCCESS, ANY_EVENT, EMU_QPS_ERR

static const struct row rows[] = {
	{"write with a bad rkey", NULL, bad_rkey, ACCESS},
	{"read with a bad rkey", NULL, bad_rkey_read, ACCESS},
	{"atomic with a bad rkey", NULL, bad_rkey_atomic, ACCESS},
	{"write with imm and a bad rkey", NULL, bad_rkey_write_imm, ACCESS},
	{"stale rkey", NULL, stale_rkey, ACCESS},
	{"stale rkey after the next registration", NULL, reused_rkey, ACCESS},
	{"rkey of another PD", NULL, other_pd, ACCESS},
	{"write beyond the end", NULL, beyond_end, ACCESS},
	{"read beyond the end", NULL, beyond_end_read, ACCESS},
	{"atomic beyond the end", NULL, beyond_end_atomic, ACCESS},
	{"write before the start", NULL, before_start, ACCESS},
	{"write around the end of addresses", NULL, around_the_end_of_addresses, ACCESS},
	{"region without REMOTE_WRITE", NULL, no_remote_write, ACCESS},
	{"region without REMOTE_READ", NULL, no_remote_read, ACCESS},
	{"region without REMOTE_ATOMIC", NULL, no_remote_atomic, ACCESS},
	{"QP without REMOTE_WRITE", qp_denies_write, plain_write, INVALID},
	{"QP without REMOTE_READ", qp_denies_read, plain_read, INVALID},
	{"QP without REMOTE_ATOMIC", qp_denies_atomic, plain_atomic, INVALID},
	{"QP flags are checked before the rkey", qp_denies_write, bad_rkey, INVALID},
	{"misaligned atomic", NULL, misaligned_atomic, INVALID},
	{"atomic on a misaligned word", NULL, misaligned_word, INVALID},
	{"read at a responder that takes none", responder_takes_no_reads, plain_read, INVALID},
	{"atomic at a responder that takes none", responder_takes_no_reads, plain_atomic, INVALID},
	{"send longer than the receive", NULL, long_send, TOO_LONG},
	{"send of one packet longer than the receive", NULL, long_send_one_packet, TOO_LONG},
	{"receive with a bad lkey", NULL, recv_bad_lkey, RECV_BAD},
	{"receive beyond the end of its region", NULL, recv_beyond_end, RECV_BAD},
	{"receive into a region without LOCAL_WRITE", NULL, recv_not_writable, RECV_BAD},
	{"receive into memory unmapped since", NULL, recv_unmapped, RECV_BAD},
	{"write into memory unmapped since", NULL, target_unmapped, UNMAPPED},
	{"read from memory unmapped since", NULL, source_unmapped_read, UNMAPPED},
	{"atomic on memory unmapped since", NULL, word_unmapped, UNMAPPED},
	{"own bad lkey", NULL, own_bad_lkey, LOCAL(EMU_WC_LOC_PROT_ERR, 0x52)},
	{"own bad lkey in a send", NULL, own_bad_lkey_send, LOCAL(EMU_WC_LOC_PROT_ERR, 0x52)},
	{"own bad lkey in the second piece", NULL, own_bad_second_lkey,
         LOCAL(EMU_WC_LOC_PROT_ERR, 0x52)},
	{"own stale lkey", NULL, own_stale_lkey, LOCAL(EMU_WC_LOC_PROT_ERR, 0x52)},
	{"own piece longer than its region", NULL, own_longer_than_region,
         LOCAL(EMU_WC_LOC_PROT_ERR, 0x53)},
	{"read into a region without LOCAL_WRITE", NULL, own_not_writable,
         LOCAL(EMU_WC_LOC_PROT_ERR, 0x33)},
	{"own memory unmapped since", NULL, own_source_unmapped,
         LOCAL(EMU_WC_LOC_PROT_ERR, ANY_VENDOR)},
	{"read into memory unmapped since", NULL, own_target_unmapped,
         LOCAL(EMU_WC_LOC_PROT_ERR, ANY_VENDOR)},
	{"message longer than max_msg_sz", small_messages_only, plain_write,
         LOCAL(EMU_WC_LOC_LEN_ERR, ANY_VENDOR)},
	{"atomic of 4 bytes", NULL, atomic_of_4_bytes, LOCAL(EMU_WC_LOC_LEN_ERR, ANY_VENDOR)},
	{"atomic of 16 bytes", NULL, atomic_of_16_bytes, LOCAL(EMU_WC_LOC_LEN_ERR, ANY_VENDOR)},
	{"invalidation of a plain region", NULL, invalidate_plain_region,
         LOCAL(EMU_WC_LOC_QP_OP_ERR, ANY_VENDOR)},
};

static void start(struct request *req, enum sim_flavour flavour, const struct row *row)
{
	struct rig *rig = rig_new(flavour, 1);

	if (row->prepare)
		row->prepare(rig);
	rig_up(rig);
	*req = (struct request){.rig = rig};
	req->sge[0] = rig_sge(&rig->a, 0, 3000);
	req->wr = rig_wr(&rig->a, EMU_WR_RDMA_WRITE, 1, req->sge, AT);
	req->wr.flags = 0;
	req->recv_sge = rig_sge(&rig->b, 8192, 4096);
	row->arrange(req);
	rig_post_recv(&rig->b, 90, &req->recv_sge, 1);
	rig_recv(&rig->b, 91, 20000, 4096);
}

static void finish(struct request *req)
{
	sim_map_all();
	if (req->extra)
		assert_int_equal(emu_mr_dereg(req->extra), 0);
	if (req->extra_pd)
		assert_int_equal(emu_pd_dealloc(req->extra_pd), 0);
	rig_down(req->rig);
}

static void check_initiator(struct request *req, const struct row *row)
{
	struct node *a = &req->rig->a;

	if (row->vendor_err == ANY_VENDOR)
		rig_expect(a, a->scq, 1, row->status);
	else
		rig_expect_error(a, a->scq, 1, row->status, row->vendor_err);
	for (unsigned id = 2; id <= 4; id++)
		rig_expect_error(a, a->scq, id, EMU_WC_WR_FLUSH_ERR, FLUSHED_SEND);
	rig_expect_state(a, EMU_QPS_ERR);
	rig_expect_async(a, EMU_EVENT_NONE);
}

static void check_responder(struct request *req, const struct row *row)
{
	struct node *b = &req->rig->b;
	struct sim_event event;

	if (row->state == EMU_QPS_ERR) {
		if (row->recv_status == EMU_WC_SUCCESS)
			rig_expect_error(b, b->rcq, 90, EMU_WC_WR_FLUSH_ERR, FLUSHED_RECV);
		else
			rig_expect(b, b->rcq, 90, row->recv_status);
		rig_expect_error(b, b->rcq, 91, EMU_WC_WR_FLUSH_ERR, FLUSHED_RECV);
	}
	rig_expect_none(b);
	rig_expect_state(b, row->state);
	if (row->event != ANY_EVENT)
		rig_expect_async(b, row->event);
	while (row->event == ANY_EVENT && sim_take_async(req->rig->sim, b->engine, &event))
		;
	rig_expect_async(b, EMU_EVENT_NONE);
}

static void run_row(enum sim_flavour flavour, const struct row *row)
{
	struct request req;
	struct emu_sge small;
	struct emu_send_wr behind;
	uint8_t *a, *b;

	start(&req, flavour, row);
	small = rig_sge(&req.rig->a, 0, 100);
	a = rig_snapshot(&req.rig->a);
	b = rig_snapshot(&req.rig->b);
	rig_post(&req.rig->a, &req.wr);
	for (unsigned id = 2; id <= 4; id++) {
		behind = rig_wr(&req.rig->a, id == 4 ? EMU_WR_SEND : EMU_WR_RDMA_WRITE, id, &small,
		                30000);
		behind.flags = req.behind | (id == 2 ? EMU_SEND_SIGNALED : 0);
		rig_post(&req.rig->a, &behind);
	}
	check_initiator(&req, row);
	rig_rest(req.rig, SECOND);
	check_responder(&req, row);
	rig_expect_none(&req.rig->a);
	/* What came before the hole may be there. */
	if (row->arrange == own_target_unmapped)
		memcpy(a, req.rig->a.buf, 2000);
	rig_check_memory(&req.rig->a, a);
	if (row->arrange == own_source_unmapped)
		memcpy(b + AT, req.rig->b.buf + AT, 2000);
	/* A receive that proves too short or bad in the middle was filled so far. */
	if (row->recv_status != EMU_WC_SUCCESS) {
		size_t at = req.recv_sge.addr - (uintptr_t)req.rig->b.buf;
		size_t room = RIG_BUF - at < 3000 ? RIG_BUF - at : 3000;

		memcpy(b + at, req.rig->b.buf + at,
		       room < req.recv_sge.length ? room : req.recv_sge.length);
	}
	rig_check_memory(&req.rig->b, b);
	finish(&req);
}

static void row_on_lossy_wire(void **state)
{
	run_row(SIM_LOSSY, *state);
}

static void row_on_reliable_wire(void **state)
{
	run_row(SIM_RELIABLE, *state);
}

int main(void)
{
	static char names[2 * COUNT(rows)][80];
	struct CMUnitTest tests[2 * COUNT(rows)];

	for (size_t i = 0; i < COUNT(tests); i++) {
		const struct row *row = &rows[i / 2];

		snprintf(names[i], sizeof(names[i]), "%s (%s)", row->cause,
		         i % 2 ? "reliable" : "lossy");
		tests[i] = (struct CMUnitTest){.name = names[i],
		                               .test_func = i % 2 ? row_on_reliable_wire
		                                                  : row_on_lossy_wire,
		                               .initial_state = (void *)row};
	}
	return cmocka_run_group_tests_name("RC errors", tests, NULL, NULL);
}
