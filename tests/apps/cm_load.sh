#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rdma_cm under load: thousands of connections one after the other, and hundreds
# at the same moment.
set -u
# shellcheck source=tests/apps/lib.sh
. "$(dirname "$0")/lib.sh"

start cm_load
limit=600
in_both_forms cm_crowd 200
forms=(dropin)
in_both_forms cm_cycles 10000
finish
