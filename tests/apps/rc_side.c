/* SPDX-License-Identifier: BSD-2-Clause */
/* See rc_side.h. */
#include "rc_side.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define GID_INDEX 0
#define PORT 1
#define FIRST_PSN 0x5a17

const struct rc_patience rc_patient = {.timeout = 18, .retry_cnt = 7};

void rc_fail(const char *fmt, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s\n", line);
	_exit(1);
}

pid_t rc_fork(int *sock)
{
	int ends[2];
	pid_t parent = getpid(), pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		rc_fail("socketpair: %s", strerror(errno));
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		rc_fail("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	*sock = ends[pid == 0];
	close(ends[pid != 0]);
	return pid;
}

void rc_open(struct rc_side *side, int sock, void *buf, size_t len, int cqe)
{
	const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
	                   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_device **list = ibv_get_device_list(NULL);

	side->sock = sock;
	if (!list || !list[0])
		rc_fail("no RDMA device");
	side->ctx = ibv_open_device(list[0]);
	if (!side->ctx)
		rc_fail("ibv_open_device: %s", strerror(errno));
	ibv_free_device_list(list);
	if (ibv_query_gid(side->ctx, PORT, GID_INDEX, &side->gid))
		rc_fail("ibv_query_gid: %s", strerror(errno));
	side->pd = ibv_alloc_pd(side->ctx);
	side->channel = ibv_create_comp_channel(side->ctx);
	side->cq = ibv_create_cq(side->ctx, cqe, NULL, side->channel, 0);
	if (!side->pd || !side->channel || !side->cq)
		rc_fail("PD, channel or CQ: %s", strerror(errno));
	side->mr = ibv_reg_mr(side->pd, buf, len, rights);
	if (!side->mr)
		rc_fail("ibv_reg_mr: %s", strerror(errno));
}

void rc_close(struct rc_side *side)
{
	int rc = ibv_dereg_mr(side->mr);

	rc = rc ? rc : ibv_destroy_cq(side->cq);
	rc = rc ? rc : ibv_destroy_comp_channel(side->channel);
	rc = rc ? rc : ibv_dealloc_pd(side->pd);
	rc = rc ? rc : ibv_close_device(side->ctx);
	if (rc)
		rc_fail("cleaning up: %s", strerror(rc));
}

struct ibv_qp *rc_qp(struct rc_side *side, uint32_t depth)
{
	struct ibv_qp_init_attr init = {
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.cap = {.max_send_wr = depth,
	                .max_recv_wr = depth,
	                .max_send_sge = 1,
	                .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(side->pd, &init);

	if (!qp)
		rc_fail("ibv_create_qp: %s", strerror(errno));
	return qp;
}

struct rc_address rc_address(const struct rc_side *side, const struct ibv_qp *qp)
{
	return (struct rc_address){
		.qpn = qp->qp_num,
		.rkey = side->mr->rkey,
		.addr = (uintptr_t)side->mr->addr,
		.gid = side->gid,
	};
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int rc = ibv_modify_qp(qp, attr, mask | IBV_QP_STATE);

	if (rc)
		rc_fail("ibv_modify_qp to state %d: %s", attr->qp_state, strerror(rc));
}

void rc_connect(struct ibv_qp *qp, const struct rc_address *peer, struct rc_patience patience)
{
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
	                           .port_num = PORT,
	                           .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
	                                              IBV_ACCESS_REMOTE_READ |
	                                              IBV_ACCESS_REMOTE_ATOMIC};
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qpn,
		.rq_psn = FIRST_PSN,
		.max_dest_rd_atomic = RC_RD_ATOMIC,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1,
	                    .port_num = PORT,
	                    .grh = {.dgid = peer->gid, .sgid_index = GID_INDEX, .hop_limit = 1}}};
	struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
	                          .sq_psn = FIRST_PSN,
	                          .max_rd_atomic = RC_RD_ATOMIC,
	                          .timeout = patience.timeout,
	                          .retry_cnt = patience.retry_cnt,
	                          .rnr_retry = 7};

	modify(qp, &init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	modify(qp, &rtr,
	       IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	modify(qp, &rts,
	       IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	               IBV_QP_MAX_QP_RD_ATOMIC);
}

bool rc_swap(int sock, const void *mine, void *theirs, size_t len)
{
	size_t done;
	ssize_t n;

	for (done = 0; done < len; done += n) {
		n = send(sock, (const char *)mine + done, len - done, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
	}
	for (done = 0; done < len; done += n) {
		n = recv(sock, (char *)theirs + done, len - done, 0);
		if (n <= 0)
			return false;
	}
	return true;
}

void rc_barrier(int sock)
{
	char mine = 0, theirs;

	if (!rc_swap(sock, &mine, &theirs, 1))
		rc_fail("the other side is gone");
}

void rc_wait(struct rc_side *side, struct ibv_wc *wc)
{
	int n;

	do
		n = ibv_poll_cq(side->cq, 1, wc);
	while (n == 0);
	if (n < 0)
		rc_fail("ibv_poll_cq: %d", n);
}

void rc_wait_success(struct rc_side *side, struct ibv_wc *wc)
{
	rc_wait(side, wc);
	if (wc->status != IBV_WC_SUCCESS)
		rc_fail("completion %" PRIu64 ": %s, vendor_err 0x%x", wc->wr_id,
		        ibv_wc_status_str(wc->status), wc->vendor_err);
}
