/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Challenge and response over SOFTVERBS_SECRET: HMAC-SHA256 of both nonces,
 * both slots and the role. It keeps strangers out; it does not encrypt.
 */
#include "ofi_proof.h"

#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

void ofi_nonce(uint8_t nonce[OFI_NONCE_SIZE])
{
	struct timespec ts;

	if (getrandom(nonce, OFI_NONCE_SIZE, 0) == OFI_NONCE_SIZE)
		return;
	/* A kernel without random numbers: unique is what matters most. */
	clock_gettime(CLOCK_REALTIME, &ts);
	memset(nonce, 0, OFI_NONCE_SIZE);
	memcpy(nonce, &ts.tv_sec, 8);
	memcpy(nonce + 8, &ts.tv_nsec, 8);
}

void ofi_prove(const char *secret, bool by_opener, const struct ofi_transcript *t,
	       uint8_t proof[OFI_PROOF_SIZE])
{
	uint8_t slots[4] = {
		(uint8_t)(t->opener_slot >> 8),
		(uint8_t)t->opener_slot,
		(uint8_t)(t->accepter_slot >> 8),
		(uint8_t)t->accepter_slot,
	};
	const char *role = by_opener ? "softverbs opener" : "softverbs accept";
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, strlen(secret), (const uint8_t *)secret);
	hmac_sha256_update(&ctx, strlen(role), (const uint8_t *)role);
	hmac_sha256_update(&ctx, OFI_NONCE_SIZE, t->opener_nonce);
	hmac_sha256_update(&ctx, OFI_NONCE_SIZE, t->accepter_nonce);
	hmac_sha256_update(&ctx, sizeof(slots), slots);
	hmac_sha256_digest(&ctx, OFI_PROOF_SIZE, proof);
}

bool ofi_proven(const char *secret, bool by_opener, const struct ofi_transcript *t,
		const uint8_t proof[OFI_PROOF_SIZE])
{
	uint8_t expected[OFI_PROOF_SIZE];

	ofi_prove(secret, by_opener, t, expected);
	return memeql_sec(expected, proof, OFI_PROOF_SIZE);
}
