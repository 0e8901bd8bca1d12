#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A target that does not call the library is written, read and updated.
set -u
# shellcheck source=tests/apps/lib.sh
. "$(dirname "$0")/lib.sh"

start passive_target
in_both_forms passive_target pause
in_both_forms passive_target compute
finish
