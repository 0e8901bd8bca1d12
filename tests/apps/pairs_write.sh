#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The cases of group "write" in pairs.tbl.
exec "$(dirname "$0")/pairs.sh" write
