#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# 1,000 connections in one pair of processes.
set -u
# shellcheck source=tests/apps/lib.sh
. "$(dirname "$0")/lib.sh"

start many_qps
in_both_forms many_qps
finish
