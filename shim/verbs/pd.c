/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_alloc_pd, ibv_dealloc_pd. */
#include "pd.h"

#include "context.h"
#include "errno.h"
#include "registry.h"

#include <abi/emulated.h>

#include <stdlib.h>

struct ibv_pd *vs_alloc_pd(struct ibv_context *context)
{
	struct vs_context *ctx = vs_context(context);
	struct vs_pd *pd;
	int err;

	if (!vs_registry_has(context, VS_CONTEXT))
		return vs_null(-EINVAL);
	if (!nic_alive(ctx->nic))
		return vs_null(-EIO);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return vs_null(-ENOMEM);
	pd->pd.context = context;
	err = emu_pd_alloc(nic_lock(ctx->nic), &pd->emu);
	nic_unlock(ctx->nic);
	if (err)
		goto err_free;
	err = vs_registry_add(&pd->pd, VS_PD, context);
	if (err)
		goto err_pd;
	return &pd->pd;

err_pd:
	nic_lock(ctx->nic);
	emu_pd_dealloc(pd->emu);
	nic_unlock(ctx->nic);
err_free:
	free(pd);
	return vs_null(err);
}

int vs_dealloc_pd(struct ibv_pd *pd)
{
	struct nic *nic;
	int err = 0;

	if (!vs_registry_rename(pd, VS_PD, VS_GOING))
		return vs_status(-EINVAL);
	nic = vs_context(pd->context)->nic;
	if (nic_alive(nic)) {
		nic_lock(nic);
		err = emu_pd_dealloc(vs_pd(pd)->emu);
		nic_unlock(nic);
	}
	if (err) {
		vs_registry_rename(pd, VS_GOING, VS_PD);
		return vs_status(err);
	}
	vs_registry_remove(pd, VS_GOING);
	free(vs_pd(pd));
	return 0;
}

void vs_pd_release(struct ibv_pd *pd)
{
	struct nic *nic = vs_context(pd->context)->nic;

	if (nic_alive(nic)) {
		nic_lock(nic);
		emu_pd_dealloc(vs_pd(pd)->emu);
		nic_unlock(nic);
	}
	free(vs_pd(pd));
}
