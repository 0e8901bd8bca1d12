/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the device does not offer yet, one default each: the errno a provider
 * gives that has no such verb. Every slot of the tables is filled, because
 * some of the inline verbs call theirs without looking.
 */
#include "unsupported.h"

#include "errno.h"

#include <abi/emulated.h>

struct ibv_context *vs_import_device(int cmd_fd)
{
	return vs_null(-EOPNOTSUPP);
}

struct ibv_pd *vs_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	return vs_null(-EOPNOTSUPP);
}

void vs_unimport_pd(struct ibv_pd *pd)
{
}

struct ibv_mr *vs_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	return vs_null(-EOPNOTSUPP);
}

void vs_unimport_mr(struct ibv_mr *mr)
{
}

struct ibv_dm *vs_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	return vs_null(-EOPNOTSUPP);
}

void vs_unimport_dm(struct ibv_dm *dm)
{
}

struct ibv_mr *vs_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
                                int fd, int access)
{
	return vs_null(-EOPNOTSUPP);
}

int vs_resize_cq(struct ibv_cq *cq, int cqe)
{
	return vs_status(-EOPNOTSUPP);
}

int vs_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	return vs_status(-EOPNOTSUPP);
}

int vs_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	return vs_status(-EOPNOTSUPP);
}

int vs_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
                               uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	return vs_minus_one(-EOPNOTSUPP);
}

struct ibv_mw *vs_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	return vs_null(-EOPNOTSUPP);
}

int vs_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	return vs_status(-EOPNOTSUPP);
}

int vs_dealloc_mw(struct ibv_mw *mw)
{
	return vs_status(-EOPNOTSUPP);
}

int vs_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	return vs_status(-EOPNOTSUPP);
}

struct ibv_qp *vs_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	return vs_null(-EOPNOTSUPP);
}

int vs_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	return vs_status(-EOPNOTSUPP);
}

int vs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
                 struct ibv_sge *sg_list, uint32_t num_sge)
{
	return vs_status(-EOPNOTSUPP);
}

struct ibv_mr *vs_alloc_null_mr(struct ibv_pd *pd)
{
	return vs_null(-EOPNOTSUPP);
}

struct ibv_dm *vs_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	return vs_null(-EOPNOTSUPP);
}

int vs_free_dm(struct ibv_dm *dm)
{
	return vs_status(-EOPNOTSUPP);
}

struct ibv_mr *vs_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t dm_offset, size_t length,
                            unsigned int access)
{
	return vs_null(-EOPNOTSUPP);
}

struct ibv_counters *vs_create_counters(struct ibv_context *context,
                                        struct ibv_counters_init_attr *attr)
{
	return vs_null(-EOPNOTSUPP);
}

int vs_destroy_counters(struct ibv_counters *counters)
{
	return vs_status(-EOPNOTSUPP);
}

int vs_attach_counters_point_flow(struct ibv_counters *counters,
                                  struct ibv_counter_attach_attr *attr, struct ibv_flow *flow)
{
	return vs_status(-EOPNOTSUPP);
}

int vs_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t n, uint32_t flags)
{
	return vs_status(-EOPNOTSUPP);
}

struct ibv_flow_action *vs_create_flow_action_esp(struct ibv_context *context,
                                                  struct ibv_flow_action_esp_attr *attr)
{
	return vs_null(-EOPNOTSUPP);
}

int vs_modify_flow_action_esp(struct ibv_flow_action *action, struct ibv_flow_action_esp_attr *attr)
{
	return vs_status(-EOPNOTSUPP);
}

int vs_destroy_flow_action(struct ibv_flow_action *action)
{
	return vs_status(-EOPNOTSUPP);
}

struct ibv_flow *vs_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	return vs_null(-EOPNOTSUPP);
}

int vs_destroy_flow(struct ibv_flow *flow)
{
	return vs_status(-EOPNOTSUPP);
}

struct ibv_td *vs_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	return vs_null(-EOPNOTSUPP);
}

int vs_dealloc_td(struct ibv_td *td)
{
	return vs_status(-EOPNOTSUPP);
}

struct ibv_pd *vs_alloc_parent_domain(struct ibv_context *context,
                                      struct ibv_parent_domain_init_attr *attr)
{
	return vs_null(-EOPNOTSUPP);
}

int vs_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad_op)
{
	*bad_op = op;
	return vs_status(-EOPNOTSUPP);
}

struct ibv_wq *vs_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	return vs_null(-EOPNOTSUPP);
}

int vs_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr)
{
	return vs_status(-EOPNOTSUPP);
}

int vs_destroy_wq(struct ibv_wq *wq)
{
	return vs_status(-EOPNOTSUPP);
}

struct ibv_rwq_ind_table *vs_create_rwq_ind_table(struct ibv_context *context,
                                                  struct ibv_rwq_ind_table_init_attr *attr)
{
	return vs_null(-EOPNOTSUPP);
}

int vs_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	return vs_status(-EOPNOTSUPP);
}

struct ibv_xrcd *vs_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	return vs_null(-EOPNOTSUPP);
}

int vs_close_xrcd(struct ibv_xrcd *xrcd)
{
	return vs_status(-EOPNOTSUPP);
}
