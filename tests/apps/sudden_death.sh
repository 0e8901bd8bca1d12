#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kill -9 of either side, 50 times in each form: the survivor is told, and no
# file is left in /dev/shm or /tmp.
set -u
# shellcheck source=tests/apps/lib.sh
. "$(dirname "$0")/lib.sh"

# Files there that the emulator or libfabric could have made.
leftovers() {
	find /dev/shm /tmp -maxdepth 1 -newer "$out/stamp" \
		\( -iname '*softverbs*' -o -name 'fi_*' -o -iname '*ofi*' \) 2>/dev/null
}

start sudden_death
touch "$out/stamp"
# Ports of its own: a process of another test that took a dead side's port would be asked in its
# place, and the survivor would wait for a stranger to answer.
export SOFTVERBS_PORT_BASE=24576
limit=300
in_both_forms sudden_death 50
SOFTVERBS_FAST_DEATH=yes in_both_forms sudden_death 3
if [ -z "$(leftovers)" ]; then
	ok "nothing left behind"
else
	not_ok "left behind: $(leftovers | tr '\n' ' ')"
fi
finish
