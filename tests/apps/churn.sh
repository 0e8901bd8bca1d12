#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# 10,000 lives of a connection leave nothing behind.
set -u
# shellcheck source=tests/apps/lib.sh
. "$(dirname "$0")/lib.sh"

start churn
limit=240
forms=(dropin)
in_both_forms churn 10000
forms=(preload)
in_both_forms churn 2000
finish
