/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 1,000 connections between two processes, all at once, and each carries its
 * own message in both directions.
 */
#include "rc_side.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define QPS 1000
#define MESSAGE 64

struct memory {
	uint32_t out[QPS][MESSAGE / sizeof(uint32_t)];
	uint32_t in[QPS][MESSAGE / sizeof(uint32_t)];
};

static struct memory memory;
static struct ibv_qp *qp[QPS];
static struct rc_address mine[QPS], theirs[QPS];

static void connect_all(struct rc_side *side)
{
	for (int i = 0; i < QPS; i++) {
		qp[i] = rc_qp(side, 2);
		mine[i] = rc_address(side, qp[i]);
	}
	if (!rc_swap(side->sock, mine, theirs, sizeof(mine)))
		rc_fail("the other side is gone");
	for (int i = 0; i < QPS; i++)
		rc_connect(qp[i], &theirs[i], rc_patient);
}

static void post_receives(struct rc_side *side)
{
	for (int i = 0; i < QPS; i++) {
		struct ibv_sge sge = {(uintptr_t)memory.in[i], MESSAGE, side->mr->lkey};
		struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
		struct ibv_recv_wr *bad;

		if (ibv_post_recv(qp[i], &wr, &bad))
			rc_fail("ibv_post_recv on QP %d", i);
	}
}

static uint32_t word(int sender, int i, unsigned w)
{
	return (uint32_t)sender << 31 | (uint32_t)i << 8 | w;
}

static void send_all(struct rc_side *side, int who)
{
	for (int i = 0; i < QPS; i++) {
		struct ibv_sge sge = {(uintptr_t)memory.out[i], MESSAGE, side->mr->lkey};
		struct ibv_send_wr wr = {.wr_id = i,
		                         .sg_list = &sge,
		                         .num_sge = 1,
		                         .opcode = IBV_WR_SEND,
		                         .send_flags = IBV_SEND_SIGNALED};
		struct ibv_send_wr *bad;

		for (unsigned w = 0; w < MESSAGE / sizeof(uint32_t); w++)
			memory.out[i][w] = word(who, i, w);
		if (ibv_post_send(qp[i], &wr, &bad))
			rc_fail("ibv_post_send on QP %d", i);
	}
}

static void collect(struct rc_side *side)
{
	unsigned char sent[QPS] = {0}, received[QPS] = {0};
	struct ibv_wc wc;

	for (int n = 0; n < 2 * QPS; n++) {
		rc_wait_success(side, &wc);
		if (wc.wr_id >= QPS || wc.qp_num != qp[wc.wr_id]->qp_num)
			rc_fail("a completion of another QP");
		if (wc.opcode == IBV_WC_RECV && wc.byte_len == MESSAGE)
			received[wc.wr_id]++;
		else
			sent[wc.wr_id]++;
	}
	for (int i = 0; i < QPS; i++)
		if (sent[i] != 1 || received[i] != 1)
			rc_fail("QP %d: %d sent, %d received", i, sent[i], received[i]);
}

static void check_messages(int from)
{
	for (int i = 0; i < QPS; i++)
		for (unsigned w = 0; w < MESSAGE / sizeof(uint32_t); w++)
			if (memory.in[i][w] != word(from, i, w))
				rc_fail("QP %d received another's bytes", i);
}

static void run_side(int sock, int who)
{
	struct rc_side side;

	rc_open(&side, sock, &memory, sizeof(memory), 2 * QPS);
	connect_all(&side);
	post_receives(&side);
	rc_barrier(sock);
	send_all(&side, who);
	collect(&side);
	check_messages(!who);
	rc_barrier(sock);
	for (int i = 0; i < QPS; i++)
		if (ibv_destroy_qp(qp[i]))
			rc_fail("ibv_destroy_qp of QP %d", i);
	rc_close(&side);
}

int main(void)
{
	int sock, status;
	pid_t other;

	alarm(50);
	other = rc_fork(&sock);
	run_side(sock, other == 0);
	if (other == 0)
		_exit(0);
	if (waitpid(other, &status, 0) != other || status)
		rc_fail("the other side failed");
	printf("%d QPs, a message each way on every one\n", QPS);
	return 0;
}
