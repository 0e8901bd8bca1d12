/* SPDX-License-Identifier: BSD-2-Clause */
/* Every RC operation that succeeds: both ends' completions and every byte of both ends' memory. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#define MTU 1024u
#define IMM 0x12345678u

static const uint32_t sizes[] = {0, 1, MTU - 1, MTU, MTU + 1, 3 * MTU, 7 * MTU + 13, 300000};
static const uint32_t sge_counts[] = {1, 2, 3, RIG_SGES};

struct shape {
	uint32_t size, sges;
	uint32_t offset;
};

/* Cuts size bytes at offset into n pieces of unlike lengths with gaps of 7 between. */
static void cut(const struct node *node, const struct shape *shape, struct emu_sge *sge)
{
	uint32_t left = shape->size, at = shape->offset, len;

	for (uint32_t i = 0; i < shape->sges; i++) {
		len = i + 1 == shape->sges ? left : left * (i + 1) / (shape->sges + 2);
		sge[i] = rig_sge(node, at, len);
		at += len + 7;
		left -= len;
	}
}

/* Moves bytes between an image of a buffer and flat memory, as the SGEs say. */
static void gather(const struct node *node, const struct emu_sge *sge, uint32_t n, uint8_t *flat)
{
	for (uint32_t i = 0; i < n; flat += sge[i++].length)
		memcpy(flat, (uint8_t *)(uintptr_t)sge[i].addr, sge[i].length);
}

static void scatter(const struct node *node, const struct emu_sge *sge, uint32_t n,
                    const uint8_t *flat, uint8_t *image)
{
	for (uint32_t i = 0; i < n; flat += sge[i++].length)
		memcpy(image + (sge[i].addr - (uintptr_t)node->buf), flat, sge[i].length);
}

/* Runs check for every shape on one connection. */
static void for_each_shape(void **state, void (*check)(struct rig *, const struct shape *))
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 1);
	struct shape shape;

	rig_up(rig);
	for (size_t s = 0; s < COUNT(sizes); s++) {
		for (size_t n = 0; n < COUNT(sge_counts); n++) {
			shape = (struct shape){sizes[s], sge_counts[n], sim_random(rig->sim, 1000)};
			check(rig, &shape);
			rig_rest(rig, LONG);
			rig_expect_none(&rig->a);
			rig_expect_none(&rig->b);
		}
	}
	rig_expect_async(&rig->a, EMU_EVENT_NONE);
	rig_expect_async(&rig->b, EMU_EVENT_NONE);
	rig_down(rig);
}

static void check_send_with(struct rig *rig, const struct shape *shape, enum emu_wr_opcode opcode)
{
	struct emu_sge from[RIG_SGES] = {{0}}, to[RIG_SGES] = {{0}};
	struct shape into = {shape->size, RIG_SGES + 1 - shape->sges, 400000};
	struct emu_send_wr wr = rig_wr(&rig->a, opcode, 7, from, 0);
	uint8_t *a = rig_snapshot(&rig->a), *b = rig_snapshot(&rig->b), *flat = malloc(RIG_BUF);
	struct emu_wc wc;

	cut(&rig->a, shape, from);
	cut(&rig->b, &into, to);
	wr.num_sge = shape->sges;
	wr.imm_data = IMM;
	gather(&rig->a, from, shape->sges, flat);
	scatter(&rig->b, to, into.sges, flat, b);
	rig_post_recv(&rig->b, 70, to, into.sges);
	rig_post(&rig->a, &wr);
	wc = rig_expect(&rig->b, rig->b.rcq, 70, EMU_WC_SUCCESS);
	assert_int_equal(wc.opcode, EMU_WC_RECV);
	assert_int_equal(wc.byte_len, shape->size);
	if (opcode == EMU_WR_SEND_WITH_IMM) {
		assert_int_equal(wc.wc_flags, EMU_WC_WITH_IMM);
		assert_int_equal(wc.imm_data, IMM);
	} else {
		assert_int_equal(wc.wc_flags, 0);
	}
	wc = rig_expect(&rig->a, rig->a.scq, 7, EMU_WC_SUCCESS);
	assert_int_equal(wc.opcode, EMU_WC_SEND);
	rig_check_memory(&rig->a, a);
	rig_check_memory(&rig->b, b);
	free(flat);
}

static void check_send(struct rig *rig, const struct shape *shape)
{
	check_send_with(rig, shape, EMU_WR_SEND);
}

static void check_send_imm(struct rig *rig, const struct shape *shape)
{
	check_send_with(rig, shape, EMU_WR_SEND_WITH_IMM);
}

static void check_write_with(struct rig *rig, const struct shape *shape, enum emu_wr_opcode opcode)
{
	struct emu_sge from[RIG_SGES] = {{0}};
	struct emu_send_wr wr = rig_wr(&rig->a, opcode, 8, from, 500001);
	uint8_t *a = rig_snapshot(&rig->a), *b = rig_snapshot(&rig->b);
	struct emu_wc wc;

	cut(&rig->a, shape, from);
	wr.num_sge = shape->sges;
	wr.imm_data = IMM;
	gather(&rig->a, from, shape->sges, b + 500001);
	if (opcode == EMU_WR_RDMA_WRITE_WITH_IMM)
		rig_recv(&rig->b, 80, 0, 64);
	rig_post(&rig->a, &wr);
	wc = rig_expect(&rig->a, rig->a.scq, 8, EMU_WC_SUCCESS);
	assert_int_equal(wc.opcode, EMU_WC_RDMA_WRITE);
	if (opcode == EMU_WR_RDMA_WRITE_WITH_IMM) {
		wc = rig_expect(&rig->b, rig->b.rcq, 80, EMU_WC_SUCCESS);
		assert_int_equal(wc.opcode, EMU_WC_RECV_RDMA_WITH_IMM);
		assert_int_equal(wc.byte_len, shape->size);
		assert_int_equal(wc.wc_flags, EMU_WC_WITH_IMM);
		assert_int_equal(wc.imm_data, IMM);
	}
	rig_check_memory(&rig->a, a);
	rig_check_memory(&rig->b, b);
}

static void check_write(struct rig *rig, const struct shape *shape)
{
	check_write_with(rig, shape, EMU_WR_RDMA_WRITE);
}

static void check_write_imm(struct rig *rig, const struct shape *shape)
{
	check_write_with(rig, shape, EMU_WR_RDMA_WRITE_WITH_IMM);
}

static void check_read(struct rig *rig, const struct shape *shape)
{
	struct emu_sge to[RIG_SGES] = {{0}};
	struct emu_send_wr wr = rig_wr(&rig->a, EMU_WR_RDMA_READ, 9, to, 400001);
	uint8_t *a = rig_snapshot(&rig->a), *b = rig_snapshot(&rig->b);
	struct emu_wc wc;

	cut(&rig->a, shape, to);
	wr.num_sge = shape->sges;
	scatter(&rig->a, to, shape->sges, rig->b.buf + 400001, a);
	rig_post(&rig->a, &wr);
	wc = rig_expect(&rig->a, rig->a.scq, 9, EMU_WC_SUCCESS);
	assert_int_equal(wc.opcode, EMU_WC_RDMA_READ);
	assert_int_equal(wc.byte_len, shape->size);
	rig_check_memory(&rig->a, a);
	rig_check_memory(&rig->b, b);
}

static void send_lands_in_the_receive(void **state)
{
	for_each_shape(state, check_send);
}

static void send_with_imm_carries_it(void **state)
{
	for_each_shape(state, check_send_imm);
}

static void write_places_bytes_and_says_nothing_to_the_target(void **state)
{
	for_each_shape(state, check_write);
}

static void write_with_imm_takes_a_receive_and_leaves_its_buffer(void **state)
{
	for_each_shape(state, check_write_imm);
}

static void read_fetches_bytes(void **state)
{
	for_each_shape(state, check_read);
}

/* One atomic on word 64 of b; the old value must land in a at 128. */
static void do_atomic(struct rig *rig, enum emu_wr_opcode opcode, uint64_t compare_add,
                      uint64_t swap, uint64_t expected)
{
	struct emu_sge sge = rig_sge(&rig->a, 128, 8);
	struct emu_send_wr wr = rig_wr(&rig->a, opcode, 10, &sge, 64);
	uint8_t *a, *b = rig_snapshot(&rig->b);
	uint64_t old;
	struct emu_wc wc;

	memset(rig->a.buf + 128, 0xee, 8);
	a = rig_snapshot(&rig->a);
	memcpy(&old, rig->b.buf + 64, 8);
	memcpy(a + 128, &old, 8);
	memcpy(b + 64, &expected, 8);
	wr.compare_add = compare_add;
	wr.swap = swap;
	rig_post(&rig->a, &wr);
	wc = rig_expect(&rig->a, rig->a.scq, 10, EMU_WC_SUCCESS);
	assert_int_equal(wc.opcode, opcode == EMU_WR_ATOMIC_FETCH_AND_ADD ? EMU_WC_FETCH_ADD
	                                                                  : EMU_WC_COMP_SWAP);
	assert_int_equal(wc.byte_len, 8);
	rig_check_memory(&rig->a, a);
	rig_check_memory(&rig->b, b);
}

static void atomics_return_the_old_value_in_host_order(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 2);
	uint64_t word = 0x0102030405060708u;

	rig_up(rig);
	memcpy(rig->b.buf + 64, &word, 8);
	do_atomic(rig, EMU_WR_ATOMIC_FETCH_AND_ADD, 5, 0, word + 5);
	do_atomic(rig, EMU_WR_ATOMIC_FETCH_AND_ADD, UINT64_MAX, 0, word + 4);
	do_atomic(rig, EMU_WR_ATOMIC_CMP_AND_SWP, word + 4, 99, 99);
	do_atomic(rig, EMU_WR_ATOMIC_CMP_AND_SWP, word, 1, 99);
	rig_down(rig);
}

static void atomic_result_may_be_scattered(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 3);
	struct emu_sge sge[2];
	struct emu_send_wr wr;
	uint8_t *a;

	rig_up(rig);
	sge[0] = rig_sge(&rig->a, 100, 3);
	sge[1] = rig_sge(&rig->a, 200, 5);
	wr = rig_wr(&rig->a, EMU_WR_ATOMIC_FETCH_AND_ADD, 1, sge, 64);
	wr.num_sge = 2;
	a = rig_snapshot(&rig->a);
	memcpy(a + 100, rig->b.buf + 64, 3);
	memcpy(a + 200, rig->b.buf + 67, 5);
	rig_post(&rig->a, &wr);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	rig_check_memory(&rig->a, a);
	rig_down(rig);
}

static void inline_data_is_taken_at_the_post(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 4);
	uint8_t bytes[RIG_INLINE];
	struct emu_sge sge = {.addr = (uintptr_t)bytes, .length = sizeof(bytes), .lkey = 0xdead};
	struct emu_send_wr wr;
	uint8_t *b;

	rig_up(rig);
	rig_fill(bytes, sizeof(bytes), 4);
	b = rig_snapshot(&rig->b);
	memcpy(b + 10, bytes, sizeof(bytes));
	memcpy(b + 5000, bytes, sizeof(bytes));
	rig_recv(&rig->b, 1, 5000, 1000);
	wr = rig_wr(&rig->a, EMU_WR_RDMA_WRITE, 1, &sge, 10);
	wr.flags |= EMU_SEND_INLINE;
	rig_post(&rig->a, &wr);
	wr.opcode = EMU_WR_SEND;
	rig_post(&rig->a, &wr);
	memset(bytes, 0, sizeof(bytes));
	rig_expect(&rig->b, rig->b.rcq, 1, EMU_WC_SUCCESS);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	rig_check_memory(&rig->b, b);
	rig_down(rig);
}

static void no_sge_at_all_is_an_empty_message(void **state)
{
	static const enum emu_wr_opcode opcodes[] = {EMU_WR_SEND, EMU_WR_RDMA_WRITE,
	                                             EMU_WR_RDMA_READ};
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 5);
	struct emu_send_wr wr;

	rig_up(rig);
	for (size_t i = 0; i < COUNT(opcodes); i++) {
		wr = rig_wr(&rig->a, opcodes[i], i, NULL, 0);
		wr.num_sge = 0;
		if (opcodes[i] == EMU_WR_SEND)
			rig_post_recv(&rig->b, 50, NULL, 0);
		rig_post(&rig->a, &wr);
		rig_expect(&rig->a, rig->a.scq, i, EMU_WC_SUCCESS);
	}
	assert_int_equal(rig_expect(&rig->b, rig->b.rcq, 50, EMU_WC_SUCCESS).byte_len, 0);
	rig_down(rig);
}

static void empty_messages_check_no_key_and_no_address(void **state)
{
	static const enum emu_wr_opcode opcodes[] = {EMU_WR_SEND, EMU_WR_RDMA_WRITE,
	                                             EMU_WR_RDMA_READ};
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 6);
	struct emu_sge sge = {.addr = 1, .length = 0, .lkey = 0x666};
	struct emu_send_wr wr;

	rig_up(rig);
	rig_post_recv(&rig->b, 50, &sge, 1);
	for (size_t i = 0; i < COUNT(opcodes); i++) {
		wr = rig_wr(&rig->a, opcodes[i], i, &sge, 0);
		wr.rkey = 0x667;
		wr.remote_addr = 3;
		rig_post(&rig->a, &wr);
		rig_expect(&rig->a, rig->a.scq, i, EMU_WC_SUCCESS);
	}
	rig_expect(&rig->b, rig->b.rcq, 50, EMU_WC_SUCCESS);
	rig_down(rig);
}

static void many_requests_complete_in_posting_order(void **state)
{
	static const enum emu_wr_opcode mix[] = {EMU_WR_RDMA_WRITE, EMU_WR_RDMA_READ, EMU_WR_SEND,
	                                         EMU_WR_ATOMIC_FETCH_AND_ADD};
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 7);
	enum emu_wr_opcode opcode;

	rig_up(rig);
	for (unsigned i = 0; i < 16; i++)
		rig_recv(&rig->b, 100 + i, 600000, 5000);
	for (unsigned i = 0; i < 64; i++) {
		opcode = mix[i % COUNT(mix)];
		rig_send(&rig->a, opcode, i, 8192 * i,
		         opcode == EMU_WR_ATOMIC_FETCH_AND_ADD ? 8 : 37 * i, 8);
	}
	for (unsigned i = 0; i < 64; i++)
		rig_expect(&rig->a, rig->a.scq, i, EMU_WC_SUCCESS);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(rig_expect(&rig->b, rig->b.rcq, 100 + i, EMU_WC_SUCCESS).byte_len,
		                 37 * (4 * i + 2));
	rig_down(rig);
}

static void both_directions_run_at_once(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 8);
	struct node *node[2] = {&rig->a, &rig->b};

	rig_up(rig);
	for (unsigned i = 0; i < 32; i++) {
		for (unsigned n = 0; n < 2; n++) {
			rig_recv(node[n], i, 700000, 10000);
			rig_send(node[n], EMU_WR_SEND, i, 0, 300 * i, 0);
		}
	}
	for (unsigned i = 0; i < 32; i++) {
		for (unsigned n = 0; n < 2; n++) {
			rig_expect(node[n], node[n]->scq, i, EMU_WC_SUCCESS);
			rig_expect(node[n], node[n]->rcq, i, EMU_WC_SUCCESS);
		}
	}
	rig_down(rig);
}

static void qp_can_talk_to_another_of_its_own_engine(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 9);

	rig->loopback = true;
	rig_up(rig);
	rig_recv(&rig->b, 1, 0, 9000);
	rig_send(&rig->a, EMU_WR_SEND, 2, 0, 9000, 0);
	rig_send(&rig->b, EMU_WR_RDMA_READ, 3, 10000, 9000, 0);
	rig_expect(&rig->b, rig->b.rcq, 1, EMU_WC_SUCCESS);
	rig_expect(&rig->a, rig->a.scq, 2, EMU_WC_SUCCESS);
	rig_expect(&rig->b, rig->b.scq, 3, EMU_WC_SUCCESS);
	assert_memory_equal(rig->b.buf, rig->a.buf, 9000);
	assert_memory_equal(rig->b.buf + 10000, rig->a.buf, 9000);
	rig_down(rig);
}

static void qp_can_be_connected_to_itself(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 10);
	struct node *a = &rig->a;
	struct emu_sge sge;
	struct emu_send_wr wr;

	rig_create(rig);
	a->attr.dest_qp_num = emu_qp_num(a->qp);
	a->attr.ah.dgid = sim_gid(0);
	assert_int_equal(rig_modify(a, EMU_QPS_INIT), 0);
	assert_int_equal(rig_modify(a, EMU_QPS_RTR), 0);
	assert_int_equal(rig_modify(a, EMU_QPS_RTS), 0);
	rig_recv(a, 1, 0, 5000);
	rig_send(a, EMU_WR_SEND, 2, 8000, 5000, 0);
	sge = rig_sge(a, 20000, 5000);
	wr = rig_wr(a, EMU_WR_RDMA_READ, 3, &sge, 0);
	wr.remote_addr = (uintptr_t)a->buf + 8000;
	wr.rkey = emu_mr_rkey(a->mr);
	rig_post(a, &wr);
	rig_expect(a, a->rcq, 1, EMU_WC_SUCCESS);
	rig_expect(a, a->scq, 2, EMU_WC_SUCCESS);
	rig_expect(a, a->scq, 3, EMU_WC_SUCCESS);
	assert_memory_equal(a->buf, a->buf + 8000, 5000);
	assert_memory_equal(a->buf + 20000, a->buf + 8000, 5000);
	rig_down(rig);
}

static void every_path_mtu_carries_its_packets(void **state)
{
	for (uint32_t mtu = 1; mtu <= 5; mtu++) {
		struct rig *rig = rig_new(*(enum sim_flavour *)*state, 11);

		rig->a.attr.path_mtu = rig->b.attr.path_mtu = mtu;
		rig_up(rig);
		rig_send(&rig->a, EMU_WR_RDMA_WRITE, 1, 0, 40000, 0);
		rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
		assert_memory_equal(rig->a.buf, rig->b.buf, 40000);
		rig_send(&rig->a, EMU_WR_RDMA_READ, 2, 0, 40001, 50000);
		rig_expect(&rig->a, rig->a.scq, 2, EMU_WC_SUCCESS);
		assert_memory_equal(rig->a.buf, rig->b.buf + 50000, 40001);
		rig_down(rig);
	}
}

/* A region may be named from another base (ibv_reg_mr_iova). */
static void iova_names_the_region(void **state)
{
	struct rig *rig = rig_new(*(enum sim_flavour *)*state, 12);
	const uint64_t iova = 0x7000000000000123u;
	struct emu_sge sge;
	struct emu_send_wr wr;
	struct emu_mr *mr;

	rig_up(rig);
	assert_int_equal(emu_mr_reg(rig->b.pd, (uintptr_t)rig->b.buf + 4096, iova, 8192,
	                            RIG_ALL_ACCESS, &mr),
	                 0);
	sge = rig_sge(&rig->a, 0, 5000);
	wr = rig_wr(&rig->a, EMU_WR_RDMA_WRITE, 1, &sge, 0);
	wr.rkey = emu_mr_rkey(mr);
	wr.remote_addr = iova + 100;
	rig_post(&rig->a, &wr);
	rig_expect(&rig->a, rig->a.scq, 1, EMU_WC_SUCCESS);
	assert_memory_equal(rig->b.buf + 4196, rig->a.buf, 5000);
	sge = (struct emu_sge){.addr = iova + 1, .length = 5000, .lkey = emu_mr_lkey(mr)};
	wr = rig_wr(&rig->b, EMU_WR_RDMA_WRITE, 2, &sge, 30000);
	rig_post(&rig->b, &wr);
	rig_expect(&rig->b, rig->b.scq, 2, EMU_WC_SUCCESS);
	assert_memory_equal(rig->a.buf + 30000, rig->b.buf + 4097, 5000);
	assert_int_equal(emu_mr_dereg(mr), 0);
	rig_down(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BOTH_WIRES(send_lands_in_the_receive),
		ON_BOTH_WIRES(send_with_imm_carries_it),
		ON_BOTH_WIRES(write_places_bytes_and_says_nothing_to_the_target),
		ON_BOTH_WIRES(write_with_imm_takes_a_receive_and_leaves_its_buffer),
		ON_BOTH_WIRES(read_fetches_bytes),
		ON_BOTH_WIRES(atomics_return_the_old_value_in_host_order),
		ON_BOTH_WIRES(atomic_result_may_be_scattered),
		ON_BOTH_WIRES(inline_data_is_taken_at_the_post),
		ON_BOTH_WIRES(no_sge_at_all_is_an_empty_message),
		ON_BOTH_WIRES(empty_messages_check_no_key_and_no_address),
		ON_BOTH_WIRES(many_requests_complete_in_posting_order),
		ON_BOTH_WIRES(both_directions_run_at_once),
		ON_BOTH_WIRES(qp_can_talk_to_another_of_its_own_engine),
		ON_BOTH_WIRES(qp_can_be_connected_to_itself),
		ON_BOTH_WIRES(every_path_mtu_carries_its_packets),
		ON_BOTH_WIRES(iova_names_the_region),
	};

	return cmocka_run_group_tests_name("RC operations", tests, NULL, NULL);
}
