#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A connected pair with nothing to do uses no CPU time.
set -u
# shellcheck source=tests/apps/lib.sh
. "$(dirname "$0")/lib.sh"

start idle_pair
in_both_forms idle_pair
finish
