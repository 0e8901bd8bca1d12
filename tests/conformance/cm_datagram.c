/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagram services of rdma_cm: looking a QP up, address handles, multicast groups. */
#include "cm.h"

#include <arpa/inet.h>

#define GRH 40
#define LEN 64

static void look_up(struct ends *e, const char *data)
{
	struct rdma_conn_param param = {.private_data = data, .private_data_len = strlen(data)};

	resolved(e);
	make_qp(e->active);
	assert_int_equal(rdma_connect(e->active, &param), 0);
}

static void a_look_up_brings_number_and_key_of_the_qp(void **state)
{
	struct ends e = listening(RDMA_PS_UDP, 4);
	struct rdma_conn_param param = {.private_data = "here", .private_data_len = 4};
	struct rdma_cm_event *event;

	look_up(&e, "where?");
	event = next_event(e.server, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	expect_padded(event->param.ud.private_data, event->param.ud.private_data_len, "where?", 180);
	assert_int_equal(event->param.ud.qp_num, 0);
	rdma_ack_cm_event(event);
	make_qp(e.passive);
	assert_int_equal(qp_state_of(e.passive), IBV_QPS_RTS);
	assert_int_equal(rdma_accept(e.passive, &param), 0);
	event = next_event(e.client, RDMA_CM_EVENT_ESTABLISHED);
	expect_padded(event->param.ud.private_data, event->param.ud.private_data_len, "here", 136);
	assert_int_equal(event->param.ud.qp_num, e.passive->qp->qp_num);
	assert_int_equal(event->param.ud.qkey, RDMA_UDP_QKEY);
	assert_int_equal(event->param.ud.ah_attr.is_global, 1);
	assert_int_equal(event->param.ud.ah_attr.port_num, 1);
	rdma_ack_cm_event(event);
	expect_no_event(e.server, 50);
	finish(&e);
}

static void a_refused_look_up_is_unreachable(void **state)
{
	struct ends e = listening(RDMA_PS_UDP, 4);
	struct rdma_cm_event *event;

	look_up(&e, "");
	event = next_event(e.server, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_reject(e.passive, "no", 2), 0);
	event = next_event(e.client, RDMA_CM_EVENT_UNREACHABLE);
	assert_int_equal(event->status, 2);
	rdma_ack_cm_event(event);
	finish(&e);
}

static void post_receive(struct rdma_cm_id *id, void *buf, struct ibv_mr *mr)
{
	assert_int_equal(rdma_post_recv(id, buf, buf, GRH + LEN, mr), 0);
}

static void a_datagram_goes_there_and_an_answer_comes_back(void **state)
{
	struct ends e = listening(RDMA_PS_UDP, 4);
	struct rdma_conn_param param = {0};
	char buf[2][GRH + LEN] = {{0}};
	struct rdma_cm_event *event;
	struct ibv_mr *mr[2];
	struct ibv_ah *ah, *back;
	struct ibv_wc wc;
	uint32_t qpn;

	look_up(&e, "");
	event = next_event(e.server, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	rdma_ack_cm_event(event);
	make_qp(e.passive);
	mr[0] = rdma_reg_msgs(e.active, buf[0], sizeof(buf[0]));
	mr[1] = rdma_reg_msgs(e.passive, buf[1], sizeof(buf[1]));
	post_receive(e.passive, buf[1], mr[1]);
	post_receive(e.active, buf[0], mr[0]);
	assert_int_equal(rdma_accept(e.passive, &param), 0);
	event = next_event(e.client, RDMA_CM_EVENT_ESTABLISHED);
	ah = ibv_create_ah(e.active->pd, &event->param.ud.ah_attr);
	assert_non_null(ah);
	qpn = event->param.ud.qp_num;
	rdma_ack_cm_event(event);

	strcpy(buf[0], "ping");
	assert_int_equal(rdma_post_ud_send(e.active, NULL, buf[0], 5, mr[0], IBV_SEND_SIGNALED, ah,
	                                   qpn),
	                 0);
	assert_int_equal(rdma_get_send_comp(e.active, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(rdma_get_recv_comp(e.passive, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, GRH + 5);
	assert_string_equal(buf[1] + GRH, "ping");
	assert_int_equal(wc.src_qp, e.active->qp->qp_num);
	assert_true(wc.wc_flags & IBV_WC_GRH);

	back = ibv_create_ah_from_wc(e.passive->pd, &wc, (struct ibv_grh *)buf[1], 1);
	assert_non_null(back);
	assert_int_equal(rdma_post_ud_send(e.passive, NULL, buf[1] + GRH, 5, mr[1],
	                                   IBV_SEND_SIGNALED, back, wc.src_qp),
	                 0);
	assert_int_equal(rdma_get_recv_comp(e.active, &wc), 1);
	assert_string_equal(buf[0] + GRH, "ping");
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_ah(back), 0);
	rdma_dereg_mr(mr[0]);
	rdma_dereg_mr(mr[1]);
	finish(&e);
}

/* A datagram id on the device, with a QP. */
static struct rdma_cm_id *member(struct rdma_event_channel *channel)
{
	struct sockaddr_in sin = address(0);
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_UDP), 0);
	assert_int_equal(rdma_bind_addr(id, (struct sockaddr *)&sin), 0);
	make_qp(id);
	return id;
}

static void forget(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static struct sockaddr_in group(void)
{
	struct sockaddr_in sin = {.sin_family = AF_INET};

	inet_pton(AF_INET, "239.1.2.3", &sin.sin_addr);
	return sin;
}

static void members_of_a_group_get_what_is_sent_to_it(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *a = member(channel), *b = member(channel);
	struct sockaddr_in to = group();
	char buf[2][GRH + LEN] = {{0}};
	struct rdma_cm_event *event;
	struct ibv_mr *mr[2];
	struct ibv_ah *ah;
	struct ibv_wc wc;

	assert_int_equal(rdma_join_multicast(a, (struct sockaddr *)&to, &to), 0);
	event = next_event(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_ptr_equal(event->id, a);
	assert_ptr_equal(event->param.ud.private_data, &to);
	assert_int_equal(event->param.ud.qp_num, 0xffffff);
	assert_int_equal(event->param.ud.qkey, RDMA_UDP_QKEY);
	ah = ibv_create_ah(a->pd, &event->param.ud.ah_attr);
	assert_non_null(ah);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_join_multicast(b, (struct sockaddr *)&to, NULL), 0);
	expect_event(channel, RDMA_CM_EVENT_MULTICAST_JOIN);

	mr[0] = rdma_reg_msgs(a, buf[0], sizeof(buf[0]));
	mr[1] = rdma_reg_msgs(b, buf[1], sizeof(buf[1]));
	post_receive(b, buf[1], mr[1]);
	strcpy(buf[0], "all");
	assert_int_equal(
		rdma_post_ud_send(a, NULL, buf[0], 4, mr[0], IBV_SEND_SIGNALED, ah, 0xffffff), 0);
	assert_int_equal(rdma_get_recv_comp(b, &wc), 1);
	assert_int_equal(wc.byte_len, GRH + 4);
	assert_string_equal(buf[1] + GRH, "all");

	assert_int_equal(rdma_leave_multicast(b, (struct sockaddr *)&to), 0);
	assert_fails(rdma_leave_multicast(b, (struct sockaddr *)&to), EADDRNOTAVAIL);
	post_receive(b, buf[1], mr[1]);
	assert_int_equal(
		rdma_post_ud_send(a, NULL, buf[0], 4, mr[0], IBV_SEND_SIGNALED, ah, 0xffffff), 0);
	assert_false((assert_int_equal(ibv_req_notify_cq(b->recv_cq, 0), 0),
	              readable(b->recv_cq_channel->fd, 100)));
	assert_int_equal(ibv_destroy_ah(ah), 0);
	rdma_dereg_mr(mr[0]);
	rdma_dereg_mr(mr[1]);
	forget(a);
	forget(b);
	rdma_destroy_event_channel(channel);
}

static void groups_are_for_datagram_ids_on_a_device(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in to = group(), unicast = address(0);
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_UDP), 0);
	assert_fails(rdma_join_multicast(id, (struct sockaddr *)&to, NULL), EINVAL);
	assert_int_equal(rdma_destroy_id(id), 0);
	id = member(channel);
	/* Which address it is matters when the QP joins. */
	assert_int_equal(rdma_join_multicast(id, (struct sockaddr *)&unicast, NULL), 0);
	event = next_event(channel, RDMA_CM_EVENT_MULTICAST_ERROR);
	assert_int_not_equal(event->status, 0);
	rdma_ack_cm_event(event);
	forget(id);
	rdma_destroy_event_channel(channel);
}

static void extended_join_checks_its_mask(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = member(channel);
	struct sockaddr_in to = group();
	struct rdma_cm_join_mc_attr_ex attr = {.addr = (struct sockaddr *)&to};

	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_RESERVED;
	assert_fails(rdma_join_multicast_ex(id, &attr, NULL), ENOTSUP);
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS;
	assert_fails(rdma_join_multicast_ex(id, &attr, NULL), EINVAL);
	attr.comp_mask |= RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	attr.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	assert_int_equal(rdma_join_multicast_ex(id, &attr, NULL), 0);
	expect_event(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	forget(id);
	rdma_destroy_event_channel(channel);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_look_up_brings_number_and_key_of_the_qp),
		TEST(a_refused_look_up_is_unreachable),
		TEST(a_datagram_goes_there_and_an_answer_comes_back),
		TEST(members_of_a_group_get_what_is_sent_to_it),
		TEST(groups_are_for_datagram_ids_on_a_device),
		TEST(extended_join_checks_its_mask),
	};

	return RUN(tests);
}
