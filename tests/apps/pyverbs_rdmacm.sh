#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The rdma_cm tests that Debian ships with pyverbs, in both forms. They are
# counted by their "ok" lines: most of what goes wrong there ends as a skip.
set -u
# shellcheck source=tests/apps/lib.sh
. "$(dirname "$0")/lib.sh"

suite=/usr/share/doc/rdma-core/tests
python=/usr/bin/python3
wanted=10

# The GID of an address that is not loopback: the tests look for its interface's addresses.
outside_gid() {
	"$softverbs" devices | awk '$1 == "GID" && $3 ~ /^::ffff:/ && $4 != "lo" { print $2; exit }'
}

start pyverbs_rdmacm
[ -d "$suite" ] || skip "python3-pyverbs is not installed"
gid=$(outside_gid)
[ -n "$gid" ] || skip "this host has no IPv4 address but loopback"
cp -r "$suite" "$out/tests" || die "cannot copy $suite"
gunzip -f "$out"/tests/*.gz || die "cannot unpack $suite"
cd "$out" || exit 1
limit=120
for form in "${forms[@]}"; do
	on_device "$form" "$python" tests/run_tests.py --dev softverbs0 --gid "$gid" -v \
		tests.test_rdmacm
	"${launch[@]}" >"$form" 2>&1 9>&-
	passed=$(grep -c '\.\.\. ok$' "$form")
	if [ "$passed" -eq "$wanted" ]; then
		ok "$passed tests ($form)"
	else
		not_ok "$passed of $wanted tests are ok ($form)" "$form"
	fi
done
finish
