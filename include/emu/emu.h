/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The core: a pure RDMA device. No thread, clock, system call, errno or
 * libfabric in it. It is given frames, time and a wire, and returns
 * completions, events and frames.
 *
 * Thread rule: every function runs under the device lock (nic_lock(), or one
 * thread in tests), except those marked "poster" or "poller": they touch one
 * ring only and may run beside the device lock. The caller serialises posters
 * of one queue among themselves, and pollers of one CQ among themselves.
 *
 * Errors: caller mistakes are 0 or -errno (values of <errno.h>, defined for the
 * core in emu/core/err.h); protocol outcomes are enum emu_wc_status in a
 * completion; nothing is ever both.
 */
#ifndef EMU_EMU_H
#define EMU_EMU_H

#include <emu/types.h>
#include <emu/wire.h>

/* Exported by the engine library. */
#pragma GCC visibility push(default)

/* ---- device ------------------------------------------------------------- */

struct emu_cm_addr;
struct emu_cm_event;

/* What the core asks of whoever runs it. All called under the device lock. */
struct emu_env {
	/*
	 * The peer that owns (dgid, qpn); a reference that ops->put() returns.
	 * Never fails for want of the peer: it may come later. NULL: no memory.
	 */
	struct wire_peer *(*peer_get)(void *host, const struct emu_gid *dgid, uint32_t qpn);
	/*
	 * Guarded access to user memory: 0, or -EFAULT when it is not mapped so
	 * (any more), never a crash. copy places bytes in ascending order, the last
	 * byte last, because programs poll on it. cas/faa are atomic against CPUs.
	 */
	int (*copy)(void *dst, const void *src, size_t len);
	int (*touch)(const void *src, size_t len); /* readable? */
	int (*cas64)(void *addr, uint64_t compare, uint64_t swap, uint64_t *old);
	int (*faa64)(void *addr, uint64_t add, uint64_t *old);
	/*
	 * From now on (join), or no more, packets to this multicast GID shall come to
	 * emu_input. peer_get of such a GID gives the peer that sends to all. 0, -errno.
	 */
	int (*mcast)(void *host, const struct emu_gid *mgid, bool join);
	/* An armed CQ got what it was armed for. user: that of emu_cq_create. */
	void (*cq_event)(void *host, void *cq_user);
	/* An affiliated asynchronous event. user: that of the CQ, QP or SRQ concerned. */
	void (*async_event)(void *host, enum emu_event_type type, void *user);
	/* Connection manager: see emu/cm.h. */
	void (*cm_lookup)(void *host, const struct emu_cm_addr *dst, uint16_t ps, uint32_t cookie);
	void (*cm_event)(void *host, const struct emu_cm_event *event);
};

/* Limits of ibv_query_device(3): that many can be made, one more fails. */
struct emu_limits {
	uint32_t max_qp, max_qp_wr, max_sge, max_inline;
	uint32_t max_cq, max_cqe, max_mr, max_pd, max_ah;
	uint32_t max_mcast_grp, max_mcast_qp_attach; /* groups; attachments of one QP */
	uint32_t max_mw, max_srq, max_srq_wr, max_srq_sge;
	uint32_t max_qp_rd_atom; /* initiator and responder depth, at most 255 */
	uint32_t max_msg_sz; /* bytes, at most 2^31 */
	uint64_t max_mr_size;
};

#define EMU_GIDS 64

struct emu_port {
	enum emu_link_layer link_layer;
	uint32_t active_mtu; /* enum ibv_mtu */
	uint32_t gid_tbl_len; /* at most EMU_GIDS */
	uint32_t pkey_tbl_len;
	struct emu_gid gid[EMU_GIDS]; /* an unused slot is all zero */
};

/* The CM's timers (IBTA 12.9.8); times are codes: 4.096 us x 2^code. A zero field: the default. */
struct emu_cm_config {
	uint8_t response_timeout; /* of the other side's CM: 20, 4.3 s */
	uint8_t packet_life; /* of the path: 18, 1.1 s */
	uint8_t max_retries; /* of a message: 15, so about 103 s in all */
};

struct emu_config {
	struct emu_limits limits;
	struct emu_port port;
	struct emu_cm_config cm;
	uint32_t seed; /* where keys and QP numbers start; 0 is fine */
	bool fast_death; /* a broken link ends its QPs' retries at once */
};

extern const struct emu_limits emu_default_limits;

/* env must outlive the device. host is handed back to env's functions. 0, -ENOMEM, -EINVAL. */
int emu_dev_create(const struct emu_config *cfg, const struct emu_env *env, void *host,
		   struct emu_dev **out);
/* Every object must be gone, and every held tx done. */
void emu_dev_destroy(struct emu_dev *dev);
/* Add 4,096 QP numbers slot << 12 | n. 0, -EEXIST, -ENOSPC (16 slots at most). */
int emu_dev_add_slot(struct emu_dev *dev, uint32_t slot);
const struct emu_config *emu_dev_config(const struct emu_dev *dev);

/* Time, in nanoseconds of any monotonic clock; call before anything that follows. */
void emu_tick(struct emu_dev *dev, uint64_t now_ns);
/* When emu_run must be called next though nothing happens; UINT64_MAX: never. */
uint64_t emu_next_deadline(const struct emu_dev *dev);
/*
 * One bounded pass: expired timers, kicked QPs, responses and ACKs.
 * Returns true when there is more to do now.
 */
bool emu_run(struct emu_dev *dev);
/* True when emu_run would find something to do now (timers apart). */
bool emu_pending(const struct emu_dev *dev);

/* ---- doors for the wire ------------------------------------------------- */

/* One packet from src, hostile until checked. The bytes may go when it returns. */
void emu_input(struct emu_dev *dev, struct wire_peer *src, const void *frame, size_t len);
/* A tx of WIRE_HELD is not read any more. */
void emu_wire_tx_done(struct emu_dev *dev, struct emu_tx *tx);
/* After WIRE_BUSY: try again. */
void emu_wire_writable(struct emu_dev *dev, struct wire_peer *peer);
/* After WIRE_PROBE_STARTED: all that was sent before has been seen by the peer's engine. */
void emu_wire_answered(struct emu_dev *dev, struct wire_peer *peer);
/* The link to the peer broke: packets may be lost, probes will not be answered. */
void emu_wire_gone(struct emu_dev *dev, struct wire_peer *peer);
/* Copy header and payload into dst, which has room for them. 0, -EFAULT (answer WIRE_FAULT). */
int emu_tx_copy(struct emu_dev *dev, const struct emu_tx *tx, void *dst);
/* Is the whole payload readable? 0, -EFAULT. For wires that send straight from user memory. */
int emu_tx_probe(struct emu_dev *dev, const struct emu_tx *tx);

/* ---- protection domains, memory regions --------------------------------- */

/* 0, -ENOMEM (max_pd). */
int emu_pd_alloc(struct emu_dev *dev, struct emu_pd **out);
/* 0, -EBUSY while something lives in it. */
int emu_pd_dealloc(struct emu_pd *pd);

/*
 * Register [addr, addr + len) to be named [iova, iova + len). The caller has
 * checked that it is mapped. 0, -EINVAL (REMOTE_WRITE or REMOTE_ATOMIC without
 * LOCAL_WRITE, unknown access bits, wrap), -ENOMEM (max_mr).
 */
int emu_mr_reg(struct emu_pd *pd, uint64_t addr, uint64_t iova, uint64_t len, uint32_t access,
	       struct emu_mr **out);
/*
 * Ends the keys at once. 0; -EBUSY (a memory window is bound); -EAGAIN while a
 * wire still reads from it: make progress and call again, or emu_mr_abort_io.
 */
int emu_mr_dereg(struct emu_mr *mr);
/* Cut the links that still read from mr; emu_mr_dereg succeeds soon after. */
void emu_mr_abort_io(struct emu_mr *mr);
uint32_t emu_mr_lkey(const struct emu_mr *mr);
uint32_t emu_mr_rkey(const struct emu_mr *mr);

/* ---- address handles ------------------------------------------------------ */

/* 0, -EINVAL (no such path), -ENOMEM (max_ah). */
int emu_ah_create(struct emu_pd *pd, const struct emu_ah_attr *attr, struct emu_ah **out);
/* WRs already posted with it still go out. */
void emu_ah_destroy(struct emu_ah *ah);

/* ---- completion queues -------------------------------------------------- */

enum emu_arm {
	EMU_ARM_NONE,
	EMU_ARM_SOLICITED,
	EMU_ARM_ANY,
};

/* 0, -EINVAL (cqe 0 or above max_cqe), -ENOMEM. */
int emu_cq_create(struct emu_dev *dev, uint32_t cqe, void *user, struct emu_cq **out);
/* 0, -EBUSY while a QP uses it. */
int emu_cq_destroy(struct emu_cq *cq);
uint32_t emu_cq_capacity(const struct emu_cq *cq);
/* Poller. Number of completions taken, at most n; frees their queue slots. -EIO: never. */
int emu_cq_poll(struct emu_cq *cq, int n, struct emu_wc *wc);
/* Poller. True when emu_cq_poll would find nothing. */
bool emu_cq_empty(const struct emu_cq *cq);
/* Poller. ibv_req_notify_cq(3): one event for the next completion that matches. */
void emu_cq_arm(struct emu_cq *cq, enum emu_arm arm);

/* ---- shared receive queues ------------------------------------------------ */

/* attr->limit is ignored. user: for async_event. 0, -EINVAL (limits of the device), -ENOMEM. */
int emu_srq_create(struct emu_pd *pd, const struct emu_srq_attr *attr, void *user,
		   struct emu_srq **out);
/* 0, -EBUSY while a QP uses it. */
int emu_srq_destroy(struct emu_srq *srq);
/* SRQ_LIMIT_REACHED, once, when fewer receives than that are left; 0: never. -EINVAL: above max_wr. */
int emu_srq_set_limit(struct emu_srq *srq, uint32_t limit);
void emu_srq_query(const struct emu_srq *srq, struct emu_srq_attr *attr);
/*
 * Poster. 0, -EINVAL (number of SGEs), -ENOMEM: full; a slot is free again when
 * the completion of its receive has been polled.
 */
int emu_post_srq_recv(struct emu_srq *srq, const struct emu_recv_wr *wr);

/* ---- queue pairs -------------------------------------------------------- */

struct emu_qp_init {
	enum emu_qp_type type;
	struct emu_cq *send_cq, *recv_cq;
	struct emu_srq *srq; /* or NULL; with one, cap.max_recv_* are ignored, and granted as 0 */
	struct emu_qp_cap cap; /* granted as asked */
	bool sq_sig_all;
	void *user; /* for async_event */
};

/* 0, -EINVAL (capabilities), -EOPNOTSUPP (type), -ENOMEM (max_qp), -ENOSPC (add a slot). */
int emu_qp_create(struct emu_pd *pd, const struct emu_qp_init *init, struct emu_qp **out);
/*
 * Outstanding WRs vanish; completions already in a CQ stay. The caller also
 * keeps out posters of this QP and pollers of its CQs while it runs.
 */
void emu_qp_destroy(struct emu_qp *qp);
uint32_t emu_qp_num(const struct emu_qp *qp);
/* Any thread. */
enum emu_qp_state emu_qp_state(const struct emu_qp *qp);
/*
 * mask: enum emu_qp_attr_mask. 0; -EINVAL: nothing changed; -ENODEV/-ENOMEM.
 * To RESET, as emu_qp_destroy: keep posters and pollers out.
 */
int emu_qp_modify(struct emu_qp *qp, const struct emu_qp_attr *attr, uint32_t mask);
/* Everything, live state and PSNs included. */
void emu_qp_query(const struct emu_qp *qp, struct emu_qp_attr *attr);

/*
 * Poster. 0; -EINVAL (state, opcode, flags, number of SGEs, inline size);
 * -ENOMEM (full: slots come back as completions are polled). Inline data is
 * copied now. Follow a batch with emu_qp_ring.
 */
int emu_post_send(struct emu_qp *qp, const struct emu_send_wr *wr);
/* Poster. The same for n of them: all are queued or none. */
int emu_post_send_all(struct emu_qp *qp, const struct emu_send_wr *wr, uint32_t n);
/* Poster. 0, -EINVAL (number of SGEs; the QP has an SRQ), -ENOMEM (full). */
int emu_post_recv(struct emu_qp *qp, const struct emu_recv_wr *wr);
/*
 * Receive what is sent to a multicast GID. UD only; once per QP and GID.
 * 0, -EINVAL (no UD QP, not a multicast GID, attached already / not attached),
 * -ENOMEM, or what the host said.
 */
int emu_mcast_attach(struct emu_qp *qp, const struct emu_gid *mgid);
int emu_mcast_detach(struct emu_qp *qp, const struct emu_gid *mgid);
/* A multicast GID: ff00::/8, or a mapped IPv4 multicast address (RoCE v2). */
bool emu_gid_is_multicast(const struct emu_gid *gid);

/*
 * Poster, any thread: the QP has new work, emu_run will see to it. Follow with
 * nic_kick(), which runs it at once or wakes the thread that does.
 */
void emu_qp_ring(struct emu_qp *qp);

/* ---- counters ------------------------------------------------------------ */

#define EMU_COUNTERS(X)                                                                           \
	X(rx_packets) X(rx_bytes) X(tx_packets) X(tx_bytes) X(rx_malformed) X(rx_unknown_qp)      \
	X(duplicate_request) X(out_of_sequence) X(rnr_nak_sent) X(rnr_nak_retry)                  \
	X(packet_seq_err) X(local_ack_timeout) X(retransmits) X(cq_overflow)                      \
	X(cm_malformed) X(cm_dropped) X(cm_duplicate) X(cm_backlog_full) X(cm_timeout)

struct emu_counters {
#define EMU_COUNTER_FIELD(name) uint64_t name;
	EMU_COUNTERS(EMU_COUNTER_FIELD)
#undef EMU_COUNTER_FIELD
};

const struct emu_counters *emu_dev_counters(const struct emu_dev *dev);

#pragma GCC visibility pop

#endif
