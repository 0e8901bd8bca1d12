/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guarded access to user memory. A thread that is inside a guarded access has
 * a jump buffer in its thread-local slot; the handler of SIGSEGV and SIGBUS
 * jumps there and the access reports -EFAULT. Any other fault is passed on to
 * the handler that was there before us, so crash reporters keep working.
 */
#include "guard.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define CHUNK 64
#define PAGE 4096
#define ROUNDS 100000

/* The program's races on its own buffers are not ours to report, nor its freed memory. */
#define UNCHECKED __attribute__((no_sanitize("address", "thread", "undefined")))

#define compiler_barrier() __asm__ __volatile__("" ::: "memory")

struct range {
	uintptr_t start, len;
};

/* A guarded access: where to go when it faults, and what it touches. */
struct access {
	sigjmp_buf here;
	struct range range[2];
};

/* Read by the signal handler, hence initial-exec: no allocation at first use. */
static __thread struct access *volatile recovery __attribute__((tls_model("initial-exec")));

/* The fault that this thread passed on last, and how often in a row. */
static __thread void *volatile passed_addr __attribute__((tls_model("initial-exec")));
static __thread volatile unsigned passed_on __attribute__((tls_model("initial-exec")));

static const int guarded_signals[] = { SIGSEGV, SIGBUS };
static struct sigaction previous[2];

static void pass_on(int sig, siginfo_t *info, void *context, const struct sigaction *prev)
{
	if (prev->sa_handler != SIG_DFL && prev->sa_handler != SIG_IGN) {
		if (prev->sa_flags & SA_SIGINFO)
			prev->sa_sigaction(sig, info, context);
		else
			prev->sa_handler(sig);
		return;
	}
	if (prev->sa_handler == SIG_IGN && info->si_code <= 0)
		return;
	/* The default: the instruction faults again; a signal that was sent is sent again. */
	signal(sig, SIG_DFL);
	if (info->si_code <= 0)
		raise(sig);
}

/*
 * Is it the access itself that faults, and not a handler of the program that has
 * interrupted it? By pages, as some faults are reported. The kernel knows no
 * address of a non-canonical one.
 */
static bool is_guarded(const struct access *access, const siginfo_t *info)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1);

	if (info->si_code == SI_KERNEL)
		return true;
	for (int i = 0; i < 2; i++) {
		uintptr_t first = access->range[i].start & ~(uintptr_t)(PAGE - 1);

		if (access->range[i].len &&
		    page - first <= access->range[i].start + access->range[i].len - 1 - first)
			return true;
	}
	return false;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	static const struct sigaction nobody = { .sa_handler = SIG_DFL };
	struct access *access = recovery;

	/* si_code <= 0: somebody sent the signal, nothing faulted here. */
	if (access && info->si_code > 0 && is_guarded(access, info)) {
		recovery = NULL;
		siglongjmp(access->here, 1);
	}
	/*
	 * A handler that was set on top of ours may pass on to us what we pass on to
	 * it. Nobody tells that from a fault that comes again, except by its number.
	 */
	passed_on = info->si_addr == passed_addr ? passed_on + 1 : 0;
	passed_addr = info->si_addr;
	pass_on(sig, info, context, passed_on < ROUNDS ? &previous[sig == SIGBUS] : &nobody);
}

static bool is_ours(const struct sigaction *act)
{
	return (act->sa_flags & SA_SIGINFO) && act->sa_sigaction == on_fault;
}

static int take_signal(int i)
{
	int sig = guarded_signals[i];
	/* SA_NODEFER: the jump leaves the mask as it was, so nothing has to save it. */
	struct sigaction now, act = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART,
	};

	if (sigaction(sig, NULL, &now))
		return -errno;
	if (is_ours(&now))
		return 0;
	previous[i] = now;
	sigemptyset(&act.sa_mask);
	return sigaction(sig, &act, NULL) ? -errno : 0;
}

int guard_install(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int ret = 0;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < 2 && !ret; i++)
		ret = take_signal(i);
	pthread_mutex_unlock(&lock);
	return ret;
}

static inline UNCHECKED void copy_bytes(uint8_t *d, const uint8_t *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		*(volatile uint8_t *)(d + i) = s[i];
		compiler_barrier();
	}
}

/*
 * The last up to CHUNK bytes: a program may poll the last byte, or an aligned
 * word that ends the buffer and must not be seen half written.
 */
static inline UNCHECKED void copy_tail(uint8_t *d, const uint8_t *s, size_t len)
{
	uint64_t word;

	while (len > 8) {
		memcpy(&word, s, 8);
		memcpy(d, &word, 8);
		compiler_barrier();
		if (len < 16) {
			/* Overlap by less than a word so that the last store is a whole one. */
			d += len - 8 < 8 ? len - 8 : 8;
			s += len - 8 < 8 ? len - 8 : 8;
			len = 8;
		} else {
			d += 8;
			s += 8;
			len -= 8;
		}
	}
	atomic_thread_fence(memory_order_release);
	if (len == 8) {
		memcpy(&word, s, 8);
		*(volatile uint64_t *)d = word;
	} else if (len == 4) {
		uint32_t half;

		memcpy(&half, s, 4);
		*(volatile uint32_t *)d = half;
	} else {
		copy_bytes(d, s, len);
	}
}

/* Not inline: what it keeps in registers is nothing to whoever calls sigsetjmp. */
static UNCHECKED __attribute__((noinline)) void copy_ascending(uint8_t *d, const uint8_t *s, size_t len)
{
	/* Fixed-size copies become vector moves; the barrier keeps them in order. */
	while (len > CHUNK) {
		__builtin_memcpy(d, s, CHUNK);
		compiler_barrier();
		d += CHUNK;
		s += CHUNK;
		len -= CHUNK;
	}
	copy_tail(d, s, len);
}

UNCHECKED int guard_copy(void *dst, const void *src, size_t len)
{
	struct access access;

	access.range[0] = (struct range){ (uintptr_t)dst, len };
	access.range[1] = (struct range){ (uintptr_t)src, len };
	if (sigsetjmp(access.here, 0))
		return -EFAULT;
	recovery = &access;
	compiler_barrier();
	copy_ascending(dst, src, len);
	compiler_barrier();
	recovery = NULL;
	return 0;
}

static UNCHECKED __attribute__((noinline)) void touch(const volatile uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i += PAGE)
		(void)p[i];
	(void)p[len - 1];
}

UNCHECKED int guard_touch(const void *src, size_t len)
{
	struct access access;

	if (!len)
		return 0;
	access.range[0] = access.range[1] = (struct range){ (uintptr_t)src, len };
	if (sigsetjmp(access.here, 0))
		return -EFAULT;
	recovery = &access;
	compiler_barrier();
	touch(src, len);
	compiler_barrier();
	recovery = NULL;
	return 0;
}

UNCHECKED int guard_cas64(void *addr, uint64_t compare, uint64_t swap, uint64_t *old)
{
	struct access access;

	access.range[0] = access.range[1] = (struct range){ (uintptr_t)addr, sizeof(uint64_t) };
	if (sigsetjmp(access.here, 0))
		return -EFAULT;
	recovery = &access;
	compiler_barrier();
	__atomic_compare_exchange_n((uint64_t *)addr, &compare, swap, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	compiler_barrier();
	recovery = NULL;
	*old = compare;
	return 0;
}

UNCHECKED int guard_faa64(void *addr, uint64_t add, uint64_t *old)
{
	uint64_t before;
	struct access access;

	access.range[0] = access.range[1] = (struct range){ (uintptr_t)addr, sizeof(uint64_t) };
	if (sigsetjmp(access.here, 0))
		return -EFAULT;
	recovery = &access;
	compiler_barrier();
	before = __atomic_fetch_add((uint64_t *)addr, add, __ATOMIC_SEQ_CST);
	compiler_barrier();
	recovery = NULL;
	*old = before;
	return 0;
}
