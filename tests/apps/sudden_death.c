/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kill -9 of either side at a random moment. The survivor's oldest request
 * ends with RETRY_EXC_ERR and everything behind it, and its receives, with
 * WR_FLUSH_ERR; not before the retry limit, and not much later. It can clean
 * up, and a new pair starts at once. The seed is printed; sudden_death ROUNDS
 * SEED replays the moments. With SOFTVERBS_FAST_DEATH in the environment the
 * retry limit is far away, and the survivor is told long before it.
 */
#include "rc_side.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SENDS 8 /* always this many on their way */
#define RECEIVES 4
#define RECEIVE_ID (UINT64_C(1) << 60) /* no send gets that far */
#define LEN 4096
#define EXIT_NEVER_CONNECTED 3
#define ROUND_SECONDS 10
#define FIRST_STEPS_US 400000 /* start, connect and some traffic fall into it */

/* 16.8 ms, three more times: about 67 ms in all. */
static const struct rc_patience impatient = {.timeout = 12, .retry_cnt = 3};
/* 4.3 s, seven more times */
static const struct rc_patience patient = {.timeout = 20, .retry_cnt = 7};
static bool fast_death;
#define RETRY_MS 16.8
#define LATEST_MS 3000

/* Written by the sides, read by the parent. */
struct board {
	uint32_t qpn[2];
	volatile int connected[2]; /* and a first request has succeeded */
};

static struct board *board;
static unsigned char buf[2 * LEN];

struct survivor {
	struct rc_side side;
	struct ibv_qp *qp;
	struct rc_address peer;
	uint64_t posted, completed; /* sends; their numbers are their wr_id */
};

static int post_one_send(struct survivor *self)
{
	struct ibv_sge sge = {(uintptr_t)buf, LEN, self->side.mr->lkey};
	struct ibv_send_wr wr = {.wr_id = self->posted,
	                         .sg_list = &sge,
	                         .num_sge = 1,
	                         .opcode = IBV_WR_RDMA_WRITE,
	                         .send_flags = IBV_SEND_SIGNALED,
	                         .wr.rdma = {self->peer.addr + LEN, self->peer.rkey}};
	struct ibv_send_wr *bad;
	int rc = ibv_post_send(self->qp, &wr, &bad);

	if (!rc)
		self->posted++;
	return rc;
}

static void post_receives(struct survivor *self)
{
	for (uint64_t i = 0; i < RECEIVES; i++) {
		struct ibv_sge sge = {(uintptr_t)buf, LEN, self->side.mr->lkey};
		struct ibv_recv_wr wr = {.wr_id = RECEIVE_ID + i, .sg_list = &sge, .num_sge = 1};
		struct ibv_recv_wr *bad;

		if (ibv_post_recv(self->qp, &wr, &bad))
			rc_fail("ibv_post_recv");
	}
}

/* Keep the connection busy until the first completion that is no success. */
static void run_until_error(struct survivor *self, struct ibv_wc *wc, volatile int *connected)
{
	for (;;) {
		while (self->posted - self->completed < SENDS)
			if (post_one_send(self))
				rc_fail("ibv_post_send before any error");
		rc_wait(&self->side, wc);
		if (wc->status != IBV_WC_SUCCESS)
			return;
		if (wc->wr_id != self->completed)
			rc_fail("completions out of order");
		self->completed++;
		*connected = 1;
	}
}

/* first: the completion that brought the bad news. */
static void check_flush(struct survivor *self, const struct ibv_wc *first)
{
	uint64_t received = 0;
	struct ibv_wc wc;

	if (first->status != IBV_WC_RETRY_EXC_ERR || first->wr_id != self->completed)
		rc_fail("first error: %s of request %" PRIu64 ", the oldest is %" PRIu64,
		        ibv_wc_status_str(first->status), first->wr_id, self->completed);
	self->completed++;
	while (self->completed < self->posted || received < RECEIVES) {
		rc_wait(&self->side, &wc);
		if (wc.status != IBV_WC_WR_FLUSH_ERR)
			rc_fail("flushed: %s", ibv_wc_status_str(wc.status));
		if (self->completed < self->posted && wc.wr_id == self->completed)
			self->completed++;
		else if (wc.wr_id == RECEIVE_ID + received)
			received++;
		else
			rc_fail("flushed out of order: %" PRIu64, wc.wr_id);
	}
}

static void check_state(struct survivor *self)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_wc wc;

	if (ibv_query_qp(self->qp, &attr, IBV_QP_STATE, &init) || attr.qp_state != IBV_QPS_ERR)
		rc_fail("the QP is not in the error state");
	if (post_one_send(self))
		rc_fail("a post in the error state is refused");
	rc_wait(&self->side, &wc);
	if (wc.status != IBV_WC_WR_FLUSH_ERR || wc.wr_id != self->posted - 1)
		rc_fail("a post in the error state: %s", ibv_wc_status_str(wc.status));
}

static void run_side(int sock, int who)
{
	struct survivor self = {0};
	struct rc_address mine;
	struct ibv_wc wc;

	rc_open(&self.side, sock, buf, sizeof(buf), 64);
	self.qp = rc_qp(&self.side, 32);
	mine = rc_address(&self.side, self.qp);
	board->qpn[who] = mine.qpn;
	if (!rc_swap(sock, &mine, &self.peer, sizeof(mine)))
		_exit(EXIT_NEVER_CONNECTED);
	rc_connect(self.qp, &self.peer, fast_death ? patient : impatient);
	post_receives(&self);
	run_until_error(&self, &wc, &board->connected[who]);
	check_flush(&self, &wc);
	check_state(&self);
	if (ibv_destroy_qp(self.qp))
		rc_fail("ibv_destroy_qp");
	rc_close(&self.side);
	_exit(0);
}

static void start_pair(pid_t *pid)
{
	pid_t parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		rc_fail("socketpair");
	board->connected[0] = board->connected[1] = 0;
	for (int who = 0; who < 2; who++) {
		pid[who] = fork();
		if (pid[who] < 0)
			rc_fail("fork");
		if (pid[who] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(1);
			close(ends[!who]);
			alarm(ROUND_SECONDS);
			run_side(ends[who], who);
		}
	}
	close(ends[0]);
	close(ends[1]);
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static void sleep_us(long us)
{
	const struct timespec ts = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&ts, NULL);
}

static void wait_connected(void)
{
	double give_up = now_ms() + ROUND_SECONDS * 1e3;

	while (!board->connected[0] || !board->connected[1]) {
		if (now_ms() > give_up)
			rc_fail("the pair does not connect");
		sleep_us(200);
	}
}

/* One pair, one kill. Returns true when they had been connected. */
static bool run_round(int round)
{
	int victim = rand() & 1, status;
	long delay = rand() % FIRST_STEPS_US;
	bool in_traffic = fast_death || round % 2;
	double killed, took;
	pid_t pid[2];

	start_pair(pid);
	if (in_traffic) {
		wait_connected();
		delay /= 10;
	}
	sleep_us(delay);
	kill(pid[victim], SIGKILL);
	killed = now_ms();
	waitpid(pid[victim], NULL, 0);
	if (waitpid(pid[!victim], &status, 0) < 0)
		rc_fail("waitpid");
	took = now_ms() - killed;
	if (!in_traffic && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NEVER_CONNECTED)
		return false;
	if (status)
		rc_fail("round %d: side %d killed after %ld us, the survivor failed (status %#x)",
		        round, victim, delay, status);
	/* The timer runs from the last acknowledgement, so one period may have passed by then. */
	if (in_traffic && !fast_death && took < (impatient.retry_cnt - 1) * RETRY_MS)
		rc_fail("round %d: RETRY_EXC_ERR after %.1f ms, before the retry limit", round,
		        took);
	if (took > LATEST_MS)
		rc_fail("round %d: the survivor took %.1f ms", round, took);
	return true;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 50, connected = 0;
	unsigned seed = argc > 2 ? strtoul(argv[2], NULL, 0) : (unsigned)time(NULL) ^ getpid();
	uint32_t slot, lowest = UINT32_MAX, highest = 0;

	fast_death = getenv("SOFTVERBS_FAST_DEATH");
	printf("seed %u\n", seed);
	fflush(stdout);
	srand(seed);
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	             0);
	if (board == MAP_FAILED)
		rc_fail("mmap");
	for (int round = 0; round < rounds; round++) {
		connected += run_round(round);
		for (int who = 0; who < 2; who++) {
			slot = board->qpn[who] >> 12;
			lowest = slot < lowest ? slot : lowest;
			highest = slot > highest ? slot : highest;
		}
	}
	printf("%d kills, %d of them in traffic; slots %u to %u\n", rounds, connected, lowest,
	       highest);
	/* A slot is a TCP port: were the dead to keep theirs, the numbers would climb. */
	if (highest - lowest > 16)
		rc_fail("ports are not free again");
	return 0;
}
