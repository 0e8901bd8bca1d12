/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of rdma_cm: events, parameters, private data, QP states, the end. */
#include "cm.h"

static void the_server_sees_the_parameters_swapped_and_its_own_context(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct rdma_conn_param param = plain_param();
	struct rdma_cm_event *event;

	e.listener->context = &e;
	resolved(&e);
	make_qp(e.active);
	assert_int_equal(rdma_connect(e.active, &param), 0);
	event = next_event(e.server, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	assert_ptr_equal(event->listen_id, e.listener);
	assert_ptr_equal(event->id->context, &e);
	assert_int_equal(event->status, 0);
	assert_int_equal(event->param.conn.responder_resources, 2);
	assert_int_equal(event->param.conn.initiator_depth, 3);
	assert_int_equal(event->param.conn.rnr_retry_count, 6);
	assert_int_equal(event->param.conn.retry_count, 5);
	assert_int_equal(event->param.conn.flow_control, 1);
	assert_int_equal(event->param.conn.srq, 0);
	assert_int_equal(event->param.conn.qp_num, e.active->qp->qp_num);
	rdma_ack_cm_event(event);
	finish(&e);
}

static void private_data_is_padded_with_zeros(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct rdma_conn_param param = plain_param();
	struct rdma_cm_event *event;

	param.private_data = "question";
	param.private_data_len = 8;
	resolved(&e);
	make_qp(e.active);
	assert_int_equal(rdma_connect(e.active, &param), 0);
	event = next_event(e.server, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	expect_padded(event->param.conn.private_data, event->param.conn.private_data_len,
	              "question", REQUEST_DATA);
	rdma_ack_cm_event(event);
	make_qp(e.passive);
	param.private_data = "answer";
	param.private_data_len = 6;
	assert_int_equal(rdma_accept(e.passive, &param), 0);
	event = next_event(e.client, RDMA_CM_EVENT_ESTABLISHED);
	expect_padded(event->param.conn.private_data, event->param.conn.private_data_len, "answer",
	              ACCEPT_DATA);
	assert_int_equal(event->param.conn.retry_count, 0);
	assert_int_equal(event->param.conn.responder_resources, 2);
	assert_int_equal(event->param.conn.initiator_depth, 3);
	assert_int_equal(event->param.conn.qp_num, e.passive->qp->qp_num);
	rdma_ack_cm_event(event);
	event = next_event(e.server, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(event->param.conn.private_data_len, 0);
	rdma_ack_cm_event(event);
	finish(&e);
}

static void more_private_data_than_fits_is_refused(void **state)
{
	static const char data[UINT8_MAX] = "x";
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct rdma_conn_param param = plain_param();
	struct rdma_cm_event *event;

	resolved(&e);
	make_qp(e.active);
	param.private_data = data;
	param.private_data_len = REQUEST_DATA + 1;
	assert_fails(rdma_connect(e.active, &param), EINVAL);
	requested(&e, NULL);
	make_qp(e.passive);
	param.private_data_len = ACCEPT_DATA + 1;
	assert_fails(rdma_accept(e.passive, &param), EINVAL);
	event = next_event(e.client, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->status, 28);
	rdma_ack_cm_event(event);
	finish(&e);
}

static void qps_follow_the_connection(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct rdma_conn_param param = plain_param();

	resolved(&e);
	make_qp(e.active);
	assert_int_equal(qp_state_of(e.active), IBV_QPS_INIT);
	requested(&e, NULL);
	make_qp(e.passive);
	assert_int_equal(qp_state_of(e.passive), IBV_QPS_INIT);
	assert_int_equal(rdma_accept(e.passive, &param), 0);
	assert_int_equal(qp_state_of(e.passive), IBV_QPS_RTS);
	assert_true(readable(e.client->fd, 5000));
	assert_int_equal(qp_state_of(e.active), IBV_QPS_INIT);
	expect_event(e.client, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(qp_state_of(e.active), IBV_QPS_RTS);
	finish(&e);
}

static void qps_get_rdma_cms_attributes(void **state)
{
	struct ends e = connected(NULL);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(e.active->qp, &attr, (IBV_QP_DEST_QPN << 1) - 1, &init), 0);
	assert_int_equal(attr.qp_access_flags, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
	                                               IBV_ACCESS_REMOTE_ATOMIC);
	assert_int_equal(attr.timeout, 19);
	assert_int_equal(attr.min_rnr_timer, 0);
	assert_int_equal(attr.retry_cnt, 5);
	assert_int_equal(attr.rnr_retry, 6);
	assert_int_equal(attr.max_dest_rd_atomic, 2);
	assert_int_equal(attr.max_rd_atomic, 3);
	assert_int_equal(attr.dest_qp_num, e.passive->qp->qp_num);
	finish(&e);
}

static void an_id_shows_its_addresses_and_its_route(void **state)
{
	struct ends e = connected(NULL);

	assert_int_equal(rdma_get_dst_port(e.active), e.port);
	assert_int_equal(rdma_get_src_port(e.passive), e.port);
	assert_int_equal(rdma_get_src_port(e.active), rdma_get_dst_port(e.passive));
	assert_int_not_equal(rdma_get_src_port(e.active), 0);
	assert_int_equal(rdma_get_local_addr(e.active)->sa_family, AF_INET);
	assert_int_equal(rdma_get_peer_addr(e.passive)->sa_family, AF_INET);
	assert_int_equal(e.active->route.num_paths, 1);
	assert_non_null(e.active->route.path_rec);
	assert_non_null(e.active->verbs);
	assert_ptr_equal(e.active->verbs, e.passive->verbs);
	assert_int_equal(e.active->port_num, 1);
	finish(&e);
}

static void rejection_carries_status_and_data_and_ends_the_qp(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct rdma_conn_param param = plain_param();
	struct rdma_cm_event *event;

	resolved(&e);
	make_qp(e.active);
	requested(&e, NULL);
	assert_int_equal(rdma_reject(e.passive, "no", 2), 0);
	event = next_event(e.client, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->status, 28);
	expect_padded(event->param.conn.private_data, event->param.conn.private_data_len, "no",
	              REJECT_DATA);
	rdma_ack_cm_event(event);
	assert_int_equal(qp_state_of(e.active), IBV_QPS_ERR);
	assert_fails(rdma_connect(e.active, &param), EINVAL);
	finish(&e);
}

static void no_listener_is_rejected_with_status_8(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct rdma_conn_param param = plain_param();
	struct rdma_cm_event *event;

	assert_int_equal(rdma_destroy_id(e.listener), 0);
	e.listener = NULL;
	resolved(&e);
	make_qp(e.active);
	assert_int_equal(rdma_connect(e.active, &param), 0);
	event = next_event(e.client, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->status, 8);
	rdma_ack_cm_event(event);
	finish(&e);
}

static void a_destroyed_listener_rejects_what_nobody_has_read(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct rdma_conn_param param = plain_param();
	struct rdma_cm_event *event;

	resolved(&e);
	make_qp(e.active);
	assert_int_equal(rdma_connect(e.active, &param), 0);
	assert_true(readable(e.server->fd, 5000));
	assert_int_equal(rdma_destroy_id(e.listener), 0);
	e.listener = NULL;
	event = next_event(e.client, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->status, 28);
	rdma_ack_cm_event(event);
	expect_no_event(e.server, 0);
	finish(&e);
}

static void a_request_that_was_read_outlives_its_listener(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct rdma_conn_param param = plain_param();

	resolved(&e);
	make_qp(e.active);
	requested(&e, NULL);
	assert_int_equal(rdma_destroy_id(e.listener), 0);
	e.listener = NULL;
	make_qp(e.passive);
	assert_int_equal(rdma_accept(e.passive, &param), 0);
	expect_event(e.client, RDMA_CM_EVENT_ESTABLISHED);
	expect_event(e.server, RDMA_CM_EVENT_ESTABLISHED);
	finish(&e);
}

static void a_destroyed_request_is_rejected(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct rdma_cm_event *event;

	resolved(&e);
	make_qp(e.active);
	requested(&e, NULL);
	assert_int_equal(rdma_destroy_id(e.passive), 0);
	e.passive = NULL;
	event = next_event(e.client, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->status, 28);
	rdma_ack_cm_event(event);
	finish(&e);
}

static void disconnect_ends_ones_own_qp_and_tells_the_other_side(void **state)
{
	struct ends e = connected(NULL);

	assert_int_equal(rdma_disconnect(e.active), 0);
	assert_int_equal(qp_state_of(e.active), IBV_QPS_ERR);
	expect_event(e.server, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(qp_state_of(e.passive), IBV_QPS_RTS);
	assert_int_equal(rdma_disconnect(e.passive), 0);
	assert_int_equal(qp_state_of(e.passive), IBV_QPS_ERR);
	expect_event(e.client, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(rdma_disconnect(e.active), 0);
	finish(&e);
}

static void timewait_ends_with_an_event_on_both_sides(void **state)
{
	struct ends e = connected(NULL);

	assert_int_equal(rdma_disconnect(e.active), 0);
	expect_event(e.server, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(rdma_disconnect(e.passive), 0);
	expect_event(e.client, RDMA_CM_EVENT_DISCONNECTED);
	expect_event(e.client, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	expect_event(e.server, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	finish(&e);
}

static void destroying_a_connected_id_disconnects(void **state)
{
	struct ends e = connected(NULL);

	rdma_destroy_qp(e.active);
	assert_int_equal(rdma_destroy_id(e.active), 0);
	e.active = NULL;
	expect_event(e.server, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(qp_state_of(e.passive), IBV_QPS_RTS);
	finish(&e);
}

static void a_connection_without_qps_of_its_own_is_established_by_the_program(void **state)
{
	struct ends e = listening(RDMA_PS_TCP, 4);
	struct rdma_conn_param param = plain_param();
	struct rdma_cm_event *event;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	int mask;

	resolved(&e);
	param.qp_num = 0x55;
	assert_int_equal(rdma_connect(e.active, &param), 0);
	event = next_event(e.server, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	assert_int_equal(event->param.conn.qp_num, 0x55);
	rdma_ack_cm_event(event);
	param.qp_num = 0x66;
	assert_int_equal(rdma_accept(e.passive, &param), 0);
	event = next_event(e.client, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(event->param.conn.qp_num, 0x66);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_init_qp_attr(e.active, &attr, &mask), 0);
	assert_int_equal(attr.dest_qp_num, 0x66);
	assert_int_equal(mask, RTR_MASK);
	assert_int_equal(rdma_establish(e.active), 0);
	expect_event(e.server, RDMA_CM_EVENT_ESTABLISHED);
	finish(&e);
}

static void data_flows_both_ways(void **state)
{
	struct ends e = connected(NULL);
	char buf[2][64] = {"there", ""};
	struct ibv_mr *mr[2];
	struct ibv_wc wc;

	mr[0] = rdma_reg_msgs(e.active, buf[0], sizeof(buf[0]));
	mr[1] = rdma_reg_msgs(e.passive, buf[1], sizeof(buf[1]));
	assert_int_equal(rdma_post_recv(e.passive, (void *)7, buf[1], 64, mr[1]), 0);
	assert_int_equal(rdma_post_send(e.active, (void *)8, buf[0], 6, mr[0], 0), 0);
	assert_int_equal(rdma_get_recv_comp(e.passive, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_string_equal(buf[1], "there");
	assert_int_equal(rdma_get_send_comp(e.active, &wc), 1);
	assert_int_equal(wc.wr_id, 8);
	assert_int_equal(rdma_dereg_mr(mr[0]), 0);
	assert_int_equal(rdma_dereg_mr(mr[1]), 0);
	finish(&e);
}

static void an_srq_of_an_id_gets_what_its_qp_receives(void **state)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct rdma_conn_param plain = plain_param();
	struct ends e = listening(RDMA_PS_TCP, 4);
	char buf[2][64] = {"there", ""};
	struct ibv_mr *mr[2];
	struct ibv_wc wc;

	resolved(&e);
	make_qp(e.active);
	requested(&e, NULL);
	assert_int_equal(rdma_create_srq(e.passive, NULL, &attr), 0);
	assert_non_null(e.passive->srq);
	make_qp(e.passive);
	assert_ptr_equal(e.passive->qp->srq, e.passive->srq);
	mr[0] = rdma_reg_msgs(e.active, buf[0], sizeof(buf[0]));
	mr[1] = rdma_reg_msgs(e.passive, buf[1], sizeof(buf[1]));
	assert_int_equal(rdma_post_recv(e.passive, (void *)7, buf[1], 64, mr[1]), 0);
	assert_int_equal(rdma_accept(e.passive, &plain), 0);
	expect_event(e.client, RDMA_CM_EVENT_ESTABLISHED);
	expect_event(e.server, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(rdma_post_send(e.active, (void *)8, buf[0], 6, mr[0], 0), 0);
	assert_int_equal(rdma_get_recv_comp(e.passive, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, 7);
	assert_string_equal(buf[1], "there");
	assert_int_equal(rdma_dereg_mr(mr[0]), 0);
	assert_int_equal(rdma_dereg_mr(mr[1]), 0);
	rdma_destroy_qp(e.passive);
	rdma_destroy_srq(e.passive);
	assert_null(e.passive->srq);
	finish(&e);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(the_server_sees_the_parameters_swapped_and_its_own_context),
		TEST(private_data_is_padded_with_zeros),
		TEST(more_private_data_than_fits_is_refused),
		TEST(qps_follow_the_connection),
		TEST(qps_get_rdma_cms_attributes),
		TEST(an_id_shows_its_addresses_and_its_route),
		TEST(rejection_carries_status_and_data_and_ends_the_qp),
		TEST(no_listener_is_rejected_with_status_8),
		TEST(a_destroyed_listener_rejects_what_nobody_has_read),
		TEST(a_request_that_was_read_outlives_its_listener),
		TEST(a_destroyed_request_is_rejected),
		TEST(disconnect_ends_ones_own_qp_and_tells_the_other_side),
		TEST(timewait_ends_with_an_event_on_both_sides),
		TEST(destroying_a_connected_id_disconnects),
		TEST(a_connection_without_qps_of_its_own_is_established_by_the_program),
		TEST(data_flows_both_ways),
		TEST(an_srq_of_an_id_gets_what_its_qp_receives),
	};

	return RUN(tests);
}
