/* SPDX-License-Identifier: BSD-2-Clause */
/* Wrong calls of rdma_cm: -1, the errno that the kernel gives, nothing else happens. */
#include "cm.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static struct rdma_cm_id *new_id(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	return id;
}

static int bind_to(struct rdma_cm_id *id, const char *where, uint16_t port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = port};

	assert_int_equal(inet_pton(AF_INET, where, &sin.sin_addr), 1);
	return rdma_bind_addr(id, (struct sockaddr *)&sin);
}

static void an_unknown_port_space_is_refused(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	assert_fails(rdma_create_id(channel, &id, NULL, (enum rdma_port_space)0x999), EINVAL);
	rdma_destroy_event_channel(channel);
}

static void an_unbound_id_can_only_be_bound(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(channel);
	struct rdma_conn_param param = plain_param();
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, 0}};

	assert_fails(rdma_connect(id, &param), EINVAL);
	assert_fails(rdma_accept(id, &param), EINVAL);
	assert_fails(rdma_reject(id, NULL, 0), EINVAL);
	assert_fails(rdma_disconnect(id), EINVAL);
	assert_fails(rdma_resolve_route(id, 100), EINVAL);
	assert_fails(rdma_create_qp(id, NULL, &attr), EINVAL);
	assert_fails(rdma_establish(id), EINVAL);
	assert_fails(rdma_notify(id, IBV_EVENT_COMM_EST), EINVAL);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static void addresses_are_bound_once_and_only_own_ones(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *a = new_id(channel), *b = new_id(channel);
	struct rdma_conn_param param = plain_param();

	assert_fails(bind_to(a, "192.0.2.77", 0), EADDRNOTAVAIL);
	assert_int_equal(bind_to(a, ip(), 0), 0);
	assert_non_null(a->verbs);
	assert_fails(bind_to(a, ip(), 0), EINVAL);
	assert_fails(bind_to(b, ip(), rdma_get_src_port(a)), EADDRINUSE);
	assert_fails(bind_to(b, "0.0.0.0", rdma_get_src_port(a)), EADDRINUSE);
	assert_fails(rdma_connect(a, &param), EINVAL);
	assert_int_equal(rdma_destroy_id(a), 0);
	assert_int_equal(bind_to(b, "0.0.0.0", 0), 0);
	assert_null(b->verbs);
	assert_int_equal(rdma_destroy_id(b), 0);
	rdma_destroy_event_channel(channel);
}

static void a_port_is_free_again_when_its_id_is_destroyed(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(channel);
	uint16_t port;

	assert_int_equal(bind_to(id, ip(), 0), 0);
	port = rdma_get_src_port(id);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rdma_listen(id, 1), 0);
		assert_int_equal(rdma_destroy_id(id), 0);
		id = new_id(channel);
		assert_int_equal(bind_to(id, ip(), port), 0);
	}
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static void a_program_may_hold_the_tcp_port_of_the_same_number(void **state)
{
	struct sockaddr_in sin = address(0);
	socklen_t len = sizeof(sin);
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(channel);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
	assert_int_equal(rdma_bind_addr(id, (struct sockaddr *)&sin), 0);
	assert_int_equal(rdma_listen(id, 1), 0);
	close(fd);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static void listening_binds_an_unbound_id_and_works_once(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(channel);
	struct rdma_conn_param param = plain_param();

	assert_int_equal(rdma_listen(id, 1), 0);
	assert_int_not_equal(rdma_get_src_port(id), 0);
	assert_fails(rdma_listen(id, 1), EINVAL);
	assert_fails(rdma_connect(id, &param), EINVAL);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static void shared_ports_are_shared_until_one_listens(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *a = new_id(channel), *b = new_id(channel);
	int on = 1;

	assert_int_equal(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4), 0);
	assert_int_equal(rdma_set_option(b, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4), 0);
	assert_int_equal(bind_to(a, ip(), 0), 0);
	assert_int_equal(bind_to(b, ip(), rdma_get_src_port(a)), 0);
	assert_fails(rdma_listen(a, 1), EADDRINUSE);
	assert_int_equal(rdma_destroy_id(b), 0);
	assert_int_equal(rdma_listen(a, 1), 0);
	assert_int_equal(rdma_destroy_id(a), 0);
	rdma_destroy_event_channel(channel);
}

static void a_connected_id_takes_no_step_twice(void **state)
{
	struct ends e = connected(NULL);
	struct rdma_conn_param param = plain_param();
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, 0}};

	assert_fails(rdma_connect(e.active, &param), EINVAL);
	assert_fails(rdma_accept(e.passive, &param), EINVAL);
	assert_fails(rdma_reject(e.passive, NULL, 0), EINVAL);
	assert_fails(rdma_listen(e.active, 1), EINVAL);
	assert_fails(rdma_resolve_route(e.active, 100), EINVAL);
	assert_fails(rdma_create_qp(e.active, NULL, &attr), EINVAL);
	assert_fails(rdma_establish(e.active), EINVAL);
	assert_fails(rdma_notify(e.active, IBV_EVENT_COMM_EST), EISCONN);
	finish(&e);
}

static void depths_beyond_the_devices_are_refused(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct rdma_conn_param param = plain_param();
	struct ibv_device_attr attr;

	resolved(&e);
	make_qp(e.active);
	assert_int_equal(ibv_query_device(e.active->verbs, &attr), 0);
	if (attr.max_qp_rd_atom >= 254)
		skip();
	param.responder_resources = attr.max_qp_rd_atom + 1;
	assert_fails(rdma_connect(e.active, &param), EINVAL);
	param.responder_resources = RDMA_MAX_RESP_RES;
	param.initiator_depth = RDMA_MAX_INIT_DEPTH;
	assert_int_equal(rdma_connect(e.active, &param), 0);
	finish(&e);
}

static void options_are_checked(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(channel);
	uint8_t byte = 12;
	int word = 1;

	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &byte, 1), 0);
	assert_fails(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &word, 4), EINVAL);
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &word, 4), 0);
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1),
	                 0);
	assert_fails(rdma_set_option(id, RDMA_OPTION_ID, 99, &word, 4), ENOSYS);
	assert_fails(rdma_set_option(id, 99, 0, &word, 4), ENOSYS);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static void the_ack_timeout_option_reaches_the_qp(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct rdma_conn_param param = plain_param();
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	uint8_t timeout = 14;

	resolved(&e);
	assert_int_equal(
		rdma_set_option(e.active, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1), 0);
	make_qp(e.active);
	requested(&e, NULL);
	make_qp(e.passive);
	assert_int_equal(rdma_accept(e.passive, &param), 0);
	expect_event(e.client, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(ibv_query_qp(e.active->qp, &attr, IBV_QP_TIMEOUT, &init), 0);
	assert_int_equal(attr.timeout, 14);
	finish(&e);
}

static void ece_is_for_qps_of_the_programs_own(void **state)
{
	struct ends e = connected(NULL);
	struct ibv_ece ece = {0};

	assert_fails(rdma_set_local_ece(e.active, &ece), EINVAL);
	assert_fails(rdma_get_remote_ece(e.passive, &ece), EINVAL);
	finish(&e);
}

static void every_event_has_a_name(void **state)
{
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_ADDR_RESOLVED),
	                    "RDMA_CM_EVENT_ADDR_RESOLVED");
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT),
	                    "RDMA_CM_EVENT_TIMEWAIT_EXIT");
	assert_string_equal(rdma_event_str((enum rdma_cm_event_type)99), "UNKNOWN EVENT");
}

static void the_device_list_is_that_of_open_devices(void **state)
{
	struct ends e = connected(NULL);
	struct ibv_context **list;
	int n = 0;
	bool found = false;

	list = rdma_get_devices(&n);
	assert_non_null(list);
	assert_true(n > 0);
	assert_null(list[n]);
	for (int i = 0; i < n; i++)
		found |= list[i] == e.active->verbs;
	assert_true(found);
	rdma_free_devices(list);
	finish(&e);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(an_unknown_port_space_is_refused),
		TEST(an_unbound_id_can_only_be_bound),
		TEST(addresses_are_bound_once_and_only_own_ones),
		TEST(a_port_is_free_again_when_its_id_is_destroyed),
		TEST(a_program_may_hold_the_tcp_port_of_the_same_number),
		TEST(listening_binds_an_unbound_id_and_works_once),
		TEST(shared_ports_are_shared_until_one_listens),
		TEST(a_connected_id_takes_no_step_twice),
		TEST(depths_beyond_the_devices_are_refused),
		TEST(options_are_checked),
		TEST(the_ack_timeout_option_reaches_the_qp),
		TEST(ece_is_for_qps_of_the_programs_own),
		TEST(every_event_has_a_name),
		TEST(the_device_list_is_that_of_open_devices),
	};

	return RUN(tests);
}
