/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HDR 28

void fake_init(struct emu_dev *dev)
{
	memset(dev, 0, sizeof(*dev));
	dev->last = &dev->first;
}

struct packet *fake_take(struct emu_dev *dev)
{
	struct packet *p = dev->first;

	if (!p)
		return NULL;
	dev->first = p->next;
	if (!dev->first)
		dev->last = &dev->first;
	return p;
}

void fake_clear(struct emu_dev *dev)
{
	struct packet *p;

	while ((p = fake_take(dev)))
		free(p);
	fake_init(dev);
}

void fake_tx(struct emu_tx *tx, uint32_t number, void *memory, size_t payload, uint32_t niov)
{
	size_t at = 0;

	memset(tx, 0, sizeof(*tx));
	tx->hdr_len = HDR;
	memset(tx->hdr, (int)number, HDR);
	memcpy(tx->hdr, &number, sizeof(number));
	tx->payload = payload;
	if (!payload)
		return;
	tx->niov = niov;
	for (uint32_t i = 0; i < niov; i++) {
		size_t len = i + 1 == niov ? payload - at : payload / niov;

		tx->iov[i] = (struct emu_iov){ (char *)memory + at, len };
		at += len;
	}
}

bool fake_matches(const struct packet *p, uint32_t number, const void *memory, size_t payload)
{
	return p->len == HDR + payload && !memcmp(p->bytes, &number, sizeof(number)) &&
	       !memcmp(p->bytes + HDR, memory, payload);
}

/* ---- what wires call ------------------------------------------------------------- */

void emu_input(struct emu_dev *dev, struct wire_peer *src, const void *frame, size_t len)
{
	struct packet *p = malloc(sizeof(*p) + len);

	assert(p);
	p->next = NULL;
	p->src = src;
	p->len = len;
	memcpy(p->bytes, frame, len);
	*dev->last = p;
	dev->last = &p->next;
	dev->received++;
}

void emu_wire_tx_done(struct emu_dev *dev, struct emu_tx *tx)
{
	/* Whoever reads it after this finds rubbish. */
	memset(tx, 0xdb, sizeof(*tx));
	dev->tx_done++;
}

void emu_wire_writable(struct emu_dev *dev, struct wire_peer *peer)
{
	dev->writable++;
}

void emu_wire_answered(struct emu_dev *dev, struct wire_peer *peer)
{
	dev->answered++;
	dev->received_when_answered = dev->received;
}

void emu_wire_gone(struct emu_dev *dev, struct wire_peer *peer)
{
	dev->gone++;
}

int emu_tx_copy(struct emu_dev *dev, const struct emu_tx *tx, void *dst)
{
	uint8_t *at = dst;

	if (dev->unreadable && tx->payload)
		return -EFAULT;
	memcpy(at, tx->hdr, tx->hdr_len);
	at += tx->hdr_len;
	for (uint32_t i = 0; i < tx->niov; i++) {
		memcpy(at, tx->iov[i].base, tx->iov[i].len);
		at += tx->iov[i].len;
	}
	return 0;
}

int emu_tx_probe(struct emu_dev *dev, const struct emu_tx *tx)
{
	return dev->unreadable ? -EFAULT : 0;
}

void sv_log(enum sv_log_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}
