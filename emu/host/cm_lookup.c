/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Look-ups, asking and answering. A question carries a number that an answer
 * must repeat and nobody can guess who did not see the question; that a port is
 * closed is told by the kernel (ICMP), with the question it is about. Whoever
 * asks from this host uses a loopback address, as the sockets of ports take
 * nothing else unless SOFTVERBS_ALLOW says so. An answer gives away a slot
 * number; what a process may do with it is for the wire to say.
 *
 * A refusal is believed when it comes again and again for a sixth of a second:
 * programs (perftest -R) close a listener and open the next while the other
 * side, which on a network would be slower, connects already.
 */
#include "cm_port.h"

#include "addr.h"
#include "progress.h"
#include "watch.h"

#include "ofi_sock.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* So many datagrams of one socket in one go. */
#define BATCH 64
/* A refused question is asked again so many times, each time after twice as long. */
#define RETRIES 5
#define FIRST_RETRY_NS 5000000u

enum kind {
	QUESTION = 1,
	FOUND = 2,
	REFUSED = 3,
};

static const char magic[4] = { 's', 'v', 'C', 'M' };

#define VERSION 1

struct datagram { /* host order where the order does not matter to who asked */
	char magic[4];
	uint8_t version, kind;
	uint16_t ps, port; /* network order */
	uint16_t tries;
	uint32_t slot; /* network order */
	uint32_t number; /* of the question */
	uint64_t nonce;
	uint8_t ip[16];
};

_Static_assert(sizeof(struct datagram) == 48, "no padding in a datagram");

struct nic_cm_asker {
	struct nic_watch watch;
};

struct nic_cm_answer {
	uint32_t cookie;
};

struct nic_cm_retry {
	struct nic_cm_retry *next;
	uint64_t due_ns;
	struct datagram question;
};

static bool is_valid(const struct datagram *d, ssize_t len)
{
	return len == (ssize_t)sizeof(*d) && !memcmp(d->magic, magic, sizeof(magic)) &&
	       d->version == VERSION && d->tries <= RETRIES;
}

/* ---- who is asked ------------------------------------------------------------- */

static void answer(struct nic *nic, struct datagram *d)
{
	struct emu_cm_addr dst = { .port = ntohs(d->port) };

	memcpy(dst.ip.raw, d->ip, sizeof(dst.ip.raw));
	d->kind = REFUSED;
	if (emu_cm_listening(nic->dev, ntohs(d->ps), &dst)) {
		d->kind = FOUND;
		d->slot = htonl(nic->slot[0]);
	}
}

void nic_cm_asked(struct nic *nic, int fd)
{
	union ofi_sockaddr from;
	struct datagram d;

	for (int i = 0; i < BATCH; i++) {
		socklen_t from_len = sizeof(from);
		ssize_t len = recvfrom(fd, &d, sizeof(d), MSG_TRUNC, &from.sa, &from_len);

		if (len < 0)
			return;
		if (!is_valid(&d, len) || d.kind != QUESTION)
			continue;
		answer(nic, &d);
		sendto(fd, &d, sizeof(d), 0, &from.sa, from_len);
	}
}

/* ---- who asks ----------------------------------------------------------------- */

static void take_refusal(struct nic *nic, const struct datagram *d)
{
	struct nic_cm_retry *r = d->tries < RETRIES ? calloc(1, sizeof(*r)) : NULL;

	if (!r) {
		nic_cm_question_refused(&nic->cm_questions, d->number, nic->dev);
		return;
	}
	r->question = *d;
	r->question.kind = QUESTION;
	r->question.tries++;
	r->due_ns = nic->now_ns + ((uint64_t)FIRST_RETRY_NS << d->tries);
	r->next = nic->cm_retries;
	nic->cm_retries = r;
}

static void take(struct nic *nic, const struct datagram *d, ssize_t len, bool refused)
{
	if (!is_valid(d, len) || d->nonce != nic->cm_nonce)
		return;
	if (refused || d->kind == REFUSED)
		take_refusal(nic, d);
	else if (d->kind == FOUND)
		nic_cm_question_found(&nic->cm_questions, d->number, nic->dev, ntohl(d->slot));
}

/* What the kernel has to say about a question: its bytes, and what became of it. */
static bool read_error(struct nic *nic, int fd)
{
	struct datagram d;
	char control[512];
	struct iovec iov = { &d, sizeof(d) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t len = recvmsg(fd, &msg, MSG_ERRQUEUE);

	if (len < 0)
		return false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		struct sock_extended_err err;

		if (c->cmsg_type != IP_RECVERR && c->cmsg_type != IPV6_RECVERR)
			continue;
		memcpy(&err, CMSG_DATA(c), sizeof(err));
		if (err.ee_errno == ECONNREFUSED)
			take(nic, &d, len, true);
	}
	return true;
}

static void answered(struct nic *nic, struct nic_watch *watch)
{
	struct datagram d;

	for (int i = 0; i < BATCH; i++) {
		ssize_t len = recv(watch->fd, &d, sizeof(d), MSG_TRUNC);

		if (len >= 0)
			take(nic, &d, len, false);
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			break;
	}
	for (int i = 0; i < BATCH && read_error(nic, watch->fd); i++)
		;
}

static int open_socket(bool v4, bool own)
{
	static const struct in6_addr loopback[2] = {
		{ .s6_addr = { [15] = 1 } },
		{ .s6_addr = { [10] = 0xff, 0xff, 127, 0, 0, 1 } },
	};
	int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	union ofi_sockaddr addr;
	int on = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_RECVERR : IPV6_RECVERR, &on,
		   sizeof(on));
	if (!own)
		return fd;
	ofi_sockaddr_set(&addr, &loopback[v4], 0, 0);
	if (bind(fd, &addr.sa, v4 ? sizeof(addr.in) : sizeof(addr.in6))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The socket for questions of one family to this host or to others; -1: cannot be had. */
static int asker(struct nic *nic, bool v4, bool own)
{
	struct nic_cm_asker **slot = &nic->cm_askers[v4][own];
	struct nic_cm_asker *a = *slot;

	if (a)
		return a->watch.fd;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -1;
	a->watch.readable = answered;
	a->watch.fd = open_socket(v4, own);
	if (a->watch.fd < 0 || nic_watch_add(nic, &a->watch)) {
		if (a->watch.fd >= 0)
			close(a->watch.fd);
		free(a);
		return -1;
	}
	*slot = a;
	return a->watch.fd;
}

/* Found here: the answer may not be given from inside the question. */
static bool found_here(struct nic *nic, uint32_t cookie)
{
	struct nic_cm_answer *more =
		realloc(nic->cm_answers, (nic->cm_answer_count + 1) * sizeof(*more));

	if (!more)
		return false;
	nic->cm_answers = more;
	more[nic->cm_answer_count++].cookie = cookie;
	return true;
}

static void ask(struct nic *nic, const struct wire_addr *addr, bool own, const struct datagram *d)
{
	bool v4 = IN6_IS_ADDR_V4MAPPED(&addr->ip);
	int fd = asker(nic, v4, own);
	union ofi_sockaddr to;

	if (fd < 0)
		return;
	ofi_sockaddr_set(&to, &addr->ip, addr->scope, ntohs(d->port));
	/* An error of an earlier question may be reported here in its place. */
	for (int i = 0; i < 2; i++)
		if (sendto(fd, d, sizeof(*d), 0, &to.sa, v4 ? sizeof(to.in) : sizeof(to.in6)) >= 0)
			break;
}

void nic_cm_lookup(void *host, const struct emu_cm_addr *dst, uint16_t ps, uint32_t cookie)
{
	struct nic *nic = host;
	struct wire_addr addr;
	bool own = nic_address_of(nic, &dst->ip, &addr);
	struct datagram d = {
		.version = VERSION,
		.kind = QUESTION,
		.ps = htons(ps),
		.port = htons(dst->port),
	};

	if (own && emu_cm_listening(nic->dev, ps, dst) && found_here(nic, cookie))
		return;
	if (!own && !ofi_sock_allowed(&addr.ip, nic->cfg->allow, nic->cfg->allow_count))
		nic->cm_not_allowed = true;
	if (!nic->cm_nonce && getrandom(&nic->cm_nonce, sizeof(nic->cm_nonce), 0) < 0)
		return;
	if (!nic_cm_question_add(&nic->cm_questions, dst, ps, cookie, &d.number))
		return;
	memcpy(d.magic, magic, sizeof(magic));
	memcpy(d.ip, dst->ip.raw, sizeof(d.ip));
	d.nonce = nic->cm_nonce;
	ask(nic, &addr, own, &d);
}

/* ---- what was not done at once ------------------------------------------------- */

static void ask_once_more(struct nic *nic, const struct datagram *d)
{
	struct emu_cm_addr dst = { .port = ntohs(d->port) };
	struct wire_addr addr;
	bool own;

	memcpy(dst.ip.raw, d->ip, sizeof(dst.ip.raw));
	own = nic_address_of(nic, &dst.ip, &addr);
	if (own && emu_cm_listening(nic->dev, ntohs(d->ps), &dst))
		nic_cm_question_found(&nic->cm_questions, d->number, nic->dev, nic->slot[0]);
	else
		ask(nic, &addr, own, d);
}

static void ask_again(struct nic *nic)
{
	struct nic_cm_retry **link = &nic->cm_retries;

	while (*link) {
		struct nic_cm_retry *r = *link;

		if (r->due_ns > nic->now_ns) {
			link = &r->next;
			continue;
		}
		*link = r->next;
		ask_once_more(nic, &r->question);
		free(r);
	}
}

uint64_t nic_cm_deadline(const struct nic *nic)
{
	uint64_t at = UINT64_MAX;

	for (const struct nic_cm_retry *r = nic->cm_retries; r; r = r->next)
		if (r->due_ns < at)
			at = r->due_ns;
	return at;
}

void nic_cm_run(struct nic *nic)
{
	unsigned n = nic->cm_answer_count;

	for (unsigned i = 0; i < n; i++)
		emu_cm_found(nic->dev, nic->cm_answers[i].cookie, nic->slot[0]);
	/* What was asked meanwhile, if anything, stands behind them. */
	nic->cm_answer_count -= n;
	if (nic->cm_answer_count)
		memmove(nic->cm_answers, nic->cm_answers + n,
			nic->cm_answer_count * sizeof(*nic->cm_answers));
	if (nic->cm_retries)
		ask_again(nic);
}

const char *nic_cm_notice(struct nic *nic)
{
	if (!nic->cm_not_allowed || nic->cm_noticed)
		return NULL;
	nic->cm_noticed = true;
	return "connecting to another host needs SOFTVERBS_ALLOW with its network, on both";
}

void nic_cm_close(struct nic *nic)
{
	for (int i = 0; i < 4; i++) {
		free(nic->cm_askers[i / 2][i % 2]);
		nic->cm_askers[i / 2][i % 2] = NULL;
	}
	nic_cm_questions_free(&nic->cm_questions);
	while (nic->cm_retries) {
		struct nic_cm_retry *r = nic->cm_retries;

		nic->cm_retries = r->next;
		free(r);
	}
	free(nic->cm_answers);
	nic->cm_answers = NULL;
	nic->cm_answer_count = 0;
}
