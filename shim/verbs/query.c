/* SPDX-License-Identifier: BSD-2-Clause */
/* What the device and its port are: ibv_query_device, ibv_query_device_ex, ibv_query_port. */
#include "config.h"

#include "query.h"

#include "context.h"
#include "errno.h"
#include "registry.h"

#include <emu/config.h>

#include <abi/emulated.h>

#include <limits.h>
#include <time.h>

/* Values of the PortInfo attribute, IBTA 14.2.5.6. */
#define WIDTH_4X 2
#define SPEED_EDR 32 /* 25 Gb/s a lane: 100 Gb/s */
#define PHYS_LINK_UP 5

/* IBTA 11.2.1.2: 4.096 us * 2^15, what soft devices say. */
#define ACK_DELAY 15
#define PAGE_SIZES 0xfffff000u
#define FIRST_LID 1
#define NS_CLOCK_KHZ 1000000

static int clip(uint64_t n)
{
	return n > INT_MAX ? INT_MAX : (int)n;
}

static void fill_device(const struct vs_context *ctx, struct ibv_device_attr *attr)
{
	const struct emu_limits *limits = &ctx->cfg->limits;
	const struct sv_config *config = sv_config();
	__be64 guid = vs_get_device_guid(ctx->vctx.context.device);

	*attr = (struct ibv_device_attr){
		.fw_ver = PACKAGE_VERSION,
		.node_guid = guid,
		.sys_image_guid = guid,
		.max_mr_size = limits->max_mr_size,
		.page_size_cap = PAGE_SIZES,
		.vendor_id = config->vendor_id,
		.vendor_part_id = config->vendor_part_id,
		.hw_ver = config->hw_ver,
		.max_qp = clip(limits->max_qp),
		.max_qp_wr = clip(limits->max_qp_wr),
		.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SYS_IMAGE_GUID |
	                            IBV_DEVICE_RC_RNR_NAK_GEN,
		.max_sge = clip(limits->max_sge),
		.max_sge_rd = clip(limits->max_sge),
		.max_cq = clip(limits->max_cq),
		.max_cqe = clip(limits->max_cqe),
		.max_mr = clip(limits->max_mr),
		.max_pd = clip(limits->max_pd),
		.max_qp_rd_atom = clip(limits->max_qp_rd_atom),
		.max_res_rd_atom = clip((uint64_t)limits->max_qp_rd_atom * limits->max_qp),
		.max_qp_init_rd_atom = clip(limits->max_qp_rd_atom),
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_mcast_grp = clip(limits->max_mcast_grp),
		.max_mcast_qp_attach = clip(limits->max_qp),
		.max_total_mcast_qp_attach =
			clip((uint64_t)limits->max_mcast_qp_attach * limits->max_qp),
		.max_srq = clip(limits->max_srq),
		.max_srq_wr = clip(limits->max_srq_wr),
		.max_srq_sge = clip(limits->max_srq_sge),
		.max_ah = clip(limits->max_ah),
		.max_pkeys = ctx->cfg->port.pkey_tbl_len,
		.local_ca_ack_delay = ACK_DELAY,
		.phys_port_cnt = VS_PORT,
	};
}

int vs_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	if (!vs_registry_has(context, VS_CONTEXT))
		return vs_status(-EINVAL);
	fill_device(vs_context(context), attr);
	return 0;
}

int vs_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                       struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ibv_device_attr_ex full = {
		.hca_core_clock = NS_CLOCK_KHZ,
		.pci_atomic_caps =
			{
				.fetch_add = IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP,
				.compare_swap = IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP,
			},
		.phys_port_cnt_ex = VS_PORT,
	};

	if (!vs_registry_has(context, VS_CONTEXT) || (input && input->comp_mask) ||
	    attr_size < sizeof(attr->orig_attr))
		return vs_status(-EINVAL);
	fill_device(vs_context(context), &full.orig_attr);
	full.device_cap_flags_ex = full.orig_attr.device_cap_flags;
	memset(attr, 0, attr_size);
	memcpy(attr, &full, attr_size < sizeof(full) ? attr_size : sizeof(full));
	return 0;
}

int vs_query_port_sized(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
                        size_t attr_len)
{
	const struct emu_config *cfg;
	struct ibv_port_attr full;
	bool ethernet;

	if (!vs_registry_has(context, VS_CONTEXT) || port_num != VS_PORT)
		return vs_status(-EINVAL);
	cfg = vs_context(context)->cfg;
	ethernet = cfg->port.link_layer == EMU_LINK_ETHERNET;
	full = (struct ibv_port_attr){
		.state = IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = (enum ibv_mtu)cfg->port.active_mtu,
		.gid_tbl_len = (int)cfg->port.gid_tbl_len,
		.port_cap_flags = IBV_PORT_CM_SUP | (ethernet ? IBV_PORT_IP_BASED_GIDS : 0),
		.max_msg_sz = cfg->limits.max_msg_sz,
		.pkey_tbl_len = cfg->port.pkey_tbl_len,
		.lid = ethernet ? 0 : FIRST_LID,
		.sm_lid = ethernet ? 0 : FIRST_LID,
		.max_vl_num = 1,
		.active_width = WIDTH_4X,
		.active_speed = SPEED_EDR,
		.phys_state = PHYS_LINK_UP,
		.link_layer = cfg->port.link_layer,
		.flags = ethernet ? IBV_QPF_GRH_REQUIRED : 0,
	};
	memset(attr, 0, attr_len);
	memcpy(attr, &full, attr_len < sizeof(full) ? attr_len : sizeof(full));
	return 0;
}

/* The exported symbol: programs of before port_cap_flags2 have a structure without it. */
int vs_query_port(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *attr)
{
	return vs_query_port_sized(context, port_num, (struct ibv_port_attr *)attr,
	                           offsetof(struct ibv_port_attr, port_cap_flags2));
}

int vs_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	uint32_t asked = values->comp_mask;

	values->comp_mask = 0;
	if (!vs_registry_has(context, VS_CONTEXT) || asked & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
		return vs_status(-EINVAL);
	if (asked & IBV_VALUES_MASK_RAW_CLOCK) {
		clock_gettime(CLOCK_MONOTONIC_RAW, &values->raw_clock);
		values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	}
	return 0;
}
