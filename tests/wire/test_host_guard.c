/* SPDX-License-Identifier: BSD-2-Clause */
/* Guarded access to user memory, and the question whether it is mapped. */
#include "guard.h"

#include <emu/nic.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

/* cmocka sets handlers of its own around every test, as programs do. */
static void take_signals(void)
{
	assert_int_equal(guard_install(), 0);
}

/* Two pages, the second of which cannot be touched. */
static uint8_t *edge(void)
{
	uint8_t *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect(p + PAGE, PAGE, PROT_NONE), 0);
	return p;
}

static void copy_is_exact_for_every_size_and_alignment(void **state)
{
	uint8_t src[700], dst[700 + 16];

	take_signals();
	for (size_t i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)(i * 7 + 1);
	for (size_t len = 0; len <= 300; len++) {
		for (size_t off = 0; off < 9; off++) {
			memset(dst, 0xee, sizeof(dst));
			assert_int_equal(guard_copy(dst + 8, src + off, len), 0);
			assert_memory_equal(dst + 8, src + off, len);
			assert_int_equal(dst[7], 0xee);
			assert_int_equal(dst[8 + len], 0xee);
		}
	}
}

static void copy_from_or_to_unmapped_memory_fails(void **state)
{
	uint8_t *p = edge(), buf[256] = { 0 };

	take_signals();
	assert_int_equal(guard_copy(buf, p + PAGE - 100, 100), 0);
	assert_int_equal(guard_copy(buf, p + PAGE - 100, 101), -EFAULT);
	assert_int_equal(guard_copy(p + PAGE - 100, buf, 256), -EFAULT);
	assert_int_equal(guard_copy(p + PAGE, buf, 1), -EFAULT);
	assert_int_equal(guard_copy(p, buf, sizeof(buf)), 0);
	munmap(p, 2 * PAGE);
}

/* Non-canonical addresses fault in another way than unmapped ones. */
static void wild_address_fails(void **state)
{
	uint8_t buf[64];

	take_signals();
	assert_int_equal(guard_copy(buf, (void *)(uintptr_t)0xdead000000000000, 64), -EFAULT);
	assert_int_equal(guard_copy(buf, NULL, 8), -EFAULT);
}

static void file_that_shrank_fails(void **state)
{
	char name[] = "/tmp/softverbs-guard-XXXXXX";
	int fd = mkstemp(name);
	uint8_t *p, buf[64];

	take_signals();
	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(guard_copy(buf, p, 64), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(guard_copy(buf, p, 64), -EFAULT); /* SIGBUS */
	assert_int_equal(guard_touch(p, 64), -EFAULT);
	munmap(p, PAGE);
	close(fd);
}

static void touch_finds_a_hole_in_the_middle(void **state)
{
	uint8_t *p = mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	take_signals();
	assert_int_equal(guard_touch(p, 3 * PAGE), 0);
	assert_int_equal(guard_touch(p + 10, 0), 0);
	munmap(p + PAGE, PAGE);
	assert_int_equal(guard_touch(p, 3 * PAGE), -EFAULT);
	assert_int_equal(guard_touch(p + PAGE - 1, 2), -EFAULT);
	assert_int_equal(guard_touch(p + PAGE - 1, 1), 0);
	munmap(p, 3 * PAGE);
}

static void atomics_return_the_old_value(void **state)
{
	uint64_t word = 5, old = 0;
	uint8_t *p = edge();

	take_signals();
	assert_int_equal(guard_faa64(&word, 3, &old), 0);
	assert_int_equal(old, 5);
	assert_int_equal(word, 8);
	assert_int_equal(guard_cas64(&word, 9, 1, &old), 0);
	assert_int_equal(old, 8);
	assert_int_equal(word, 8);
	assert_int_equal(guard_cas64(&word, 8, 1, &old), 0);
	assert_int_equal(word, 1);
	assert_int_equal(guard_cas64(p + PAGE, 8, 1, &old), -EFAULT);
	assert_int_equal(guard_faa64(p + PAGE, 8, &old), -EFAULT);
	munmap(p, 2 * PAGE);
}

static volatile sig_atomic_t handled;
static sigjmp_buf out;

static void count_fault(int sig)
{
	handled++;
	siglongjmp(out, 1);
}

/* In a child: the guard keeps the handlers that were there when it came. */
static void fault_outside_the_guard_goes_to_the_program(void **state)
{
	pid_t pid = fork();
	int status;

	take_signals();
	if (!pid) {
		uint8_t *p = edge(), buf[8];

		signal(SIGSEGV, count_fault);
		take_signals();
		if (!sigsetjmp(out, 1))
			((volatile uint8_t *)p)[PAGE] = 1;
		if (handled != 1 || guard_copy(buf, p + PAGE, 8) != -EFAULT)
			_exit(1);
		if (!sigsetjmp(out, 1))
			((volatile uint8_t *)p)[PAGE] = 1;
		_exit(handled == 2 ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static uint8_t *hole;
static volatile sig_atomic_t alarms, filled;

static void touch_the_hole(int sig)
{
	((volatile uint8_t *)hole)[PAGE] = 1;
	alarms++;
	mprotect(hole + PAGE, PAGE, PROT_NONE);
}

static void fill_the_hole(int sig)
{
	filled++;
	mprotect(hole + PAGE, PAGE, PROT_READ | PROT_WRITE);
}

/* A handler of the program interrupts a guarded copy, and what it touches is its own affair. */
static void fault_of_a_handler_inside_the_guard_goes_to_the_program(void **state)
{
	enum { SIZE = 1 << 22 };
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	pid_t pid = fork();
	int status;

	if (!pid) {
		uint8_t *src = calloc(2, SIZE);

		hole = edge();
		signal(SIGSEGV, fill_the_hole);
		signal(SIGALRM, touch_the_hole);
		take_signals();
		setitimer(ITIMER_REAL, &often, NULL);
		while (src && alarms < 100)
			if (guard_copy(src + SIZE, src, SIZE))
				_exit(1);
		_exit(filled >= 100 ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static struct sigaction below;

static void pass_on_below(int sig, siginfo_t *info, void *context)
{
	below.sa_sigaction(sig, info, context);
}

/* A handler set on top of the guard's passes on to it, and the guard, set again, to that one. */
static void handlers_in_a_circle_end_in_death(void **state)
{
	struct sigaction act = { .sa_sigaction = pass_on_below, .sa_flags = SA_SIGINFO };
	pid_t pid = fork();
	int status;

	if (!pid) {
		uint8_t *p = edge();

		take_signals();
		sigaction(SIGSEGV, &act, &below);
		take_signals();
		alarm(10);
		((volatile uint8_t *)p)[PAGE] = 1;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static void *reader(void *arg)
{
	uint8_t **pages = arg, buf[PAGE];
	long faults = 0;

	for (int i = 0; i < 20000; i++)
		faults += guard_copy(buf, pages[i % 2], PAGE) != 0;
	return (void *)faults;
}

static void each_thread_has_its_own_guard(void **state)
{
	uint8_t *p = edge(), *mixed[2] = { p, p + PAGE }, *good[2] = { p, p };
	pthread_t t[2];
	void *faults[2];

	take_signals();
	assert_int_equal(pthread_create(&t[0], NULL, reader, mixed), 0);
	assert_int_equal(pthread_create(&t[1], NULL, reader, good), 0);
	pthread_join(t[0], &faults[0]);
	pthread_join(t[1], &faults[1]);
	assert_int_equal((long)faults[0], 10000);
	assert_int_equal((long)faults[1], 0);
	munmap(p, 2 * PAGE);
}

static void mapping_is_checked_page_by_page(void **state)
{
	uint8_t *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = (uintptr_t)p;

	assert_int_equal(nic_mem_check(at, 4 * PAGE, true), 0);
	assert_int_equal(nic_mem_check(at + 1, 4 * PAGE - 1, true), 0);
	assert_int_equal(mprotect(p + 2 * PAGE, PAGE, PROT_READ), 0);
	assert_int_equal(nic_mem_check(at, 4 * PAGE, false), 0); /* three mappings now */
	assert_int_equal(nic_mem_check(at, 4 * PAGE, true), -EFAULT);
	assert_int_equal(nic_mem_check(at, 2 * PAGE, true), 0);
	assert_int_equal(nic_mem_check(at, 2 * PAGE + 1, true), -EFAULT);
	assert_int_equal(mprotect(p + PAGE, PAGE, PROT_NONE), 0);
	assert_int_equal(nic_mem_check(at, 2 * PAGE, false), -EFAULT);
	munmap(p + 3 * PAGE, PAGE);
	assert_int_equal(nic_mem_check(at + 2 * PAGE, PAGE + 1, false), -EFAULT);
	munmap(p, 3 * PAGE);
	assert_int_equal(nic_mem_check(at, 1, false), -EFAULT);
}

static void strange_ranges_are_answered(void **state)
{
	assert_int_equal(nic_mem_check(0, 0, true), 0);
	assert_int_equal(nic_mem_check(0, 1, false), -EFAULT);
	assert_int_equal(nic_mem_check(UINT64_MAX - 10, 100, false), -EFAULT);
	assert_int_equal(nic_mem_check((uintptr_t)state, UINT64_MAX / 2, false), -EFAULT);
	assert_int_equal(nic_mem_check((uintptr_t)&strange_ranges_are_answered, 1, true), -EFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handlers_in_a_circle_end_in_death),
		cmocka_unit_test(copy_is_exact_for_every_size_and_alignment),
		cmocka_unit_test(copy_from_or_to_unmapped_memory_fails),
		cmocka_unit_test(wild_address_fails),
		cmocka_unit_test(file_that_shrank_fails),
		cmocka_unit_test(touch_finds_a_hole_in_the_middle),
		cmocka_unit_test(atomics_return_the_old_value),
		cmocka_unit_test(fault_outside_the_guard_goes_to_the_program),
		cmocka_unit_test(fault_of_a_handler_inside_the_guard_goes_to_the_program),
		cmocka_unit_test(each_thread_has_its_own_guard),
		cmocka_unit_test(mapping_is_checked_page_by_page),
		cmocka_unit_test(strange_ranges_are_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
