/* SPDX-License-Identifier: BSD-2-Clause */
/* A path to another port: struct ibv_ah_attr to struct emu_ah_attr and back. */
#ifndef VS_PATH_H
#define VS_PATH_H

#include <emu/types.h>

#include <infiniband/verbs.h>

void vs_path_to_emu(const struct ibv_ah_attr *from, struct emu_ah_attr *to);
void vs_path_to_ibv(const struct emu_ah_attr *from, struct ibv_ah_attr *to);

#endif
