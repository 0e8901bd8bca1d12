/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two connected processes with nothing to do use no CPU time: one sleeps in
 * ibv_get_cq_event(3), the other in pause(2). Measured from outside over 5 s
 * with the CPU clock of each process, all of its threads together; the bound
 * is one scheduler tick, 10 ms.
 */
#include "rc_side.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 5
#define BOUND_NS 10000000

/* Some traffic first, so that every link and thread there will be is there. */
static void warm_up(struct rc_side *side, struct ibv_qp *qp, const struct rc_address *peer)
{
	struct ibv_sge sge = {(uintptr_t)side->mr->addr, 64, side->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
	                         .num_sge = 1,
	                         .opcode = IBV_WR_RDMA_WRITE,
	                         .send_flags = IBV_SEND_SIGNALED,
	                         .wr.rdma = {peer->addr + 64, peer->rkey}};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	for (int i = 0; i < 100; i++) {
		if (ibv_post_send(qp, &wr, &bad))
			rc_fail("ibv_post_send");
		rc_wait_success(side, &wc);
	}
}

/* Never returns: killed by the parent. report: to the parent, when idleness begins. */
static void run_side(int sock, int report, bool waits_for_event)
{
	static char buf[128];
	struct rc_side side;
	struct rc_address mine, theirs;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	void *context;

	rc_open(&side, sock, buf, sizeof(buf), 128);
	qp = rc_qp(&side, 64);
	mine = rc_address(&side, qp);
	if (!rc_swap(sock, &mine, &theirs, sizeof(mine)))
		rc_fail("the other side is gone");
	rc_connect(qp, &theirs, rc_patient);
	rc_barrier(sock);
	warm_up(&side, qp, &theirs);
	if (waits_for_event && ibv_req_notify_cq(side.cq, 0))
		rc_fail("ibv_req_notify_cq");
	rc_barrier(sock);
	if (write(report, "i", 1) != 1)
		rc_fail("write");
	if (waits_for_event)
		ibv_get_cq_event(side.channel, &cq, &context);
	else
		for (;;)
			pause();
	rc_fail("there was an event, but nothing happened");
}

static int64_t cpu_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec ts;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		rc_fail("no CPU clock of process %d", pid);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static int measure(const pid_t *pid)
{
	const struct timespec span = {.tv_sec = SECONDS};
	int64_t used[2];
	int bad = 0;

	for (int i = 0; i < 2; i++)
		used[i] = -cpu_ns(pid[i]);
	nanosleep(&span, NULL);
	for (int i = 0; i < 2; i++) {
		used[i] += cpu_ns(pid[i]);
		bad |= used[i] > BOUND_NS;
	}
	printf("CPU time in %d s: %.3f ms waiting for an event, %.3f ms in pause (bound %d ms)\n",
	       SECONDS, used[0] / 1e6, used[1] / 1e6, BOUND_NS / 1000000);
	return bad;
}

int main(void)
{
	pid_t pid[2];
	int sock, to_parent, report, bad;
	char c;

	alarm(50);
	/* The parent only measures; its two children are the pair. */
	pid[0] = rc_fork(&report);
	if (pid[0] == 0) {
		to_parent = report;
		pid[1] = rc_fork(&sock);
		if (pid[1] == 0)
			run_side(sock, to_parent, false);
		if (write(to_parent, &pid[1], sizeof(pid[1])) != sizeof(pid[1]))
			rc_fail("write");
		run_side(sock, to_parent, true);
	}
	if (read(report, &pid[1], sizeof(pid[1])) != sizeof(pid[1]))
		rc_fail("no process");
	for (int i = 0; i < 2; i++)
		if (read(report, &c, 1) != 1)
			rc_fail("a side failed");
	bad = measure(pid);
	kill(pid[1], SIGKILL);
	kill(pid[0], SIGKILL);
	waitpid(pid[0], NULL, 0);
	return bad;
}
