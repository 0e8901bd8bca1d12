# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# What the scripts of this folder share. Sourced by scripts that run with set -u.
# shellcheck disable=SC2034 # variables for those scripts

: "${abs_top_builddir:=$PWD}" "${abs_top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
softverbs=$abs_top_builddir/tools/softverbs
libs=$abs_top_builddir/shim/.libs
here=$abs_top_builddir/tests/abi
export SOFTVERBS_MODE=emulate
unset LD_PRELOAD LD_LIBRARY_PATH
failures=0

skip() {
	echo "skip: $*"
	exit 77
}

ok() {
	echo "ok $*"
}

# not_ok WHAT TEXT: count a failure and show what there was.
not_ok() {
	echo "not ok $1"
	printf '%s\n' "${2:-}" | tail -n 30 | sed 's/^/    /'
	failures=$((failures + 1))
}

# check WHAT EXPECTED GOT
check() {
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "$(diff <(echo "$2") <(echo "$3"))"; fi
}

# says WHAT PATTERN CMD…: the command succeeds and its output has the pattern.
says() {
	local what=$1 pattern=$2 output
	shift 2
	if output=$(timeout 60 "$@" 2>&1) && grep -qE -e "$pattern" <<<"$output"; then
		ok "$what"
	else
		not_ok "$what" "$output"
	fi
}

# fails WHAT STATUS PATTERN CMD…: exit status, and one line that has the pattern.
fails() {
	local what=$1 expected=$2 pattern=$3 output status=0
	shift 3
	output=$(timeout 60 "$@" 2>&1) || status=$?
	if [ "$status" -eq "$expected" ] && [ "$(wc -l <<<"$output")" -eq 1 ] &&
		grep -qE -e "$pattern" <<<"$output"; then
		ok "$what"
	else
		not_ok "$what: status $status" "$output"
	fi
}

finish() {
	[ "$failures" -eq 0 ]
	exit
}
