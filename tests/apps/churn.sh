#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# 10,000 lives of a connection leave nothing behind.
set -u
# shellcheck source=tests/apps/lib.sh
. "$(dirname "$0")/lib.sh"

start churn
limit=120
in_both_forms churn
finish
