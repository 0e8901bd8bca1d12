/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CS_MCAST_H
#define CS_MCAST_H

#include "id.h"

/* MULTICAST_JOIN is fetched: the id's QP, if it has one, joins. Returns true. */
bool cs_group_joined(struct cs_notice *n);
/* The join event is being delivered: leaving waits until it is acknowledged. Id's lock held. */
void cs_group_fetched(struct cs_group *group);
/* An event about the group was acknowledged; the id's lock is held. */
void cs_group_acked(struct cs_group *group);
/* The id goes away. */
void cs_groups_free(struct cs_id *id);

#endif
