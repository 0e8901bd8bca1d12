/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports of the connection manager and the look-ups that come to them, as a
 * stranger on this host sees them: a UDP socket that says little.
 */
#include <emu/nic.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUESTION_BYTES 48
#define ANSWER_MS 3000
#define SILENCE_MS 50

/* emu/host/cm_lookup.c */
struct question {
	char magic[4];
	uint8_t version, kind;
	uint16_t ps, port, tries;
	uint32_t slot, number;
	uint64_t nonce;
	uint8_t ip[16];
};

enum { QUESTION = 1, FOUND = 2, REFUSED = 3 };

static struct nic *nic;

static void no_cq_event(void *user)
{
}

static void no_async_event(enum emu_event_type type, void *user)
{
}

static int open_nic(void **state)
{
	static const struct nic_sink sink = { no_cq_event, no_async_event };

	return nic_get(&sink, &nic);
}

static int close_nic(void **state)
{
	nic_put(nic);
	return 0;
}

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static int bind_port(uint32_t ip, uint16_t number, unsigned flags, struct nic_cm_port **out)
{
	struct sockaddr_in sin = loopback(number);

	sin.sin_addr.s_addr = htonl(ip);
	return nic_cm_bind(nic, (struct sockaddr *)&sin, flags, out);
}

static int bind_any(uint16_t number, unsigned flags, struct nic_cm_port **out)
{
	return bind_port(INADDR_LOOPBACK, number, flags, out);
}

static struct emu_cm_listener *start_listening(uint16_t port)
{
	struct emu_cm_listen listen = {
		.ps = EMU_CM_PS_TCP,
		.addr = { .ip.raw = { [10] = 0xff, 0xff, 127, 0, 0, 1 }, .port = port },
		.user = &nic,
	};
	struct emu_cm_listener *l;
	int ret = emu_cm_listen(nic_lock(nic), &listen, &l);

	nic_unlock(nic);
	assert_int_equal(ret, 0);
	return l;
}

static void stop_listening(struct emu_cm_listener *l)
{
	nic_lock(nic);
	emu_cm_unlisten(l);
	nic_unlock(nic);
}

/* ---- a stranger ---------------------------------------------------------------- */

static int stranger(uint16_t port)
{
	struct sockaddr_in me = loopback(0), to = loopback(port);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&me, sizeof(me)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static struct question question(uint16_t port)
{
	return (struct question){
		.magic = { 's', 'v', 'C', 'M' },
		.version = 1,
		.kind = QUESTION,
		.ps = htons(EMU_CM_PS_TCP),
		.port = htons(port),
		.number = 77,
		.nonce = 0x123456789abcdef,
		.ip = { [10] = 0xff, 0xff, 127, 0, 0, 1 },
	};
}

/* Bytes of an answer within ms; -1: none, -errno when the port is closed. */
static int ask(int fd, const void *bytes, size_t len, struct question *answer, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t got;

	if (send(fd, bytes, len, 0) < 0)
		return -errno;
	if (poll(&p, 1, ms) != 1)
		return -1;
	got = recv(fd, answer, sizeof(*answer), 0);
	return got < 0 ? -errno : (int)got;
}

/* ---- ports ----------------------------------------------------------------------- */

static void a_port_is_held_until_it_is_given_back(void **state)
{
	struct nic_cm_port *a, *b;
	uint16_t number;

	assert_int_equal(bind_any(0, 0, &a), 0);
	number = nic_cm_port_number(a);
	assert_int_not_equal(number, 0);
	assert_int_equal(bind_any(number, 0, &b), -EADDRINUSE);
	assert_int_equal(bind_port(INADDR_ANY, number, 0, &b), -EADDRINUSE);
	nic_cm_unbind(nic, a);
	assert_int_equal(bind_any(number, 0, &b), 0);
	nic_cm_unbind(nic, b);
}

static void two_who_share_a_port_both_say_so(void **state)
{
	struct nic_cm_port *a, *b, *c;

	assert_int_equal(bind_any(0, NIC_CM_REUSE, &a), 0);
	assert_int_equal(bind_any(nic_cm_port_number(a), NIC_CM_REUSE, &b), 0);
	assert_int_equal(bind_any(nic_cm_port_number(a), 0, &c), -EADDRINUSE);
	nic_cm_unbind(nic, a);
	nic_cm_unbind(nic, b);
}

static void strange_addresses_are_refused(void **state)
{
	struct sockaddr none = { .sa_family = AF_UNIX };
	struct nic_cm_port *a;

	assert_int_equal(nic_cm_bind(nic, &none, 0, &a), -EAFNOSUPPORT);
	assert_int_equal(bind_port(0xc0000263, 0, 0, &a), -EADDRNOTAVAIL); /* 192.0.2.99 */
}

/* ---- look-ups ---------------------------------------------------------------------- */

static void a_listener_is_found_and_nobody_else(void **state)
{
	struct nic_cm_port *port;
	struct emu_cm_listener *l;
	struct question q, answer;
	int fd;

	assert_int_equal(bind_any(0, 0, &port), 0);
	q = question(nic_cm_port_number(port));
	fd = stranger(nic_cm_port_number(port));
	assert_int_equal(ask(fd, &q, sizeof(q), &answer, ANSWER_MS), QUESTION_BYTES);
	assert_int_equal(answer.kind, REFUSED);
	l = start_listening(nic_cm_port_number(port));
	assert_int_equal(ask(fd, &q, sizeof(q), &answer, ANSWER_MS), QUESTION_BYTES);
	assert_int_equal(answer.kind, FOUND);
	assert_int_equal(answer.number, q.number);
	assert_int_equal(answer.nonce, q.nonce);
	q.ps = htons(EMU_CM_PS_UDP);
	assert_int_equal(ask(fd, &q, sizeof(q), &answer, ANSWER_MS), QUESTION_BYTES);
	assert_int_equal(answer.kind, REFUSED);
	stop_listening(l);
	nic_cm_unbind(nic, port);
	q.ps = htons(EMU_CM_PS_TCP);
	assert_int_equal(ask(fd, &q, sizeof(q), &answer, ANSWER_MS), -ECONNREFUSED);
	close(fd);
}

static void what_is_no_question_gets_no_answer(void **state)
{
	struct nic_cm_port *port;
	struct question good, bad, answer;
	uint8_t bytes[2 * QUESTION_BYTES];
	int fd;

	assert_int_equal(bind_any(0, 0, &port), 0);
	good = question(nic_cm_port_number(port));
	fd = stranger(nic_cm_port_number(port));
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, &good, sizeof(good));
	for (size_t len = 0; len <= sizeof(bytes); len += len < 40 ? 8 : 1) {
		if (len == QUESTION_BYTES)
			continue;
		assert_int_equal(ask(fd, bytes, len, &answer, 1), -1);
	}
	bad = good;
	bad.version = 2;
	assert_int_equal(ask(fd, &bad, sizeof(bad), &answer, SILENCE_MS), -1);
	bad = good;
	bad.kind = FOUND;
	assert_int_equal(ask(fd, &bad, sizeof(bad), &answer, SILENCE_MS), -1);
	bad = good;
	bad.magic[0] ^= 1;
	assert_int_equal(ask(fd, &bad, sizeof(bad), &answer, SILENCE_MS), -1);
	assert_int_equal(ask(fd, &good, sizeof(good), &answer, ANSWER_MS), QUESTION_BYTES);
	close(fd);
	nic_cm_unbind(nic, port);
}

/* Seeded: a number that fails can be had again. */
static void random_bytes_do_no_harm(void **state)
{
	struct nic_cm_port *port;
	struct question good, answer;
	uint8_t bytes[QUESTION_BYTES];
	unsigned seed = 4711;
	int fd;

	assert_int_equal(bind_any(0, 0, &port), 0);
	good = question(nic_cm_port_number(port));
	fd = stranger(nic_cm_port_number(port));
	for (int i = 0; i < 5000; i++) {
		size_t from = i % 2 ? 6 : 0;

		memcpy(bytes, &good, sizeof(bytes));
		for (size_t at = from; at < sizeof(bytes); at++)
			bytes[at] = (uint8_t)rand_r(&seed);
		if (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) < 0)
			assert_true(errno == EAGAIN || errno == ENOBUFS);
	}
	while (recv(fd, &answer, sizeof(answer), MSG_DONTWAIT) >= 0)
		;
	nic_cm_unbind(nic, port);
	assert_int_equal(bind_any(0, 0, &port), 0);
	close(fd);
	fd = stranger(nic_cm_port_number(port));
	good = question(nic_cm_port_number(port));
	assert_int_equal(ask(fd, &good, sizeof(good), &answer, ANSWER_MS), QUESTION_BYTES);
	close(fd);
	nic_cm_unbind(nic, port);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_is_held_until_it_is_given_back),
		cmocka_unit_test(two_who_share_a_port_both_say_so),
		cmocka_unit_test(strange_addresses_are_refused),
		cmocka_unit_test(a_listener_is_found_and_nobody_else),
		cmocka_unit_test(what_is_no_question_gets_no_answer),
		cmocka_unit_test(random_bytes_do_no_harm),
	};

	return cmocka_run_group_tests(tests, open_nic, close_nic);
}
