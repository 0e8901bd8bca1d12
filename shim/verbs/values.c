/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proof, at compile time, that the shim may pass values and structures between
 * <infiniband/verbs.h> and emu/types.h without translation. No code.
 */
#include <emu/types.h>

#include <infiniband/verbs.h>

#define SAME(name) _Static_assert((int)EMU_##name == (int)IBV_##name, #name)
#define SAME_FIELD(emu, ibv, field)                                                                \
	_Static_assert(offsetof(struct emu, field) == offsetof(struct ibv, field) &&               \
	                       sizeof(((struct emu *)0)->field) ==                                 \
	                               sizeof(((struct ibv *)0)->field),                           \
	               #emu "." #field)

_Static_assert((int)EMU_LINK_INFINIBAND == (int)IBV_LINK_LAYER_INFINIBAND, "link layer");
_Static_assert((int)EMU_LINK_ETHERNET == (int)IBV_LINK_LAYER_ETHERNET, "link layer");

SAME(QPT_RC);
SAME(QPT_UC);
SAME(QPT_UD);
SAME(QPT_RAW_PACKET);
SAME(QPT_XRC_SEND);
SAME(QPT_XRC_RECV);

SAME(QPS_RESET);
SAME(QPS_INIT);
SAME(QPS_RTR);
SAME(QPS_RTS);
SAME(QPS_SQD);
SAME(QPS_SQE);
SAME(QPS_ERR);

SAME(QP_STATE);
SAME(QP_CUR_STATE);
SAME(QP_EN_SQD_ASYNC_NOTIFY);
SAME(QP_ACCESS_FLAGS);
SAME(QP_PKEY_INDEX);
SAME(QP_PORT);
SAME(QP_QKEY);
SAME(QP_AV);
SAME(QP_PATH_MTU);
SAME(QP_TIMEOUT);
SAME(QP_RETRY_CNT);
SAME(QP_RNR_RETRY);
SAME(QP_RQ_PSN);
SAME(QP_MAX_QP_RD_ATOMIC);
SAME(QP_ALT_PATH);
SAME(QP_MIN_RNR_TIMER);
SAME(QP_SQ_PSN);
SAME(QP_MAX_DEST_RD_ATOMIC);
SAME(QP_PATH_MIG_STATE);
SAME(QP_CAP);
SAME(QP_DEST_QPN);
SAME(QP_RATE_LIMIT);

SAME(ACCESS_LOCAL_WRITE);
SAME(ACCESS_REMOTE_WRITE);
SAME(ACCESS_REMOTE_READ);
SAME(ACCESS_REMOTE_ATOMIC);
SAME(ACCESS_MW_BIND);
SAME(ACCESS_ZERO_BASED);
SAME(ACCESS_ON_DEMAND);
SAME(ACCESS_HUGETLB);
SAME(ACCESS_RELAXED_ORDERING);

SAME(WR_RDMA_WRITE);
SAME(WR_RDMA_WRITE_WITH_IMM);
SAME(WR_SEND);
SAME(WR_SEND_WITH_IMM);
SAME(WR_RDMA_READ);
SAME(WR_ATOMIC_CMP_AND_SWP);
SAME(WR_ATOMIC_FETCH_AND_ADD);
SAME(WR_LOCAL_INV);
SAME(WR_BIND_MW);
SAME(WR_SEND_WITH_INV);
SAME(WR_TSO);
SAME(WR_DRIVER1);
SAME(WR_ATOMIC_WRITE);

SAME(SEND_FENCE);
SAME(SEND_SIGNALED);
SAME(SEND_SOLICITED);
SAME(SEND_INLINE);

SAME(WC_SUCCESS);
SAME(WC_LOC_LEN_ERR);
SAME(WC_LOC_QP_OP_ERR);
SAME(WC_LOC_EEC_OP_ERR);
SAME(WC_LOC_PROT_ERR);
SAME(WC_WR_FLUSH_ERR);
SAME(WC_MW_BIND_ERR);
SAME(WC_BAD_RESP_ERR);
SAME(WC_LOC_ACCESS_ERR);
SAME(WC_REM_INV_REQ_ERR);
SAME(WC_REM_ACCESS_ERR);
SAME(WC_REM_OP_ERR);
SAME(WC_RETRY_EXC_ERR);
SAME(WC_RNR_RETRY_EXC_ERR);
SAME(WC_LOC_RDD_VIOL_ERR);
SAME(WC_REM_INV_RD_REQ_ERR);
SAME(WC_REM_ABORT_ERR);
SAME(WC_INV_EECN_ERR);
SAME(WC_INV_EEC_STATE_ERR);
SAME(WC_FATAL_ERR);
SAME(WC_RESP_TIMEOUT_ERR);
SAME(WC_GENERAL_ERR);

SAME(WC_SEND);
SAME(WC_RDMA_WRITE);
SAME(WC_RDMA_READ);
SAME(WC_COMP_SWAP);
SAME(WC_FETCH_ADD);
SAME(WC_BIND_MW);
SAME(WC_LOCAL_INV);
SAME(WC_TSO);
SAME(WC_ATOMIC_WRITE);
SAME(WC_RECV);
SAME(WC_RECV_RDMA_WITH_IMM);

SAME(WC_GRH);
SAME(WC_WITH_IMM);
SAME(WC_WITH_INV);

SAME(EVENT_CQ_ERR);
SAME(EVENT_QP_FATAL);
SAME(EVENT_QP_REQ_ERR);
SAME(EVENT_QP_ACCESS_ERR);
SAME(EVENT_COMM_EST);
SAME(EVENT_SQ_DRAINED);
SAME(EVENT_PATH_MIG);
SAME(EVENT_PATH_MIG_ERR);
SAME(EVENT_DEVICE_FATAL);
SAME(EVENT_PORT_ACTIVE);
SAME(EVENT_PORT_ERR);
SAME(EVENT_LID_CHANGE);
SAME(EVENT_PKEY_CHANGE);
SAME(EVENT_SM_CHANGE);
SAME(EVENT_SRQ_ERR);
SAME(EVENT_SRQ_LIMIT_REACHED);
SAME(EVENT_QP_LAST_WQE_REACHED);
SAME(EVENT_CLIENT_REREGISTER);
SAME(EVENT_GID_CHANGE);

_Static_assert(sizeof(struct emu_sge) == sizeof(struct ibv_sge), "emu_sge");
SAME_FIELD(emu_sge, ibv_sge, addr);
SAME_FIELD(emu_sge, ibv_sge, length);
SAME_FIELD(emu_sge, ibv_sge, lkey);

_Static_assert(sizeof(struct emu_wc) == sizeof(struct ibv_wc), "emu_wc");
SAME_FIELD(emu_wc, ibv_wc, wr_id);
SAME_FIELD(emu_wc, ibv_wc, status);
SAME_FIELD(emu_wc, ibv_wc, opcode);
SAME_FIELD(emu_wc, ibv_wc, vendor_err);
SAME_FIELD(emu_wc, ibv_wc, byte_len);
SAME_FIELD(emu_wc, ibv_wc, imm_data);
SAME_FIELD(emu_wc, ibv_wc, qp_num);
SAME_FIELD(emu_wc, ibv_wc, src_qp);
SAME_FIELD(emu_wc, ibv_wc, wc_flags);
SAME_FIELD(emu_wc, ibv_wc, pkey_index);
SAME_FIELD(emu_wc, ibv_wc, slid);
SAME_FIELD(emu_wc, ibv_wc, sl);
SAME_FIELD(emu_wc, ibv_wc, dlid_path_bits);

_Static_assert(sizeof(struct emu_qp_cap) == sizeof(struct ibv_qp_cap), "emu_qp_cap");
_Static_assert(sizeof(struct emu_gid) == sizeof(union ibv_gid), "emu_gid");
