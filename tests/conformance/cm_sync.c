/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids without a channel, whose calls block, and what <rdma/rdma_verbs.h> builds
 * on them: rdma_create_ep, rdma_get_request, rdma_get_recv_comp and its like.
 */
#include "cm.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define LEN 64

struct peer {
	pthread_t thread;
	char port[8];
	int qp_type; /* 0: RC */
	atomic_bool may_end;
	atomic_bool disconnected;
};

static struct ibv_qp_init_attr qp_attr(void)
{
	return (struct ibv_qp_init_attr){
		.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_all = 1,
	};
}

static struct rdma_addrinfo *resolve(const char *port, int flags, int qp_type)
{
	struct rdma_addrinfo hints = {
		.ai_flags = flags,
		.ai_port_space = RDMA_PS_TCP,
		.ai_qp_type = qp_type,
	};
	struct rdma_addrinfo *res;

	assert_int_equal(rdma_getaddrinfo(ip(), port, &hints, &res), 0);
	return res;
}

static struct rdma_cm_id *listening_ep(struct peer *peer)
{
	struct rdma_addrinfo *res = resolve("0", RAI_PASSIVE, peer->qp_type);
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_ep(&id, res, NULL, &attr), 0);
	rdma_freeaddrinfo(res);
	assert_int_equal(rdma_listen(id, 0), 0);
	snprintf(peer->port, sizeof(peer->port), "%u", ntohs(rdma_get_src_port(id)));
	return id;
}

/* The other side: connects, sends one message, waits, disconnects. */
static void *send_one(void *arg)
{
	struct peer *peer = arg;
	struct rdma_addrinfo *res = resolve(peer->port, 0, peer->qp_type);
	struct ibv_qp_init_attr attr = qp_attr();
	static char buf[LEN] = "hello";
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	assert_int_equal(rdma_create_ep(&id, res, NULL, &attr), 0);
	rdma_freeaddrinfo(res);
	mr = rdma_reg_msgs(id, buf, sizeof(buf));
	assert_int_equal(rdma_connect(id, NULL), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	usleep(100000); /* the server is to be blocked by now: that it wakes is the test */
	assert_int_equal(rdma_post_send(id, (void *)0x77, buf, 20, mr, 0), 0);
	assert_int_equal(rdma_get_send_comp(id, &wc), 1);
	assert_int_equal(wc.wr_id, 0x77);
	while (!atomic_load(&peer->may_end))
		usleep(1000);
	rdma_disconnect(id);
	atomic_store(&peer->disconnected, true);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	return NULL;
}

struct session {
	struct peer peer;
	struct rdma_cm_id *listener, *id;
	char buf[2 * LEN];
	struct ibv_mr *mr;
};

/* Two receives posted, connected. */
static void start_as(struct session *s, int qp_type)
{
	*s = (struct session){.peer.qp_type = qp_type};
	s->listener = listening_ep(&s->peer);
	assert_int_equal(pthread_create(&s->peer.thread, NULL, send_one, &s->peer), 0);
	assert_int_equal(rdma_get_request(s->listener, &s->id), 0);
	assert_non_null(s->id->qp);
	assert_int_equal(s->id->event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	s->mr = rdma_reg_msgs(s->id, s->buf, sizeof(s->buf));
	assert_int_equal(rdma_post_recv(s->id, (void *)0x55, s->buf, LEN, s->mr), 0);
	assert_int_equal(rdma_post_recv(s->id, (void *)0x56, s->buf + LEN, LEN, s->mr), 0);
	assert_int_equal(rdma_accept(s->id, NULL), 0);
	assert_int_equal(s->id->event->event, RDMA_CM_EVENT_ESTABLISHED);
}

static void start(struct session *s)
{
	start_as(s, 0);
}

static void end(struct session *s)
{
	atomic_store(&s->peer.may_end, true);
	rdma_disconnect(s->id);
	assert_int_equal(pthread_join(s->peer.thread, NULL), 0);
	rdma_dereg_mr(s->mr);
	rdma_destroy_ep(s->id);
	rdma_destroy_ep(s->listener);
}

static void get_recv_comp_blocks_until_a_message_comes(void **state)
{
	struct session s;
	struct ibv_wc wc;

	start(&s);
	assert_int_equal(rdma_get_recv_comp(s.id, &wc), 1);
	assert_int_equal(wc.wr_id, 0x55);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 20);
	assert_string_equal(s.buf, "hello");
	end(&s);
}

static void an_unreliable_connection_carries_messages(void **state)
{
	struct session s;
	struct ibv_wc wc;

	start_as(&s, IBV_QPT_UC);
	assert_int_equal(s.id->qp->qp_type, IBV_QPT_UC);
	assert_int_equal(rdma_get_recv_comp(s.id, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_string_equal(s.buf, "hello");
	end(&s);
}

static void an_id_without_cqs_gets_its_own(void **state)
{
	struct session s;
	struct ibv_wc wc;

	start(&s);
	assert_non_null(s.id->send_cq);
	assert_non_null(s.id->recv_cq);
	assert_ptr_not_equal(s.id->send_cq, s.id->recv_cq);
	assert_ptr_not_equal(s.id->send_cq_channel, s.id->recv_cq_channel);
	assert_ptr_equal(s.id->recv_cq->cq_context, s.id);
	assert_ptr_equal(s.id->send_cq->cq_context, s.id);
	assert_ptr_equal(s.id->recv_cq->channel, s.id->recv_cq_channel);
	assert_int_equal(rdma_get_recv_comp(s.id, &wc), 1);
	end(&s);
}

struct reader {
	pthread_t thread;
	struct rdma_cm_id *id;
	struct ibv_wc wc;
	atomic_bool done;
	int ret, error;
};

static void *read_completion(void *arg)
{
	struct reader *r = arg;

	r->ret = rdma_get_recv_comp(r->id, &r->wc);
	r->error = errno;
	atomic_store(&r->done, true);
	return NULL;
}

static void the_peers_disconnect_does_not_wake_get_recv_comp_but_ones_own_does(void **state)
{
	struct reader r = {0};
	struct session s;
	struct ibv_wc wc;

	start(&s);
	assert_int_equal(rdma_get_recv_comp(s.id, &wc), 1);
	r.id = s.id;
	assert_int_equal(pthread_create(&r.thread, NULL, read_completion, &r), 0);
	atomic_store(&s.peer.may_end, true);
	usleep(300000);
	assert_false(atomic_load(&r.done));
	assert_int_equal(rdma_disconnect(s.id), 0);
	assert_int_equal(pthread_join(r.thread, NULL), 0);
	assert_int_equal(r.ret, 1);
	assert_int_equal(r.wc.wr_id, 0x56);
	assert_int_equal(r.wc.status, IBV_WC_WR_FLUSH_ERR);
	end(&s);
}

static void do_nothing(int sig)
{
}

static void a_signal_ends_get_recv_comp(void **state)
{
	struct sigaction act = {.sa_handler = do_nothing}, old;
	struct reader r = {0};
	struct session s;
	struct ibv_wc wc;

	start(&s);
	assert_int_equal(rdma_get_recv_comp(s.id, &wc), 1);
	assert_int_equal(sigaction(SIGUSR1, &act, &old), 0);
	r.id = s.id;
	assert_int_equal(pthread_create(&r.thread, NULL, read_completion, &r), 0);
	for (int i = 0; i < 500 && !atomic_load(&r.done); i++) {
		usleep(10000);
		pthread_kill(r.thread, SIGUSR1);
	}
	assert_int_equal(pthread_join(r.thread, NULL), 0);
	assert_int_equal(r.ret, -1);
	assert_int_equal(r.error, EINTR);
	sigaction(SIGUSR1, &old, NULL);
	end(&s);
}

static void a_refused_connect_says_econnrefused(void **state)
{
	struct peer peer = {0};
	struct rdma_cm_id *listener = listening_ep(&peer), *id;
	struct rdma_addrinfo *res = resolve(peer.port, 0, 0);
	struct ibv_qp_init_attr attr = qp_attr();

	rdma_destroy_ep(listener);
	assert_int_equal(rdma_create_ep(&id, res, NULL, &attr), 0);
	rdma_freeaddrinfo(res);
	assert_fails(rdma_connect(id, NULL), ECONNREFUSED);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(id->event->status, 8);
	rdma_destroy_ep(id);
}

static void get_request_is_for_ids_without_a_channel(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 1);
	struct rdma_cm_id *id;

	assert_fails(rdma_get_request(e.listener, &id), EINVAL);
	finish(&e);
}

static void memory_helpers_ask_for_the_right_access(void **state)
{
	struct ends e = connected(NULL);
	char buf[2][LEN] = {"source", ""};
	struct ibv_mr *local, *remote;
	struct ibv_wc wc;

	local = rdma_reg_msgs(e.active, buf[0], LEN);
	remote = rdma_reg_write(e.passive, buf[1], LEN);
	assert_int_equal(rdma_post_write(e.active, (void *)1, buf[0], 7, local, 0,
	                                 (uintptr_t)buf[1], remote->rkey),
	                 0);
	assert_int_equal(rdma_get_send_comp(e.active, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_string_equal(buf[1], "source");
	assert_int_equal(rdma_dereg_mr(remote), 0);
	remote = rdma_reg_read(e.passive, buf[1], LEN);
	assert_int_equal(rdma_post_read(e.active, (void *)2, buf[0] + 32, 7, local, 0,
	                                (uintptr_t)buf[1], remote->rkey),
	                 0);
	assert_int_equal(rdma_get_send_comp(e.active, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_string_equal(buf[0] + 32, "source");
	assert_int_equal(rdma_post_write(e.active, (void *)3, buf[0], 7, local, 0,
	                                 (uintptr_t)buf[1], remote->rkey),
	                 0);
	assert_int_equal(rdma_get_send_comp(e.active, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
	rdma_dereg_mr(local);
	rdma_dereg_mr(remote);
	finish(&e);
}

static void addrinfo_without_hints_is_for_a_tcp_client(void **state)
{
	struct rdma_addrinfo *res;

	assert_int_equal(rdma_getaddrinfo("127.0.0.1", "7471", NULL, &res), 0);
	assert_int_equal(res->ai_family, AF_INET);
	assert_int_equal(res->ai_qp_type, IBV_QPT_RC);
	assert_int_equal(res->ai_port_space, RDMA_PS_TCP);
	assert_int_equal(res->ai_flags, 0);
	assert_int_equal(res->ai_src_len, 0);
	assert_int_equal(res->ai_dst_len, sizeof(struct sockaddr_in));
	assert_null(res->ai_next);
	rdma_freeaddrinfo(res);
}

static void addrinfo_follows_its_hints(void **state)
{
	struct sockaddr_in src = address(0);
	struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_UDP}, *res;

	assert_int_equal(rdma_getaddrinfo(NULL, "7471", &hints, &res), 0);
	assert_true(res->ai_src_len > 0);
	assert_int_equal(res->ai_dst_len, 0);
	assert_int_equal(res->ai_qp_type, IBV_QPT_UD);
	assert_int_equal(res->ai_port_space, RDMA_PS_UDP);
	assert_int_equal(res->ai_flags, RAI_PASSIVE);
	rdma_freeaddrinfo(res);
	hints = (struct rdma_addrinfo){
		.ai_flags = RAI_NUMERICHOST,
		.ai_src_addr = (struct sockaddr *)&src,
		.ai_src_len = sizeof(src),
	};
	assert_int_equal(rdma_getaddrinfo("127.0.0.1", "7471", &hints, &res), 0);
	assert_int_equal(res->ai_src_len, sizeof(src));
	assert_memory_equal(res->ai_src_addr, &src, sizeof(src));
	rdma_freeaddrinfo(res);
	assert_int_equal(rdma_getaddrinfo("nosuch.example", "7471", &hints, &res), -2);
	assert_fails(rdma_getaddrinfo(NULL, NULL, NULL, &res), EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(get_recv_comp_blocks_until_a_message_comes),
		TEST(an_unreliable_connection_carries_messages),
		TEST(an_id_without_cqs_gets_its_own),
		TEST(the_peers_disconnect_does_not_wake_get_recv_comp_but_ones_own_does),
		TEST(a_signal_ends_get_recv_comp),
		TEST(a_refused_connect_says_econnrefused),
		TEST(get_request_is_for_ids_without_a_channel),
		TEST(memory_helpers_ask_for_the_right_access),
		TEST(addrinfo_without_hints_is_for_a_tcp_client),
		TEST(addrinfo_follows_its_hints),
	};

	return RUN(tests);
}
