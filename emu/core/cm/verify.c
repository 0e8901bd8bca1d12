// SPDX-License-Identifier: BSD-2-Clause
#include "cm/verify.h"

#include "cm/door.h"
#include "cm/out.h"

/* Wires do not connect again at once; a dying process may take a moment to close all it has. */
#define VERIFY_AFTER_NS 20000000u

static void start_probing(struct emu_cm_id *id)
{
	if (!id->probing)
		id->cm->probing++;
	id->probing = true;
}

void emu_cm_stop_probing(struct emu_cm_id *id)
{
	if (id->probing)
		id->cm->probing--;
	id->probing = false;
}

void emu_cm_bury(struct emu_cm_id *id)
{
	const struct emu_cm_in nothing = { 0 };

	emu_cm_stop_probing(id);
	emu_timer_stop(&id->cm->dev->timers, &id->verify);
	emu_cm_do(id, EMU_CM_ON_PEER_GONE, &nothing);
}

void emu_cm_verify(struct emu_cm_id *id)
{
	if (emu_cm_can(id, EMU_CM_ON_PEER_GONE))
		emu_cm_out_probe(id);
}

void emu_cm_probe(struct emu_cm_id *id)
{
	struct wire_peer *peer = id->route.peer;

	if (peer->ops->probe(peer) == WIRE_PROBE_STARTED)
		start_probing(id);
	else if (emu_cm_can(id, EMU_CM_ON_PEER_GONE))
		emu_cm_bury(id);
}

void emu_cm_answered(struct emu_dev *dev, const struct wire_peer *peer)
{
	struct emu_cm *cm = dev->cm;

	for (uint32_t i = cm->ids.first; cm->probing && i < cm->ids.high; i++) {
		struct emu_cm_id *id = emu_cm_id_at(cm, i);

		if (id && id->route.peer == peer)
			emu_cm_stop_probing(id);
	}
}

void emu_cm_gone(struct emu_dev *dev, const struct wire_peer *peer)
{
	struct emu_cm *cm = dev->cm;

	for (uint32_t i = cm->ids.first; i < cm->ids.high; i++) {
		struct emu_cm_id *id = emu_cm_id_at(cm, i);

		if (!id || id->route.peer != peer || !emu_cm_can(id, EMU_CM_ON_PEER_GONE))
			continue;
		if (id->probing)
			emu_cm_bury(id);
		else if (id->verify.deadline == EMU_NEVER)
			emu_timer_set(&dev->timers, &id->verify, dev->now + VERIFY_AFTER_NS);
	}
}
