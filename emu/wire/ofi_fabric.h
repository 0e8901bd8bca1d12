/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OFI_FABRIC_H
#define OFI_FABRIC_H

#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * libfabric, loaded at run time, with the one provider, domain, event queue
 * and completion queue that all links of the process share.
 */
struct ofi_fabric {
	struct fi_info *info; /* what the provider offers; addresses are put in per endpoint */
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	int eq_fd, cq_fd;
	size_t inject_max, iov_max;
};

/* 0, or -errno after a line on stderr. */
int ofi_fabric_open(struct ofi_fabric *f, const char *provider);
/* Every endpoint is closed. */
void ofi_fabric_close(struct ofi_fabric *f);
/*
 * Fill info to make an endpoint from: src to bind to, or dest to connect to, the
 * other NULL. It borrows both and is not to be freed.
 */
void ofi_fabric_info(const struct ofi_fabric *f, const struct sockaddr *src,
		     const struct sockaddr *dest, struct fi_info *info);
/* The info that came with a connection request. */
void ofi_fabric_freeinfo(struct fi_info *info);
/* No event is unseen: sleeping on eq_fd and cq_fd loses none. */
bool ofi_fabric_may_sleep(struct ofi_fabric *f);

#endif
