/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries that are slots of the context's table. */
#ifndef VS_QUERY_H
#define VS_QUERY_H

#include <infiniband/verbs.h>

/* attr_len: the caller's idea of sizeof(struct ibv_port_attr). */
int vs_query_port_sized(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
                        size_t attr_len);
int vs_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                       struct ibv_device_attr_ex *attr, size_t attr_size);
int vs_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

#endif
