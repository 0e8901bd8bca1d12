/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The vocabulary shared by shim, engine and core: the field's own words (IBTA,
 * rdma-core) as plain C types. Enumerators have the numeric values of their
 * ibv_ counterparts, and struct emu_sge and struct emu_wc their layout, so the
 * shim passes them without translation (shim/verbs/values.c asserts it).
 */
#ifndef EMU_TYPES_H
#define EMU_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct emu_dev;
struct emu_pd;
struct emu_mr;
struct emu_cq;
struct emu_ah;
struct emu_qp;
struct emu_srq;
struct emu_tx;
struct wire_peer;

struct emu_gid {
	uint8_t raw[16];
};

enum emu_link_layer {
	EMU_LINK_INFINIBAND = 1,
	EMU_LINK_ETHERNET = 2,
};

enum emu_qp_type {
	EMU_QPT_RC = 2,
	EMU_QPT_UC = 3,
	EMU_QPT_UD = 4,
	EMU_QPT_RAW_PACKET = 8,
	EMU_QPT_XRC_SEND = 9,
	EMU_QPT_XRC_RECV = 10,
};

enum emu_qp_state {
	EMU_QPS_RESET,
	EMU_QPS_INIT,
	EMU_QPS_RTR,
	EMU_QPS_RTS,
	EMU_QPS_SQD,
	EMU_QPS_SQE,
	EMU_QPS_ERR,
	EMU_QPS_COUNT,
};

/* ibv_modify_qp's mask bits (IBV_QP_*). */
enum emu_qp_attr_mask {
	EMU_QP_STATE = 1 << 0,
	EMU_QP_CUR_STATE = 1 << 1,
	EMU_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	EMU_QP_ACCESS_FLAGS = 1 << 3,
	EMU_QP_PKEY_INDEX = 1 << 4,
	EMU_QP_PORT = 1 << 5,
	EMU_QP_QKEY = 1 << 6,
	EMU_QP_AV = 1 << 7,
	EMU_QP_PATH_MTU = 1 << 8,
	EMU_QP_TIMEOUT = 1 << 9,
	EMU_QP_RETRY_CNT = 1 << 10,
	EMU_QP_RNR_RETRY = 1 << 11,
	EMU_QP_RQ_PSN = 1 << 12,
	EMU_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	EMU_QP_ALT_PATH = 1 << 14,
	EMU_QP_MIN_RNR_TIMER = 1 << 15,
	EMU_QP_SQ_PSN = 1 << 16,
	EMU_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	EMU_QP_PATH_MIG_STATE = 1 << 18,
	EMU_QP_CAP = 1 << 19,
	EMU_QP_DEST_QPN = 1 << 20,
	EMU_QP_RATE_LIMIT = 1 << 25,
};

enum emu_access {
	EMU_ACCESS_LOCAL_WRITE = 1 << 0,
	EMU_ACCESS_REMOTE_WRITE = 1 << 1,
	EMU_ACCESS_REMOTE_READ = 1 << 2,
	EMU_ACCESS_REMOTE_ATOMIC = 1 << 3,
	EMU_ACCESS_MW_BIND = 1 << 4,
	EMU_ACCESS_ZERO_BASED = 1 << 5,
	EMU_ACCESS_ON_DEMAND = 1 << 6,
	EMU_ACCESS_HUGETLB = 1 << 7,
	EMU_ACCESS_FLUSH_GLOBAL = 1 << 8,
	EMU_ACCESS_FLUSH_PERSISTENT = 1 << 9,
	EMU_ACCESS_RELAXED_ORDERING = 1 << 20,
};

enum emu_wr_opcode {
	EMU_WR_RDMA_WRITE,
	EMU_WR_RDMA_WRITE_WITH_IMM,
	EMU_WR_SEND,
	EMU_WR_SEND_WITH_IMM,
	EMU_WR_RDMA_READ,
	EMU_WR_ATOMIC_CMP_AND_SWP,
	EMU_WR_ATOMIC_FETCH_AND_ADD,
	EMU_WR_LOCAL_INV,
	EMU_WR_BIND_MW,
	EMU_WR_SEND_WITH_INV,
	EMU_WR_TSO,
	EMU_WR_DRIVER1,
	EMU_WR_FLUSH = 14,
	EMU_WR_ATOMIC_WRITE = 15,
	EMU_WR_COUNT,
};

enum emu_send_flags {
	EMU_SEND_FENCE = 1 << 0,
	EMU_SEND_SIGNALED = 1 << 1,
	EMU_SEND_SOLICITED = 1 << 2,
	EMU_SEND_INLINE = 1 << 3,
};

enum emu_wc_status {
	EMU_WC_SUCCESS,
	EMU_WC_LOC_LEN_ERR,
	EMU_WC_LOC_QP_OP_ERR,
	EMU_WC_LOC_EEC_OP_ERR,
	EMU_WC_LOC_PROT_ERR,
	EMU_WC_WR_FLUSH_ERR,
	EMU_WC_MW_BIND_ERR,
	EMU_WC_BAD_RESP_ERR,
	EMU_WC_LOC_ACCESS_ERR,
	EMU_WC_REM_INV_REQ_ERR,
	EMU_WC_REM_ACCESS_ERR,
	EMU_WC_REM_OP_ERR,
	EMU_WC_RETRY_EXC_ERR,
	EMU_WC_RNR_RETRY_EXC_ERR,
	EMU_WC_LOC_RDD_VIOL_ERR,
	EMU_WC_REM_INV_RD_REQ_ERR,
	EMU_WC_REM_ABORT_ERR,
	EMU_WC_INV_EECN_ERR,
	EMU_WC_INV_EEC_STATE_ERR,
	EMU_WC_FATAL_ERR,
	EMU_WC_RESP_TIMEOUT_ERR,
	EMU_WC_GENERAL_ERR,
};

enum emu_wc_opcode {
	EMU_WC_SEND,
	EMU_WC_RDMA_WRITE,
	EMU_WC_RDMA_READ,
	EMU_WC_COMP_SWAP,
	EMU_WC_FETCH_ADD,
	EMU_WC_BIND_MW,
	EMU_WC_LOCAL_INV,
	EMU_WC_TSO,
	EMU_WC_FLUSH,
	EMU_WC_ATOMIC_WRITE = 9,
	EMU_WC_RECV = 1 << 7,
	EMU_WC_RECV_RDMA_WITH_IMM,
};

enum emu_wc_flags {
	EMU_WC_GRH = 1 << 0,
	EMU_WC_WITH_IMM = 1 << 1,
	EMU_WC_WITH_INV = 1 << 3,
};

/* ibv_event_type */
enum emu_event_type {
	EMU_EVENT_CQ_ERR,
	EMU_EVENT_QP_FATAL,
	EMU_EVENT_QP_REQ_ERR,
	EMU_EVENT_QP_ACCESS_ERR,
	EMU_EVENT_COMM_EST,
	EMU_EVENT_SQ_DRAINED,
	EMU_EVENT_PATH_MIG,
	EMU_EVENT_PATH_MIG_ERR,
	EMU_EVENT_DEVICE_FATAL,
	EMU_EVENT_PORT_ACTIVE,
	EMU_EVENT_PORT_ERR,
	EMU_EVENT_LID_CHANGE,
	EMU_EVENT_PKEY_CHANGE,
	EMU_EVENT_SM_CHANGE,
	EMU_EVENT_SRQ_ERR,
	EMU_EVENT_SRQ_LIMIT_REACHED,
	EMU_EVENT_QP_LAST_WQE_REACHED,
	EMU_EVENT_CLIENT_REREGISTER,
	EMU_EVENT_GID_CHANGE,
	EMU_EVENT_NONE = -1,
};

struct emu_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

/* One send work request. Fields an opcode does not use are ignored. */
struct emu_send_wr {
	uint64_t wr_id;
	const struct emu_sge *sg_list;
	uint32_t num_sge;
	uint32_t opcode; /* enum emu_wr_opcode */
	uint32_t flags; /* enum emu_send_flags */
	uint32_t imm_data; /* network order; or the rkey to invalidate */
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t compare_add;
	uint64_t swap;
	struct emu_ah *ah; /* UD: where to */
	uint32_t remote_qpn;
	uint32_t remote_qkey;
};

struct emu_recv_wr {
	uint64_t wr_id;
	const struct emu_sge *sg_list;
	uint32_t num_sge;
};

/* Layout of struct ibv_wc. In an error only wr_id, status, qp_num, vendor_err count. */
struct emu_wc {
	uint64_t wr_id;
	uint32_t status; /* enum emu_wc_status */
	uint32_t opcode; /* enum emu_wc_opcode */
	uint32_t vendor_err;
	uint32_t byte_len;
	uint32_t imm_data; /* network order; or the invalidated rkey */
	uint32_t qp_num;
	uint32_t src_qp;
	uint32_t wc_flags; /* enum emu_wc_flags */
	uint16_t pkey_index;
	uint16_t slid;
	uint8_t sl;
	uint8_t dlid_path_bits;
};

struct emu_qp_cap {
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline_data; /* bytes */
};

/* ibv_srq_attr */
struct emu_srq_attr {
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t limit; /* 0: not armed */
};

struct emu_ah_attr {
	struct emu_gid dgid;
	uint32_t flow_label;
	uint16_t dlid;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t sl;
	uint8_t src_path_bits;
	uint8_t static_rate;
	uint8_t is_global;
	uint8_t port_num;
};

/* ibv_qp_attr; see ibv_modify_qp(3). */
struct emu_qp_attr {
	uint32_t qp_state;
	uint32_t cur_qp_state;
	uint32_t path_mtu; /* enum ibv_mtu: 1 = 256 … 5 = 4096 */
	uint32_t path_mig_state;
	uint32_t qkey;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t dest_qp_num;
	uint32_t access_flags; /* enum emu_access */
	struct emu_qp_cap cap;
	struct emu_ah_attr ah;
	struct emu_ah_attr alt_ah;
	uint16_t pkey_index;
	uint16_t alt_pkey_index;
	uint8_t en_sqd_async_notify;
	uint8_t sq_draining;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t port_num;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t alt_port_num;
	uint8_t alt_timeout;
	uint32_t rate_limit;
};

#endif
