/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The NIC of a process with the real core: progress without help, sleeping in
 * it, threads that use it side by side, fork. QPs are connected to each other
 * in one process, or across a fork.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include <emu/nic.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ALL_ACCESS                                                                                \
	(EMU_ACCESS_LOCAL_WRITE | EMU_ACCESS_REMOTE_WRITE | EMU_ACCESS_REMOTE_READ |              \
	 EMU_ACCESS_REMOTE_ATOMIC)
#define SIZE 65536

static int event_fd; /* what cq_event makes readable */

static void on_cq_event(void *user)
{
	uint64_t one = 1;

	if (write(event_fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

static void on_async_event(enum emu_event_type type, void *user)
{
}

static const struct nic_sink sink = { on_cq_event, on_async_event };

struct side {
	struct nic *nic;
	struct emu_pd *pd;
	struct emu_cq *cq;
	struct emu_qp *qp;
	struct emu_mr *mr;
	uint8_t *buf;
};

/* What the other side must know. */
struct card {
	uint32_t qpn, rkey;
	uint64_t addr;
};

static void side_open(struct side *s)
{
	struct emu_qp_init init = {
		.type = EMU_QPT_RC,
		.cap = { 64, 64, 2, 2, 64 },
	};
	struct emu_dev *dev;

	memset(s, 0, sizeof(*s));
	s->buf = calloc(1, SIZE);
	assert_int_equal(nic_get(&sink, &s->nic), 0);
	dev = nic_lock(s->nic);
	assert_int_equal(emu_pd_alloc(dev, &s->pd), 0);
	assert_int_equal(emu_cq_create(dev, 256, s, &s->cq), 0);
	init.send_cq = init.recv_cq = s->cq;
	assert_int_equal(nic_qp_create(s->nic, s->pd, &init, &s->qp), 0);
	assert_int_equal(emu_mr_reg(s->pd, (uintptr_t)s->buf, (uintptr_t)s->buf, SIZE, ALL_ACCESS,
				    &s->mr), 0);
	nic_unlock(s->nic);
}

static struct card side_card(struct side *s)
{
	return (struct card){ emu_qp_num(s->qp), emu_mr_rkey(s->mr), (uintptr_t)s->buf };
}

static uint8_t ack_timeout = 17;

static void side_connect(struct side *s, uint32_t dest)
{
	static const uint8_t loopback[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };
	struct emu_qp_attr a = {
		.qp_state = EMU_QPS_INIT, .port_num = 1, .access_flags = ALL_ACCESS,
		.path_mtu = 5, .dest_qp_num = dest, .max_rd_atomic = 4, .max_dest_rd_atomic = 4,
		.min_rnr_timer = 12, .timeout = ack_timeout, .retry_cnt = 7, .rnr_retry = 7,
		.ah = { .is_global = 1, .port_num = 1, .hop_limit = 1 },
	};

	memcpy(a.ah.dgid.raw, loopback, 16);
	nic_lock(s->nic);
	assert_int_equal(emu_qp_modify(s->qp, &a, EMU_QP_STATE | EMU_QP_PKEY_INDEX | EMU_QP_PORT |
					       EMU_QP_ACCESS_FLAGS), 0);
	a.qp_state = EMU_QPS_RTR;
	assert_int_equal(emu_qp_modify(s->qp, &a, EMU_QP_STATE | EMU_QP_AV | EMU_QP_PATH_MTU |
					       EMU_QP_DEST_QPN | EMU_QP_RQ_PSN |
					       EMU_QP_MAX_DEST_RD_ATOMIC |
					       EMU_QP_MIN_RNR_TIMER), 0);
	a.qp_state = EMU_QPS_RTS;
	assert_int_equal(emu_qp_modify(s->qp, &a, EMU_QP_STATE | EMU_QP_TIMEOUT | EMU_QP_RETRY_CNT |
					       EMU_QP_RNR_RETRY | EMU_QP_SQ_PSN |
					       EMU_QP_MAX_QP_RD_ATOMIC), 0);
	nic_unlock(s->nic);
}

static void side_close(struct side *s)
{
	nic_lock(s->nic);
	emu_qp_destroy(s->qp);
	assert_int_equal(emu_cq_destroy(s->cq), 0);
	nic_unlock(s->nic);
	assert_int_equal(nic_mr_dereg(s->nic, s->mr), 0);
	nic_lock(s->nic);
	assert_int_equal(emu_pd_dealloc(s->pd), 0);
	nic_unlock(s->nic);
	nic_put(s->nic);
	free(s->buf);
}

static void post_write(struct side *s, const struct card *to, uint32_t len)
{
	struct emu_sge sge = { (uintptr_t)s->buf, len, emu_mr_lkey(s->mr) };
	struct emu_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = EMU_WR_RDMA_WRITE,
		.flags = EMU_SEND_SIGNALED, .remote_addr = to->addr, .rkey = to->rkey,
	};

	assert_int_equal(emu_post_send(s->qp, &wr), 0);
	emu_qp_ring(s->qp);
	nic_kick(s->nic);
}

static void expect_success(struct side *s, bool poll)
{
	struct emu_wc wc;
	time_t end = time(NULL) + 20;

	while (emu_cq_poll(s->cq, 1, &wc) != 1) {
		assert_true(time(NULL) < end);
		if (poll)
			nic_poll(s->nic);
		else
			usleep(100);
	}
	assert_int_equal(wc.status, EMU_WC_SUCCESS);
}

/* ---- progress -------------------------------------------------------------------- */

static void both_ends_in_one_process_and_on_one_qp(void **state)
{
	struct side a, b, self;
	struct card card;

	side_open(&a);
	side_open(&b);
	side_open(&self);
	side_connect(&a, emu_qp_num(b.qp));
	side_connect(&b, emu_qp_num(a.qp));
	side_connect(&self, emu_qp_num(self.qp));
	memset(a.buf, 0x5a, SIZE);
	card = side_card(&b);
	post_write(&a, &card, SIZE);
	expect_success(&a, true);
	assert_memory_equal(a.buf, b.buf, SIZE);
	card = side_card(&self);
	post_write(&self, &card, 4000);
	expect_success(&self, true);
	side_close(&self);
	side_close(&b);
	side_close(&a);
}

static void thread_works_for_a_program_that_sleeps(void **state)
{
	struct side a, b;
	struct card card;

	side_open(&a);
	side_open(&b);
	side_connect(&a, emu_qp_num(b.qp));
	side_connect(&b, emu_qp_num(a.qp));
	card = side_card(&b);
	for (int i = 0; i < 100; i++) {
		post_write(&a, &card, 1 + (uint32_t)i * 600);
		expect_success(&a, false);
	}
	side_close(&b);
	side_close(&a);
}

/* Its timers are the thread's business again as soon as it stops polling. */
static void timers_run_for_a_program_that_stopped_polling(void **state)
{
	struct emu_wc wc;
	struct card card;
	time_t end;
	struct side s;

	side_open(&s);
	ack_timeout = 12; /* 17 ms */
	side_connect(&s, emu_qp_num(s.qp) ^ 0x800); /* nobody */
	ack_timeout = 17;
	card = side_card(&s);
	usleep(50000); /* the thread sleeps now and watches the wires */
	for (int i = 0; i < 2000; i++)
		nic_poll(s.nic);
	post_write(&s, &card, 8);
	end = time(NULL) + 20;
	while (emu_cq_poll(s.cq, 1, &wc) != 1) {
		assert_true(time(NULL) < end);
		usleep(1000);
	}
	assert_int_equal(wc.status, EMU_WC_RETRY_EXC_ERR);
	side_close(&s);
}

struct child {
	pid_t pid;
	int to, from; /* pipes */
};

/* A process of its own with one side; body runs in it and its result is the exit status. */
static struct child start_child(int (*body)(struct side *, int from, int to))
{
	struct child c;
	int down[2], up[2];

	assert_int_equal(pipe(down), 0);
	assert_int_equal(pipe(up), 0);
	c.pid = fork();
	if (!c.pid) {
		struct side s;
		struct card card;

		close(down[1]);
		close(up[0]);
		alarm(60);
		side_open(&s);
		card = side_card(&s);
		if (write(up[1], &card, sizeof(card)) != sizeof(card) ||
		    read(down[0], &card, sizeof(card)) != sizeof(card))
			_exit(9);
		side_connect(&s, card.qpn);
		if (write(up[1], "r", 1) != 1)
			_exit(9);
		_exit(body(&s, down[0], up[1]));
	}
	close(down[0]);
	close(up[1]);
	c.to = down[1];
	c.from = up[0];
	return c;
}

static struct card meet_child(struct child *c, struct side *s)
{
	struct card theirs, ours = side_card(s);
	char ready;

	assert_int_equal(read(c->from, &theirs, sizeof(theirs)), sizeof(theirs));
	assert_int_equal(write(c->to, &ours, sizeof(ours)), sizeof(ours));
	side_connect(s, theirs.qpn);
	assert_int_equal(read(c->from, &ready, 1), 1);
	return theirs;
}

static int end_child(struct child *c)
{
	int status;

	close(c->to);
	close(c->from);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Until the parent hangs up; the library is not called. */
static int sit_idle(struct side *s, int from, int to)
{
	char c;

	while (read(from, &c, 1) > 0)
		;
	return s->buf[0] == 0x77 ? 0 : 1;
}

static void idle_target_in_another_process_is_written(void **state)
{
	struct child c = start_child(sit_idle);
	struct card card;
	struct side s;

	side_open(&s);
	card = meet_child(&c, &s);
	memset(s.buf, 0x77, SIZE);
	for (int i = 0; i < 200; i++) {
		post_write(&s, &card, 1 + (uint32_t)i * 300);
		expect_success(&s, i % 2);
	}
	assert_int_equal(end_child(&c), 0);
	side_close(&s);
}

/* Spins on memory: the write must come without a call. */
static int spin_on_memory(struct side *s, int from, int to)
{
	volatile uint8_t *last = s->buf + 99;

	for (uint8_t i = 1; i <= 50; i++) {
		while (*last != i)
			;
		if (write(to, &i, 1) != 1)
			return 1;
	}
	return 0;
}

static void spinning_target_sees_each_write(void **state)
{
	struct child c = start_child(spin_on_memory);
	struct card card;
	struct side s;
	uint8_t seen;

	side_open(&s);
	card = meet_child(&c, &s);
	for (uint8_t i = 1; i <= 50; i++) {
		memset(s.buf, i, 100);
		post_write(&s, &card, 100);
		expect_success(&s, true);
		assert_int_equal(read(c.from, &seen, 1), 1);
		assert_int_equal(seen, i);
	}
	assert_int_equal(end_child(&c), 0);
	side_close(&s);
}

/* ---- sleeping in nic_wait_fd --------------------------------------------------------- */

static void wait_returns_when_the_event_comes(void **state)
{
	struct side a, b;
	struct card card;
	uint64_t count;

	side_open(&a);
	side_open(&b);
	side_connect(&a, emu_qp_num(b.qp));
	side_connect(&b, emu_qp_num(a.qp));
	card = side_card(&b);
	for (int i = 0; i < 50; i++) {
		emu_cq_arm(a.cq, EMU_ARM_ANY);
		nic_rest(a.nic);
		post_write(&a, &card, 5000);
		assert_int_equal(nic_wait_fd(a.nic, event_fd), 0);
		assert_int_equal(read(event_fd, &count, sizeof(count)), sizeof(count));
		expect_success(&a, true);
	}
	side_close(&b);
	side_close(&a);
}

#define WAITS 50

/* All on one CPU, and the NIC thread only when nobody else wants it. */
static void let_the_caller_win(void)
{
	const struct sched_param idle = { .sched_priority = 0 };
	struct dirent *entry;
	cpu_set_t one;
	DIR *dir = opendir("/proc/self/task");

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	while (dir && (entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);

		if (tid && !sched_setaffinity(tid, sizeof(one), &one) && tid != getpid())
			sched_setscheduler(tid, SCHED_IDLE, &idle);
	}
	if (dir)
		closedir(dir);
}

/* Waits for each message in nic_wait_fd, then calls nothing until the parent has its ACK. */
static int wait_and_fall_silent(struct side *s, int from, int to)
{
	struct emu_sge sge = { (uintptr_t)s->buf, 8, emu_mr_lkey(s->mr) };
	const struct emu_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct emu_wc wc;
	uint64_t count;
	char c;

	let_the_caller_win();
	for (int i = 0; i < WAITS; i++) {
		emu_cq_arm(s->cq, EMU_ARM_ANY);
		if (emu_post_recv(s->qp, &wr) || write(to, "r", 1) != 1 ||
		    nic_wait_fd(s->nic, event_fd) ||
		    read(event_fd, &count, sizeof(count)) != sizeof(count) ||
		    read(from, &c, 1) != 1 || emu_cq_poll(s->cq, 1, &wc) != 1)
			return 1;
	}
	return 0;
}

static void ack_of_a_waiter_that_falls_silent_leaves(void **state)
{
	struct child c = start_child(wait_and_fall_silent);
	struct emu_send_wr wr = {
		.opcode = EMU_WR_SEND, .flags = EMU_SEND_SIGNALED,
	};
	struct side s;
	char ready;

	side_open(&s);
	ack_timeout = 0; /* none, or a retry would have it sent */
	meet_child(&c, &s);
	ack_timeout = 17;
	for (int i = 0; i < WAITS; i++) {
		assert_int_equal(read(c.from, &ready, 1), 1);
		usleep(3000); /* it waits, and its thread sleeps */
		assert_int_equal(emu_post_send(s.qp, &wr), 0);
		emu_qp_ring(s.qp);
		nic_kick(s.nic);
		expect_success(&s, false);
		assert_int_equal(write(c.to, "a", 1), 1);
	}
	assert_int_equal(end_child(&c), 0);
	side_close(&s);
}

static void wait_on_a_nonblocking_descriptor_does_not(void **state)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	struct side s;

	side_open(&s);
	assert_int_equal(nic_wait_fd(s.nic, fd), -EAGAIN);
	assert_int_equal(eventfd_write(fd, 1), 0);
	assert_int_equal(nic_wait_fd(s.nic, fd), 0);
	side_close(&s);
	close(fd);
}

static void ignore_it(int sig)
{
}

static void handle(int sig, int flags)
{
	struct sigaction act = { .sa_handler = ignore_it, .sa_flags = flags };

	sigaction(sig, &act, NULL);
}

static void *signal_later(void *arg)
{
	pthread_t *to = arg;

	for (int i = 0; i < 3; i++) {
		usleep(20000);
		pthread_kill(*to, SIGUSR1);
	}
	usleep(20000);
	eventfd_write(event_fd, 1);
	return NULL;
}

/* A read(2) would be restarted after the one kind of handler and not after the other. */
static void wait_treats_signals_as_a_read_would(void **state)
{
	pthread_t self = pthread_self(), t;
	eventfd_t count;
	struct side s;

	side_open(&s);
	handle(SIGUSR1, SA_RESTART);
	pthread_create(&t, NULL, signal_later, &self);
	assert_int_equal(nic_wait_fd(s.nic, event_fd), 0);
	pthread_join(t, NULL);
	eventfd_read(event_fd, &count);

	handle(SIGUSR1, 0);
	pthread_create(&t, NULL, signal_later, &self);
	assert_int_equal(nic_wait_fd(s.nic, event_fd), -EINTR);
	pthread_join(t, NULL);
	eventfd_read(event_fd, &count);
	signal(SIGUSR1, SIG_DFL);
	side_close(&s);
}

static void *wait_for_ever(void *arg)
{
	struct side *s = arg;

	nic_wait_fd(s->nic, event_fd);
	return NULL;
}

static void cancelled_waiter_leaves_the_nic_alive(void **state)
{
	struct side a, b;
	struct card card;
	pthread_t t;
	void *ret;

#ifdef __SANITIZE_ADDRESS__
	skip(); /* it takes the unwound stack of a cancelled thread for overflowed */
#endif
	side_open(&a);
	side_open(&b);
	side_connect(&a, emu_qp_num(b.qp));
	side_connect(&b, emu_qp_num(a.qp));
	card = side_card(&b);
	for (int i = 0; i < 20; i++) {
		pthread_create(&t, NULL, wait_for_ever, &a);
		post_write(&a, &card, 100);
		usleep((useconds_t)i * 100);
		pthread_cancel(t);
		pthread_join(t, &ret);
		assert_ptr_equal(ret, PTHREAD_CANCELED);
		expect_success(&a, false);
	}
	side_close(&b);
	side_close(&a);
}

/* ---- threads --------------------------------------------------------------------------- */

struct worker {
	struct side *a, *b;
	int kind;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct card card = side_card(w->b);

	for (int i = 0; i < 300; i++) {
		post_write(w->a, &card, 1 + (uint32_t)(i * 997) % 20000);
		expect_success(w->a, w->kind);
	}
	return NULL;
}

static void *churn(void *arg)
{
	for (int i = 0; i < 100; i++) {
		struct side s;

		side_open(&s);
		side_connect(&s, emu_qp_num(s.qp));
		side_close(&s);
	}
	return NULL;
}

static void threads_share_the_nic(void **state)
{
	struct side a[2], b[2];
	struct worker w[2];
	pthread_t t[3];

	for (int i = 0; i < 2; i++) {
		side_open(&a[i]);
		side_open(&b[i]);
		side_connect(&a[i], emu_qp_num(b[i].qp));
		side_connect(&b[i], emu_qp_num(a[i].qp));
		w[i] = (struct worker){ &a[i], &b[i], i };
		pthread_create(&t[i], NULL, work, &w[i]);
	}
	pthread_create(&t[2], NULL, churn, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 2; i++) {
		side_close(&b[i]);
		side_close(&a[i]);
	}
}

/* ---- fork -------------------------------------------------------------------------------- */

static void child_is_inert_until_it_opens_its_own(void **state)
{
	struct side a, b;
	struct card card;
	int status;
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	skip(); /* it knows no threads after fork() */
#endif
	side_open(&a);
	side_open(&b);
	side_connect(&a, emu_qp_num(b.qp));
	side_connect(&b, emu_qp_num(a.qp));
	card = side_card(&b);
	pid = fork();
	if (!pid) {
		struct side c;

		alarm(20);
		if (nic_alive(a.nic))
			_exit(1);
		nic_lock(a.nic);
		nic_unlock(a.nic);
		nic_kick(a.nic);
		nic_poll(a.nic);
		nic_put(a.nic);
		side_open(&c);
		side_connect(&c, emu_qp_num(c.qp));
		card = side_card(&c);
		post_write(&c, &card, 100);
		expect_success(&c, true);
		side_close(&c);
		_exit(0);
	}
	assert_true(nic_alive(a.nic));
	post_write(&a, &card, SIZE);
	expect_success(&a, true);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	post_write(&a, &card, SIZE);
	expect_success(&a, false);
	side_close(&b);
	side_close(&a);
}

static void last_put_leaves_no_descriptor(void **state)
{
	struct side s;
	int before, after;

	side_open(&s); /* libfabric is loaded now */
	side_close(&s);
	before = dup(STDERR_FILENO);
	close(before);
	for (int i = 0; i < 20; i++) {
		side_open(&s);
		side_close(&s);
	}
	after = dup(STDERR_FILENO);
	close(after);
	assert_int_equal(before, after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: these fork before this process has a NIC. */
		cmocka_unit_test(idle_target_in_another_process_is_written),
		cmocka_unit_test(spinning_target_sees_each_write),
		cmocka_unit_test(both_ends_in_one_process_and_on_one_qp),
		cmocka_unit_test(thread_works_for_a_program_that_sleeps),
		cmocka_unit_test(timers_run_for_a_program_that_stopped_polling),
		cmocka_unit_test(wait_returns_when_the_event_comes),
		cmocka_unit_test(ack_of_a_waiter_that_falls_silent_leaves),
		cmocka_unit_test(wait_on_a_nonblocking_descriptor_does_not),
		cmocka_unit_test(wait_treats_signals_as_a_read_would),
		cmocka_unit_test(cancelled_waiter_leaves_the_nic_alive),
		cmocka_unit_test(threads_share_the_nic),
		cmocka_unit_test(child_is_inert_until_it_opens_its_own),
		cmocka_unit_test(last_put_leaves_no_descriptor),
	};

	event_fd = eventfd(0, EFD_CLOEXEC);
	if (event_fd < 0)
		return 99;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
