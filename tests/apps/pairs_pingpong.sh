#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The cases of group "pingpong" in pairs.tbl.
exec "$(dirname "$0")/pairs.sh" pingpong
