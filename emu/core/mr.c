// SPDX-License-Identifier: BSD-2-Clause
#include "mr.h"

#include <assert.h>
#include <stdlib.h>

#include "err.h"

#define KIND_REMOTE 0x80u
#define GEN_MASK 0x7fu

#define KNOWN_ACCESS                                                                              \
	(EMU_ACCESS_LOCAL_WRITE | EMU_ACCESS_REMOTE_WRITE | EMU_ACCESS_REMOTE_READ |              \
	 EMU_ACCESS_REMOTE_ATOMIC | EMU_ACCESS_MW_BIND | EMU_ACCESS_HUGETLB |                     \
	 EMU_ACCESS_RELAXED_ORDERING)
#define NEEDS_LOCAL_WRITE (EMU_ACCESS_REMOTE_WRITE | EMU_ACCESS_REMOTE_ATOMIC)

int emu_pd_alloc(struct emu_dev *dev, struct emu_pd **out)
{
	struct emu_pd *pd;

	if (dev->pds >= dev->cfg.limits.max_pd)
		return -EMU_ENOMEM;
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return -EMU_ENOMEM;
	pd->dev = dev;
	dev->pds++;
	*out = pd;
	return 0;
}

int emu_pd_dealloc(struct emu_pd *pd)
{
	if (pd->refs)
		return -EMU_EBUSY;
	pd->dev->pds--;
	free(pd);
	return 0;
}

static bool registrable(const struct emu_mr *mr)
{
	if (mr->access & ~KNOWN_ACCESS)
		return false;
	if ((mr->access & NEEDS_LOCAL_WRITE) && !(mr->access & EMU_ACCESS_LOCAL_WRITE))
		return false;
	return mr->len <= UINT64_MAX - mr->addr && mr->len <= UINT64_MAX - mr->iova &&
	       mr->len <= mr->dev->cfg.limits.max_mr_size;
}

int emu_mr_reg(struct emu_pd *pd, uint64_t addr, uint64_t iova, uint64_t len, uint32_t access,
	       struct emu_mr **out)
{
	struct emu_dev *dev = pd->dev;
	struct emu_mr want = {
		.dev = dev, .pd = pd, .addr = addr, .iova = iova, .len = len, .access = access,
	};
	struct emu_mr *mr;
	int ret;

	if (!registrable(&want))
		return -EMU_EINVAL;
	mr = malloc(sizeof(*mr));
	if (!mr)
		return -EMU_ENOMEM;
	*mr = want;
	ret = emu_idtab_add(&dev->mrs, mr, &mr->index);
	if (ret) {
		free(mr);
		return ret;
	}
	mr->gen = dev->mr_gen++ & GEN_MASK;
	pd->refs++;
	*out = mr;
	return 0;
}

static void end_keys(struct emu_mr *mr)
{
	if (mr->dead)
		return;
	emu_idtab_del(&mr->dev->mrs, mr->index);
	mr->dead = true;
}

int emu_mr_dereg(struct emu_mr *mr)
{
	end_keys(mr);
	if (mr->inflight)
		return -EMU_EAGAIN;
	mr->pd->refs--;
	free(mr);
	return 0;
}

void emu_mr_abort_io(struct emu_mr *mr)
{
	emu_dev_abort_io(mr->dev, mr);
}

uint32_t emu_mr_lkey(const struct emu_mr *mr)
{
	return mr->index << 8 | mr->gen;
}

uint32_t emu_mr_rkey(const struct emu_mr *mr)
{
	return mr->index << 8 | KIND_REMOTE | mr->gen;
}

static enum emu_mr_verdict check(const struct emu_pd *pd, const struct emu_access_req *req,
				 uint32_t kind, struct emu_mr **out)
{
	struct emu_mr *mr = emu_idtab_get(&pd->dev->mrs, req->key >> 8);
	uint64_t off;

	if (!mr || mr->pd != pd || (req->key & 0xff) != (kind | mr->gen))
		return EMU_MR_KEY;
	if ((mr->access & req->access) != req->access)
		return EMU_MR_RIGHT;
	off = req->va - mr->iova; /* below iova: wraps, and is too big */
	if (off > mr->len || req->len > mr->len - off)
		return EMU_MR_RANGE;
	*out = mr;
	return EMU_MR_OK;
}

enum emu_mr_verdict emu_mr_check_local(const struct emu_pd *pd, const struct emu_access_req *req,
				       struct emu_mr **out)
{
	return check(pd, req, 0, out);
}

enum emu_mr_verdict emu_mr_check_remote(const struct emu_pd *pd, const struct emu_access_req *req,
					struct emu_mr **out)
{
	return check(pd, req, KIND_REMOTE, out);
}
