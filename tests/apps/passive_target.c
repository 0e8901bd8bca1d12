/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One-sided means one-sided: a target that never calls the library again after
 * set-up, because it sleeps in pause(2) ("pause") or computes ("compute"), is
 * written, read and atomically updated.
 */
#include "rc_side.h"

#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEN (1u << 20)
#define SMALL_WRITES 1000

/* Shared with the target only so that the initiator can look at the target's memory itself. */
struct memory {
	uint64_t word;
	unsigned char bytes[LEN];
};

static void be_passive(const char *how)
{
	volatile uint64_t work = 0;

	if (!strcmp(how, "pause"))
		for (;;)
			pause();
	for (;;)
		work++;
}

static void run_target(int sock, struct memory *memory, const char *how)
{
	struct rc_side side;
	struct rc_address mine, theirs;
	struct ibv_qp *qp;

	rc_open(&side, sock, memory, sizeof(*memory), 16);
	qp = rc_qp(&side, 16);
	mine = rc_address(&side, qp);
	if (!rc_swap(sock, &mine, &theirs, sizeof(mine)))
		rc_fail("the initiator is gone");
	rc_connect(qp, &theirs, rc_patient);
	rc_barrier(sock);
	be_passive(how);
}

struct initiator {
	struct rc_side side;
	struct rc_address peer;
	struct ibv_qp *qp;
	struct memory *local;
};

/* One operation between the same place of both memories, to its completion. */
static void operate(struct initiator *self, enum ibv_wr_opcode opcode, size_t offset, uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)self->local + offset, len, self->side.mr->lkey};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	if (opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_READ) {
		wr.wr.rdma.remote_addr = self->peer.addr + offset;
		wr.wr.rdma.rkey = self->peer.rkey;
	} else {
		wr.wr.atomic.remote_addr = self->peer.addr + offset;
		wr.wr.atomic.rkey = self->peer.rkey;
		wr.wr.atomic.compare_add = 5;
		wr.wr.atomic.swap = 1000;
	}
	if (ibv_post_send(self->qp, &wr, &bad))
		rc_fail("ibv_post_send of opcode %d", opcode);
	rc_wait_success(&self->side, &wc);
}

static void fill(unsigned char *bytes, unsigned start)
{
	for (unsigned i = 0; i < LEN; i++)
		bytes[i] = (unsigned char)(start + i * 7 + (i >> 8));
}

static void write_and_read(struct initiator *self, struct memory *remote)
{
	const size_t at = offsetof(struct memory, bytes);
	unsigned char *bytes = self->local->bytes;

	fill(bytes, 1);
	operate(self, IBV_WR_RDMA_WRITE, at, LEN);
	if (memcmp(remote->bytes, bytes, LEN))
		rc_fail("WRITE completed, but the target's memory differs");
	for (unsigned i = 0; i < SMALL_WRITES; i++) {
		bytes[i] ^= 0xff;
		operate(self, IBV_WR_RDMA_WRITE, at + i, 1);
		if (remote->bytes[i] != bytes[i])
			rc_fail("small WRITE %u is not there", i);
	}
	fill(remote->bytes, 99);
	operate(self, IBV_WR_RDMA_READ, at, LEN);
	if (memcmp(remote->bytes, bytes, LEN))
		rc_fail("READ brought other bytes than the target has");
}

static void update_atomically(struct initiator *self, struct memory *remote)
{
	remote->word = 5;
	operate(self, IBV_WR_ATOMIC_CMP_AND_SWP, 0, 8);
	if (remote->word != 1000 || self->local->word != 5)
		rc_fail("compare and swap: word %" PRIu64, remote->word);
	operate(self, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8);
	if (remote->word != 1005 || self->local->word != 1000)
		rc_fail("fetch and add: word %" PRIu64, remote->word);
}

static void run_initiator(int sock, struct memory *remote)
{
	static struct memory local;
	struct initiator self = {.local = &local};
	struct rc_address mine;

	rc_open(&self.side, sock, &local, sizeof(local), 16);
	self.qp = rc_qp(&self.side, 16);
	mine = rc_address(&self.side, self.qp);
	if (!rc_swap(sock, &mine, &self.peer, sizeof(mine)))
		rc_fail("the target is gone");
	rc_connect(self.qp, &self.peer, rc_patient);
	rc_barrier(sock);
	write_and_read(&self, remote);
	update_atomically(&self, remote);
	ibv_destroy_qp(self.qp);
	rc_close(&self.side);
}

int main(int argc, char **argv)
{
	struct memory *memory;
	pid_t target;
	int sock;

	if (argc != 2)
		rc_fail("usage: passive_target pause|compute");
	alarm(50);
	memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	              0);
	if (memory == MAP_FAILED)
		rc_fail("mmap");
	target = rc_fork(&sock);
	if (target == 0)
		run_target(sock, memory, argv[1]);
	run_initiator(sock, memory);
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	printf("1 MiB and %d bytes written, 1 MiB read, 2 atomics; the target did nothing (%s)\n",
	       SMALL_WRITES, argv[1]);
	return 0;
}
