/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting, bounded, for packets to leave: at the end of a device and of a memory region. */
#include "flush.h"

#include "progress.h"

#include <errno.h>
#include <poll.h>

#define FLUSH_NS 200000000u
/* A peer that reads nothing keeps a region busy no longer than this. */
#define DEREG_NS 1000000000u

/* Until a wire has news, or a millisecond. */
static void doze(struct nic *nic)
{
	struct pollfd p[WIRE_OFI_FDS];
	int wires[WIRE_OFI_FDS];

	if (!nic->ofi)
		return;
	wire_ofi_wait_fds(nic->ofi, wires);
	for (int i = 0; i < WIRE_OFI_FDS; i++)
		p[i] = (struct pollfd){ .fd = wires[i], .events = POLLIN };
	poll(p, WIRE_OFI_FDS, 1);
}

static bool is_sending(const struct nic *nic)
{
	return (nic->ofi && wire_ofi_sending(nic->ofi)) || emu_cm_sending(nic->dev);
}

void nic_flush(struct nic *nic)
{
	uint64_t end = nic_now() + FLUSH_NS;
	bool more;

	nic_enter(nic);
	if (!atomic_load(&nic->inert)) {
		nic_pass(nic, false);
		if (nic->ofi)
			wire_ofi_confirm(nic->ofi);
	}
	nic_leave(nic);
	for (;;) {
		nic_enter(nic);
		more = !atomic_load(&nic->inert) && (nic_pass(nic, false) || is_sending(nic));
		nic_leave(nic);
		if (!more || nic_now() >= end)
			return;
		doze(nic);
	}
}

void nic_cm_flush(struct nic *nic)
{
	uint64_t end = nic_now() + FLUSH_NS;
	bool more;

	for (;;) {
		nic_enter(nic);
		more = !atomic_load(&nic->inert) && emu_cm_sending(nic->dev);
		if (more)
			nic_pass(nic, false);
		nic_leave(nic);
		if (!more || nic_now() >= end)
			return;
		doze(nic);
	}
}

int nic_mr_dereg(struct nic *nic, struct emu_mr *mr)
{
	uint64_t cut = nic_now() + DEREG_NS, end = cut + DEREG_NS;
	int ret;

	for (;;) {
		nic_enter(nic);
		ret = emu_mr_dereg(mr);
		if (ret == -EAGAIN && !atomic_load(&nic->inert)) {
			nic_pass(nic, false);
			if (nic_now() >= cut) {
				emu_mr_abort_io(mr);
				cut = UINT64_MAX;
			}
		}
		nic_leave(nic);
		if (ret != -EAGAIN)
			return ret;
		if (nic_now() >= end || atomic_load(&nic->inert))
			return -EBUSY;
		doze(nic);
	}
}
