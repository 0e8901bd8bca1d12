#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kill -9 in each state of a connection of rdma_cm, 20 times.
set -u
# shellcheck source=tests/apps/lib.sh
. "$(dirname "$0")/lib.sh"

start cm_death
# A process of another test that took a dead one's TCP port would be asked in its place.
export SOFTVERBS_PORT_BASE=20480
limit=300
forms=(dropin)
in_both_forms cm_death 20
finish
