/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stand-in for the core that wires are tested against: it records what the
 * wire hands it and answers what the wire asks. One struct emu_dev per end.
 */
#ifndef TEST_WIRE_FAKE_H
#define TEST_WIRE_FAKE_H

#include <emu/config.h>
#include <emu/emu.h>

struct packet {
	struct packet *next;
	struct wire_peer *src;
	size_t len;
	uint8_t bytes[];
};

struct emu_dev {
	struct packet *first, **last; /* received, oldest first */
	unsigned received, gone, answered, writable, tx_done;
	unsigned received_when_answered;
	bool unreadable; /* user memory is */
};

void fake_init(struct emu_dev *dev);
void fake_clear(struct emu_dev *dev);
/* The oldest packet, for the caller to free; NULL: none. */
struct packet *fake_take(struct emu_dev *dev);

/* Header of hdr_len bytes (a running number in front), payload from niov pieces of memory. */
void fake_tx(struct emu_tx *tx, uint32_t number, void *memory, size_t payload, uint32_t niov);
/* Is this the packet of that number with that payload? */
bool fake_matches(const struct packet *p, uint32_t number, const void *memory, size_t payload);

#endif
