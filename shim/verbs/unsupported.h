/* SPDX-License-Identifier: BSD-2-Clause */
/* Verbs the device does not offer (yet) and that are slots of the context's tables. */
#ifndef VS_UNSUPPORTED_H
#define VS_UNSUPPORTED_H

#include <infiniband/verbs.h>

struct ibv_mw *vs_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int vs_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int vs_dealloc_mw(struct ibv_mw *mw);
int vs_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
struct ibv_qp *vs_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);
int vs_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);
int vs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
                 struct ibv_sge *sg_list, uint32_t num_sge);
struct ibv_mr *vs_alloc_null_mr(struct ibv_pd *pd);
struct ibv_dm *vs_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int vs_free_dm(struct ibv_dm *dm);
struct ibv_mr *vs_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t dm_offset, size_t length,
                            unsigned int access);
struct ibv_counters *vs_create_counters(struct ibv_context *context,
                                        struct ibv_counters_init_attr *attr);
int vs_destroy_counters(struct ibv_counters *counters);
int vs_attach_counters_point_flow(struct ibv_counters *counters,
                                  struct ibv_counter_attach_attr *attr, struct ibv_flow *flow);
int vs_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t n, uint32_t flags);
struct ibv_flow_action *vs_create_flow_action_esp(struct ibv_context *context,
                                                  struct ibv_flow_action_esp_attr *attr);
int vs_modify_flow_action_esp(struct ibv_flow_action *action,
                              struct ibv_flow_action_esp_attr *attr);
int vs_destroy_flow_action(struct ibv_flow_action *action);
struct ibv_flow *vs_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr);
int vs_destroy_flow(struct ibv_flow *flow);
struct ibv_td *vs_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int vs_dealloc_td(struct ibv_td *td);
struct ibv_pd *vs_alloc_parent_domain(struct ibv_context *context,
                                      struct ibv_parent_domain_init_attr *attr);
int vs_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad_op);
struct ibv_wq *vs_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr);
int vs_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr);
int vs_destroy_wq(struct ibv_wq *wq);
struct ibv_rwq_ind_table *vs_create_rwq_ind_table(struct ibv_context *context,
                                                  struct ibv_rwq_ind_table_init_attr *attr);
int vs_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);
struct ibv_xrcd *vs_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int vs_close_xrcd(struct ibv_xrcd *xrcd);

#endif
