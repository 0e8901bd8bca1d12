/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OFI_PROOF_H
#define OFI_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#define OFI_NONCE_SIZE 16
#define OFI_PROOF_SIZE 32

/* What both ends of a link have said in the clear. */
struct ofi_transcript {
	uint8_t opener_nonce[OFI_NONCE_SIZE], accepter_nonce[OFI_NONCE_SIZE];
	uint16_t opener_slot, accepter_slot;
};

void ofi_nonce(uint8_t nonce[OFI_NONCE_SIZE]);
/* Knowledge of the secret by one end, bound to this link: nothing to replay elsewhere. */
void ofi_prove(const char *secret, bool by_opener, const struct ofi_transcript *t,
	       uint8_t proof[OFI_PROOF_SIZE]);
bool ofi_proven(const char *secret, bool by_opener, const struct ofi_transcript *t,
		const uint8_t proof[OFI_PROOF_SIZE]);

#endif
