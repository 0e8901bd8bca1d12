/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that is not one of us: it speaks libfabric but sends rubbish. The link
 * must end, nothing that is not a whole packet may reach the core, and others
 * must not notice. It uses the wire's own way to libfabric, nothing else of it.
 */
#include "rig.h"

#include "ofi_state.h"

#include <endian.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The private data that opens a link: as in ofi_cm.c, spelled again on purpose. */
static const uint8_t good_hello[56] = { 's', 'v', 'r', 'b', 1, 0, 0, 60 };

struct stranger {
	struct ofi_fabric fabric;
	struct fid_ep *ep;
	bool up, down;
};

static void stranger_open(struct stranger *s)
{
	memset(s, 0, sizeof(*s));
	assert_int_equal(ofi_fabric_open(&s->fabric, "tcp"), 0);
}

static void stranger_close(struct stranger *s)
{
	if (s->ep)
		fi_close(&s->ep->fid);
	ofi_fabric_close(&s->fabric);
}

static void stranger_connect(struct stranger *s, struct rig *rig, const void *hello, size_t len)
{
	static const struct in6_addr ip = { .s6_addr = { [10] = 0xff, 0xff, 127, 0, 0, 1 } };
	union ofi_sockaddr addr;
	struct fi_info info;

	ofi_sockaddr_set(&addr, &ip, 0, (uint16_t)(rig->cfg_b.port_base + rig->slot_b));
	ofi_fabric_info(&s->fabric, NULL, &addr.sa, &info);
	assert_int_equal(fi_endpoint(s->fabric.domain, &info, &s->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(s->ep, &s->fabric.eq->fid, 0), 0);
	assert_int_equal(fi_ep_bind(s->ep, &s->fabric.cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_enable(s->ep), 0);
	assert_int_equal(fi_connect(s->ep, &addr, hello, len), 0);
}

static void stranger_look(struct stranger *s)
{
	struct fi_cq_msg_entry done[4];
	struct fi_cq_err_entry cq_err = { 0 };
	struct fi_eq_err_entry eq_err = { 0 };
	uint8_t event[sizeof(struct fi_eq_cm_entry) + 256];
	uint32_t type;
	ssize_t n;

	n = fi_eq_read(s->fabric.eq, &type, event, sizeof(event), 0);
	if (n == -FI_EAVAIL) {
		fi_eq_readerr(s->fabric.eq, &eq_err, 0);
		s->down = true;
	} else if (n > 0) {
		s->up |= type == FI_CONNECTED;
		s->down |= type == FI_SHUTDOWN;
	}
	if (fi_cq_read(s->fabric.cq, done, 4) == -FI_EAVAIL)
		fi_cq_readerr(s->fabric.cq, &cq_err, 0);
}

/* Passes of b and of the stranger until it is connected, or turned away. */
static void settle(struct stranger *s, struct rig *rig, const bool *what)
{
	for (int i = 0; i < 400 && !*what && !s->down; i++) {
		rig_run_ms(rig, 5);
		stranger_look(s);
	}
}

static void send_and_expect_the_end(struct rig *rig, const void *frame, size_t len)
{
	struct stranger s;

	stranger_open(&s);
	stranger_connect(&s, rig, good_hello, sizeof(good_hello));
	settle(&s, rig, &s.up);
	assert_true(s.up);
	assert_int_equal(fi_send(s.ep, frame, len, NULL, 0, NULL), 0);
	settle(&s, rig, &s.down);
	assert_true(s.down);
	stranger_close(&s);
}

static void others_still_get_through(struct rig *rig)
{
	struct emu_tx tx;
	unsigned before = rig->b.received;

	fake_tx(&tx, 1, rig->memory, 100, 1);
	assert_int_equal(rig_send(rig, &tx), WIRE_DONE);
	assert_true(rig_until(rig, &rig->b.received, before + 1));
}

static void record_that_leaves_its_frame_ends_the_link(void **state)
{
	static const uint32_t lengths[] = { 0, 29, 4096, 0x7fffffff, 0x80000000, 0x80000003,
					    0xffffffff };
	struct rig *rig = *state;
	uint8_t frame[32] = { 0 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t word = htole32(lengths[i]);

		memcpy(frame, &word, sizeof(word));
		send_and_expect_the_end(rig, frame, sizeof(frame));
		assert_int_equal(rig->b.received, 0);
	}
	others_still_get_through(rig);
}

static void good_records_before_the_bad_one_count(void **state)
{
	struct rig *rig = *state;
	uint8_t frame[4 + 12 + 4 + 8] = { 12 };

	frame[16] = 200;
	send_and_expect_the_end(rig, frame, sizeof(frame));
	assert_int_equal(rig->b.received, 1);
	others_still_get_through(rig);
}

static void frame_shorter_than_a_record_ends_the_link(void **state)
{
	struct rig *rig = *state;

	send_and_expect_the_end(rig, "abc", 3);
	assert_int_equal(rig->b.received, 0);
}

static void frame_longer_than_any_ends_the_link(void **state)
{
	struct rig *rig = *state;
	size_t len = rig->peer->max_payload + 4096;
	uint8_t *frame = calloc(1, len);

	assert_non_null(frame);
	send_and_expect_the_end(rig, frame, len);
	assert_int_equal(rig->b.received, 0);
	others_still_get_through(rig);
	free(frame);
}

static void unknown_control_record_ends_the_link(void **state)
{
	const uint8_t frame[] = { 4, 0, 0, 0x80, 99, 0, 0, 0 };

	send_and_expect_the_end(*state, frame, sizeof(frame));
}

static void packets_before_the_proof_end_the_link(void **state)
{
	uint8_t hello[sizeof(good_hello)], frame[16] = { 12 };
	struct rig *rig = *state;
	struct stranger s;

	strcpy(rig->cfg_b.secret, "sesame");
	memcpy(hello, good_hello, sizeof(hello));
	hello[5] = 1;
	stranger_open(&s);
	stranger_connect(&s, rig, hello, sizeof(hello));
	settle(&s, rig, &s.up);
	assert_true(s.up);
	assert_int_equal(fi_send(s.ep, frame, sizeof(frame), NULL, 0, NULL), 0);
	settle(&s, rig, &s.down);
	assert_true(s.down);
	assert_int_equal(rig->b.received, 0);
	stranger_close(&s);
}

/* Who knows no secret keeps no link, and the memory that goes with it, by saying nothing. */
static void link_without_a_proof_ends_by_itself(void **state)
{
	uint8_t hello[sizeof(good_hello)];
	struct rig *rig = *state;
	struct stranger s;

	strcpy(rig->cfg_b.secret, "sesame");
	memcpy(hello, good_hello, sizeof(hello));
	hello[5] = 1;
	stranger_open(&s);
	stranger_connect(&s, rig, hello, sizeof(hello));
	settle(&s, rig, &s.up);
	assert_true(s.up);
	rig_run_ms(rig, 1000);
	stranger_look(&s);
	assert_false(s.down);
	settle(&s, rig, &s.down);
	assert_true(s.down);
	stranger_close(&s);
}

static void wrong_hello_is_turned_away(void **state)
{
	struct rig *rig = *state;
	uint8_t hello[sizeof(good_hello)];
	const struct {
		size_t at;
		uint8_t value;
		size_t len;
	} rows[] = {
		{ 0, 'x', sizeof(hello) }, { 4, 77, sizeof(hello) }, { 5, 1, sizeof(hello) },
		{ 6, 0xff, sizeof(hello) }, { 0, 's', sizeof(hello) - 1 }, { 0, 's', 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stranger s;

		memcpy(hello, good_hello, sizeof(hello));
		hello[rows[i].at] = rows[i].value;
		stranger_open(&s);
		stranger_connect(&s, rig, hello, rows[i].len);
		settle(&s, rig, &s.up);
		assert_false(s.up);
		assert_true(s.down);
		stranger_close(&s);
	}
	others_still_get_through(rig);
}

/* One line for the life of the process, whatever strangers do. */
static void user_is_told_of_a_refusal_once(void **state)
{
	uint8_t hello[sizeof(good_hello)];
	struct rig *rig = *state;
	unsigned told = 0;

	memcpy(hello, good_hello, sizeof(hello));
	hello[5] = 1;
	for (int i = 0; i < 5; i++) {
		struct stranger s;

		stranger_open(&s);
		stranger_connect(&s, rig, hello, sizeof(hello));
		settle(&s, rig, &s.up);
		assert_true(s.down);
		told += wire_ofi_notice(rig->ofi_b) != NULL;
		stranger_close(&s);
	}
	assert_int_equal(told, 1);
}

/* One PONG is on its way at a time, however many are asked for and never read. */
static void flood_of_pings_is_bounded(void **state)
{
	enum { PINGS = 4000 };
	struct rig *rig = *state;
	uint8_t *frame = calloc(PINGS, 8);
	struct stranger s;

	assert_non_null(frame);
	for (int i = 0; i < PINGS; i++)
		memcpy(frame + 8 * i, (const uint8_t[]){ 4, 0, 0, 0x80, 1, 0, 0, 0 }, 8);
	stranger_open(&s);
	stranger_connect(&s, rig, good_hello, sizeof(good_hello));
	settle(&s, rig, &s.up);
	assert_true(s.up);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(fi_send(s.ep, frame, PINGS * 8, NULL, 0, NULL), 0);
		rig_run_ms(rig, 2);
	}
	others_still_get_through(rig);
	stranger_close(&s);
	free(frame);
}

/* The provider's own connection protocol, broken off at every length. */
static void connection_that_says_half_a_word_stops_nobody(void **state)
{
	static const struct in6_addr ip = { .s6_addr = { [10] = 0xff, 0xff, 127, 0, 0, 1 } };
	static const uint8_t request[80] = { 3, 0, 0, 60 };
	struct rig *rig = *state;
	union ofi_sockaddr addr;
	int fd[sizeof(request)];

	ofi_sockaddr_set(&addr, &ip, 0, (uint16_t)(rig->cfg_b.port_base + rig->slot_b));
	for (size_t i = 0; i < sizeof(request); i++) {
		fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_true(fd[i] >= 0);
		assert_int_equal(connect(fd[i], &addr.sa, sizeof(addr.in)), 0);
		assert_int_equal(send(fd[i], request, i, MSG_NOSIGNAL), i);
		alarm(30);
		rig_run_ms(rig, 1);
	}
	others_still_get_through(rig);
	for (size_t i = 0; i < sizeof(request); i++)
		close(fd[i]);
	rig_run_ms(rig, 5);
	others_still_get_through(rig);
	assert_int_equal(rig->b.received, 2);
	alarm(0);
}

/* A link costs memory and a descriptor: a peer gets no more by asking for more. */
static void third_link_of_one_peer_ends_the_first(void **state)
{
	uint8_t other_hello[sizeof(good_hello)];
	struct rig *rig = *state;
	struct stranger s[4], other;

	memcpy(other_hello, good_hello, sizeof(other_hello));
	other_hello[7] = 61;
	stranger_open(&other);
	stranger_connect(&other, rig, other_hello, sizeof(other_hello));
	settle(&other, rig, &other.up);
	for (int i = 0; i < 4; i++) {
		stranger_open(&s[i]);
		stranger_connect(&s[i], rig, good_hello, sizeof(good_hello));
		settle(&s[i], rig, &s[i].up);
		assert_true(s[i].up);
		assert_in_range(rig->ofi_b->incoming, 2, 3);
	}
	settle(&s[0], rig, &s[0].down);
	settle(&s[1], rig, &s[1].down);
	for (int i = 0; i < 4; i++) {
		stranger_look(&s[i]);
		assert_int_equal(s[i].down, i < 2);
		stranger_close(&s[i]);
	}
	stranger_look(&other);
	assert_false(other.down);
	stranger_close(&other);
	others_still_get_through(rig);
}

/* Who knows no secret does not push out who has shown that he knows it. */
static void link_without_a_proof_displaces_only_its_like(void **state)
{
	uint8_t hello[sizeof(good_hello)];
	struct rig *rig = *state;
	struct ofi_link *link;
	struct stranger s[4];
	unsigned up = 0;

	strcpy(rig->cfg_b.secret, "sesame");
	memcpy(hello, good_hello, sizeof(hello));
	hello[5] = 1;
	for (int i = 0; i < 4; i++) {
		stranger_open(&s[i]);
		stranger_connect(&s[i], rig, hello, sizeof(hello));
		settle(&s[i], rig, &s[i].up);
		assert_true(s[i].up);
		/* As if it had proven it. */
		TAILQ_FOREACH(link, &rig->ofi_b->links, entry)
			if (i < 2 && link->state == OFI_LINK_OPENING) {
				link->state = OFI_LINK_UP;
				rig->ofi_b->opening--;
			}
	}
	stranger_look(&s[3]);
	TAILQ_FOREACH(link, &rig->ofi_b->links, entry)
		up += link->state == OFI_LINK_UP;
	assert_int_equal(up, 2);
	assert_int_equal(rig->ofi_b->incoming, 4);
	for (int i = 0; i < 4; i++)
		stranger_close(&s[i]);
}

static void full_house_turns_away(void **state)
{
	struct rig *rig = *state;
	struct stranger s;

	rig->ofi_b->incoming += OFI_INCOMING_MAX;
	stranger_open(&s);
	stranger_connect(&s, rig, good_hello, sizeof(good_hello));
	settle(&s, rig, &s.up);
	assert_false(s.up);
	assert_true(s.down);
	stranger_close(&s);
	rig->ofi_b->incoming -= OFI_INCOMING_MAX;
	others_still_get_through(rig);
}

/* ---- want of resources ---------------------------------------------------------- */

static struct fi_ops_domain *real_domain;
static struct fi_ops broken_ops;
static unsigned made, rejected;

static int count_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t len)
{
	rejected++;
	return 0;
}

static int refuse_to_enable(fid_t fid, int command, void *arg)
{
	return -FI_ENOMEM;
}

static int make_broken_endpoint(struct fid_domain *domain, struct fi_info *info,
				struct fid_ep **ep, void *context)
{
	int ret = real_domain->endpoint(domain, info, ep, context);

	if (ret)
		return ret;
	made++;
	broken_ops = *(*ep)->fid.ops;
	broken_ops.control = refuse_to_enable;
	(*ep)->fid.ops = &broken_ops;
	return 0;
}

/* The endpoint has swallowed the request's handle: to reject that too would free it twice. */
static void endpoint_that_cannot_be_enabled_only_ends_its_link(void **state)
{
	struct rig *rig = *state;
	struct fid_domain *domain = rig->ofi_b->fabric.domain;
	struct fi_ops_domain broken = *domain->ops;
	struct fid_pep *pep = rig->ofi_b->listener[0].pep;
	struct fi_ops_cm *real_cm = pep->cm, cm = *pep->cm;
	struct stranger s;

	real_domain = domain->ops;
	cm.reject = count_reject;
	pep->cm = &cm;
	rejected = 0;
	broken.endpoint = make_broken_endpoint;
	made = 0;
	domain->ops = &broken;
	stranger_open(&s);
	stranger_connect(&s, rig, good_hello, sizeof(good_hello));
	settle(&s, rig, &s.up);
	domain->ops = real_domain;
	pep->cm = real_cm;
	assert_int_equal(rejected, 0);
	assert_int_equal(made, 1);
	assert_false(s.up);
	assert_true(s.down);
	stranger_close(&s);
	others_still_get_through(rig);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, rig_ofi, rig_free)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(record_that_leaves_its_frame_ends_the_link),
		CASE(good_records_before_the_bad_one_count),
		CASE(frame_shorter_than_a_record_ends_the_link),
		CASE(frame_longer_than_any_ends_the_link),
		CASE(unknown_control_record_ends_the_link),
		CASE(packets_before_the_proof_end_the_link),
		CASE(link_without_a_proof_ends_by_itself),
		CASE(wrong_hello_is_turned_away),
		CASE(user_is_told_of_a_refusal_once),
		CASE(flood_of_pings_is_bounded),
		CASE(connection_that_says_half_a_word_stops_nobody),
		CASE(third_link_of_one_peer_ends_the_first),
		CASE(link_without_a_proof_displaces_only_its_like),
		CASE(full_house_turns_away),
		CASE(endpoint_that_cannot_be_enabled_only_ends_its_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
