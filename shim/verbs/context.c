/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_open_device, ibv_close_device, and the tables of a context through which
 * programs reach the verbs that are inline functions of <infiniband/verbs.h>.
 */
#include "context.h"

#include "ah.h"
#include "async.h"
#include "channel.h"
#include "cq.h"
#include "device.h"
#include "errno.h"
#include "mr.h"
#include "pd.h"
#include "post.h"
#include "qp.h"
#include "query.h"
#include "registry.h"
#include "srq.h"
#include "unsupported.h"

#include <abi/emulated.h>

#include <stdlib.h>

static const struct nic_sink sink = {
	.cq_event = vs_cq_raise,
	.async_event = vs_async_raise,
};

static const struct ibv_context_ops ops = {
	.alloc_mw = vs_alloc_mw,
	.bind_mw = vs_bind_mw,
	.dealloc_mw = vs_dealloc_mw,
	.poll_cq = vs_poll_cq,
	.req_notify_cq = vs_req_notify_cq,
	.post_srq_recv = vs_post_srq_recv,
	.post_send = vs_post_send,
	.post_recv = vs_post_recv,
};

static const struct verbs_context extended = {
	.query_port = vs_query_port_sized,
	.query_device_ex = vs_query_device_ex,
	.query_rt_values = vs_query_rt_values,
	.create_cq_ex = vs_create_cq_ex,
	.modify_cq = vs_modify_cq,
	.create_qp_ex = vs_create_qp_ex,
	.open_qp = vs_open_qp,
	.modify_qp_rate_limit = vs_modify_qp_rate_limit,
	.advise_mr = vs_advise_mr,
	.alloc_null_mr = vs_alloc_null_mr,
	.alloc_dm = vs_alloc_dm,
	.free_dm = vs_free_dm,
	.reg_dm_mr = vs_reg_dm_mr,
	.create_counters = vs_create_counters,
	.destroy_counters = vs_destroy_counters,
	.attach_counters_point_flow = vs_attach_counters_point_flow,
	.read_counters = vs_read_counters,
	.create_flow_action_esp = vs_create_flow_action_esp,
	.modify_flow_action_esp = vs_modify_flow_action_esp,
	.destroy_flow_action = vs_destroy_flow_action,
	.ibv_create_flow = vs_create_flow,
	.ibv_destroy_flow = vs_destroy_flow,
	.alloc_td = vs_alloc_td,
	.dealloc_td = vs_dealloc_td,
	.alloc_parent_domain = vs_alloc_parent_domain,
	.create_srq_ex = vs_create_srq_ex,
	.get_srq_num = vs_get_srq_num,
	.post_srq_ops = vs_post_srq_ops,
	.create_wq = vs_create_wq,
	.modify_wq = vs_modify_wq,
	.destroy_wq = vs_destroy_wq,
	.create_rwq_ind_table = vs_create_rwq_ind_table,
	.destroy_rwq_ind_table = vs_destroy_rwq_ind_table,
	.open_xrcd = vs_open_xrcd,
	.close_xrcd = vs_close_xrcd,
	.sz = sizeof(struct verbs_context),
};

static void fill_tables(struct vs_context *ctx, struct ibv_device *device)
{
	struct ibv_context *context = &ctx->vctx.context;

	ctx->vctx = extended;
	context->device = device;
	context->ops = ops;
	context->cmd_fd = -1;
	context->async_fd = ctx->async.fd;
	context->num_comp_vectors = VS_COMP_VECTORS;
	context->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&context->mutex, NULL);
}

struct ibv_context *vs_open_device(struct ibv_device *device)
{
	struct vs_context *ctx;
	int err;

	if (!vs_device(device))
		return NULL;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return vs_null(-ENOMEM);
	err = nic_get(&sink, &ctx->nic);
	if (err)
		goto err_free;
	ctx->cfg = emu_dev_config(nic_lock(ctx->nic));
	nic_unlock(ctx->nic);
	err = vs_event_queue_init(&ctx->async);
	if (err)
		goto err_nic;
	fill_tables(ctx, device);
	err = vs_registry_add(&ctx->vctx.context, VS_CONTEXT, NULL);
	if (err)
		goto err_queue;
	return &ctx->vctx.context;

err_queue:
	vs_event_queue_fini(&ctx->async);
err_nic:
	nic_put(ctx->nic);
err_free:
	free(ctx);
	return vs_null(err);
}

static void release_qp(void *obj)
{
	vs_qp_release(obj);
}

static void release_srq(void *obj)
{
	vs_srq_release(obj);
}

static void release_cq(void *obj)
{
	vs_cq_release(obj);
}

static void release_mr(void *obj)
{
	vs_mr_release(obj);
}

static void release_ah(void *obj)
{
	vs_ah_release(obj);
}

static void release_pd(void *obj)
{
	vs_pd_release(obj);
}

static void release_channel(void *obj)
{
	vs_channel_release(obj);
}

/* The kernel frees what a program left behind in its context; so do we, users before used. */
static void release_leftovers(const struct ibv_context *context)
{
	static const struct {
		enum vs_kind kind;
		void (*release)(void *obj);
	} rows[] = {
		{VS_QP, release_qp}, {VS_SRQ, release_srq}, {VS_CQ, release_cq},
		{VS_MR, release_mr}, {VS_AH, release_ah},   {VS_PD, release_pd},
		{VS_CHANNEL, release_channel},
	};
	void *obj;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t from = 0;

		while ((obj = vs_registry_pop(context, rows[i].kind, &from)))
			rows[i].release(obj);
	}
}

int vs_close_device(struct ibv_context *context)
{
	struct vs_context *ctx = vs_context(context);

	if (!vs_registry_remove(context, VS_CONTEXT))
		return vs_status(-EINVAL);
	release_leftovers(context);
	/* First: who waits for an event drives the NIC meanwhile. */
	vs_event_queue_fini(&ctx->async);
	nic_put(ctx->nic);
	pthread_mutex_destroy(&context->mutex);
	free(ctx);
	return 0;
}
