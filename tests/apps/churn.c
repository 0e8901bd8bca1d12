/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * churn LIVES: as often, register memory, create a QP, connect it to a new one
 * of the other process, write through it, destroy all. Neither memory nor file
 * descriptors grow after the first tenth.
 */
#include "growth.h"
#include "rc_side.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Bytes. One leaked 64-byte object a life is more, the tables of numbers that
 * are handed out for the first time are less.
 */
#define GROWTH_BOUND (512 * 1024)

static void write_once(struct rc_side *side, struct ibv_qp *qp, const struct rc_address *peer)
{
	struct ibv_sge sge = {(uintptr_t)side->mr->addr, 8, side->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
	                         .num_sge = 1,
	                         .opcode = IBV_WR_RDMA_WRITE,
	                         .send_flags = IBV_SEND_SIGNALED,
	                         .wr.rdma = {peer->addr + 8, peer->rkey}};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	if (ibv_post_send(qp, &wr, &bad))
		rc_fail("ibv_post_send");
	rc_wait_success(side, &wc);
}

/* One life of a connection, in step with the other side. */
static void live_once(struct rc_side *side, unsigned char *buf)
{
	const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_mr *long_lived = side->mr;
	struct rc_address mine, theirs;
	struct ibv_qp *qp;

	side->mr = ibv_reg_mr(side->pd, buf, 4096, rights);
	if (!side->mr)
		rc_fail("ibv_reg_mr");
	qp = rc_qp(side, 4);
	mine = rc_address(side, qp);
	if (!rc_swap(side->sock, &mine, &theirs, sizeof(mine)))
		rc_fail("the other side is gone");
	rc_connect(qp, &theirs, rc_patient);
	rc_barrier(side->sock);
	write_once(side, qp, &theirs);
	rc_barrier(side->sock);
	if (ibv_destroy_qp(qp) || ibv_dereg_mr(side->mr))
		rc_fail("ibv_destroy_qp or ibv_dereg_mr");
	side->mr = long_lived;
}

static void run_side(int sock, const char *who, int lives)
{
	static unsigned char buf[4096];
	struct rc_side side;
	struct growth before = {0};

	rc_open(&side, sock, buf, sizeof(buf), 16);
	for (int i = 0; i < lives; i++) {
		if (i == lives / 10)
			before = growth_now();
		live_once(&side, buf);
	}
	rc_barrier(sock);
	growth_check(who, &before, GROWTH_BOUND);
	rc_close(&side);
}

int main(int argc, char **argv)
{
	int lives = argc > 1 ? atoi(argv[1]) : 10000;
	int sock, status;
	pid_t other;

	alarm(230);
	other = rc_fork(&sock);
	run_side(sock, other ? "parent" : "child", lives);
	fflush(stdout);
	if (other == 0)
		_exit(0);
	if (waitpid(other, &status, 0) != other || status)
		rc_fail("the other side failed");
	return 0;
}
