/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CS_CONNECT_H
#define CS_CONNECT_H

#include "id.h"

/* What this side of a request has to say, as far as the other side has fixed it. */
void cs_connect_prepare(struct cs_id *id);

#endif
