/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_reg_mr, ibv_reg_mr_iova, ibv_reg_mr_iova2, ibv_rereg_mr, ibv_dereg_mr.
 * The first three are one function: <infiniband/verbs.h> chooses among them by
 * the access flags alone.
 */
#include "mr.h"

#include "context.h"
#include "errno.h"
#include "pd.h"
#include "registry.h"

#include <abi/emulated.h>

#include <stdlib.h>

/* IBV_ACCESS_ZERO_BASED: peers and SGEs name bytes by their offset. */
static uint64_t name_of(unsigned int access, uint64_t iova)
{
	return access & IBV_ACCESS_ZERO_BASED ? 0 : iova;
}

/* Flags a device may ignore when it does not know them: ibv_reg_mr(3). */
static unsigned int known_access(unsigned int access)
{
	return access & ~(IBV_ACCESS_OPTIONAL_RANGE & ~IBV_ACCESS_RELAXED_ORDERING);
}

/*
 * The core looks at the flags before the memory is looked at, as the kernel
 * does: bad flags on a bad address are EINVAL, not EFAULT.
 */
static int register_range(struct nic *nic, struct vs_pd *pd, struct vs_mr *mr)
{
	uint64_t addr = (uintptr_t)mr->mr.addr;
	bool writes = mr->access & IBV_ACCESS_LOCAL_WRITE;
	int err;

	if (mr->access & IBV_ACCESS_ON_DEMAND)
		return -EOPNOTSUPP;
	nic_lock(nic);
	err = emu_mr_reg(pd->emu, addr, mr->iova, mr->mr.length,
	                 mr->access & ~(unsigned int)IBV_ACCESS_ZERO_BASED, &mr->emu);
	nic_unlock(nic);
	if (err)
		return err;
	err = mr->mr.length ? nic_mem_check(addr, mr->mr.length, writes) : 0;
	if (err) {
		nic_mr_dereg(nic, mr->emu);
		return err;
	}
	mr->mr.context = pd->pd.context;
	mr->mr.pd = &pd->pd;
	mr->mr.lkey = emu_mr_lkey(mr->emu);
	mr->mr.rkey = emu_mr_rkey(mr->emu);
	return 0;
}

struct ibv_mr *vs_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                               unsigned int access)
{
	struct vs_mr *mr;
	struct nic *nic;
	int err;

	if (!vs_registry_has(pd, VS_PD))
		return vs_null(-EINVAL);
	nic = vs_context(pd->context)->nic;
	if (!nic_alive(nic))
		return vs_null(-EIO);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return vs_null(-ENOMEM);
	mr->mr.addr = addr;
	mr->mr.length = length;
	mr->iova = name_of(access, iova);
	mr->access = known_access(access);
	err = register_range(nic, vs_pd(pd), mr);
	if (err)
		goto err_free;
	err = vs_registry_add(&mr->mr, VS_MR, pd->context);
	if (err)
		goto err_dereg;
	return &mr->mr;

err_dereg:
	nic_mr_dereg(nic, mr->emu);
err_free:
	free(mr);
	return vs_null(err);
}

struct ibv_mr *vs_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                              int access)
{
	return vs_reg_mr_iova2(pd, addr, length, iova, access);
}

struct ibv_mr *vs_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return vs_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, access);
}

/* ibv_rereg_mr(3): conceptually a deregistration followed by a registration. */
int vs_rereg_mr(struct ibv_mr *ibmr, int flags, struct ibv_pd *pd, void *addr, size_t length,
                int access)
{
	struct vs_mr *mr = vs_mr(ibmr);
	struct vs_mr new;
	struct nic *nic;
	int err;

	if (!(flags & IBV_REREG_MR_CHANGE_PD) && vs_registry_has(ibmr, VS_MR))
		pd = ibmr->pd;
	if (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED || !vs_registry_has(ibmr, VS_MR) ||
	    !vs_registry_has(pd, VS_PD) ||
	    (flags & IBV_REREG_MR_CHANGE_TRANSLATION && (!addr || !length))) {
		errno = EINVAL;
		return IBV_REREG_MR_ERR_INPUT;
	}
	nic = vs_context(pd->context)->nic;
	if (!nic_alive(nic)) {
		errno = EIO;
		return IBV_REREG_MR_ERR_CMD;
	}

	new = *mr;
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		new.access = known_access(access);
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		new.mr.addr = addr;
		new.mr.length = length;
		new.iova = name_of(new.access, (uintptr_t)addr);
	}
	err = register_range(nic, vs_pd(pd), &new);
	if (!err) {
		err = nic_mr_dereg(nic, mr->emu);
		if (err)
			nic_mr_dereg(nic, new.emu);
	}
	if (err) {
		errno = -err;
		return IBV_REREG_MR_ERR_CMD;
	}
	*mr = new;
	return 0;
}

int vs_dereg_mr(struct ibv_mr *mr)
{
	struct nic *nic;
	int err;

	if (!vs_registry_rename(mr, VS_MR, VS_GOING))
		return vs_status(-EINVAL);
	nic = vs_context(mr->context)->nic;
	err = nic_alive(nic) ? nic_mr_dereg(nic, vs_mr(mr)->emu) : 0;
	if (err) {
		vs_registry_rename(mr, VS_GOING, VS_MR);
		return vs_status(err);
	}
	vs_registry_remove(mr, VS_GOING);
	free(vs_mr(mr));
	return 0;
}

void vs_mr_release(struct ibv_mr *mr)
{
	struct nic *nic = vs_context(mr->context)->nic;

	if (nic_alive(nic))
		nic_mr_dereg(nic, vs_mr(mr)->emu);
	free(vs_mr(mr));
}
