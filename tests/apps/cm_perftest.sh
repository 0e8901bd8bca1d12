#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The cases of group "perftest" in cm.tbl.
exec "$(dirname "$0")/cm.sh" perftest
