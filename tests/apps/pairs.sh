#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the cases of one group of pairs.tbl (the name of the script, or the
# first argument) in both forms and checks what the programs print.
set -u
# shellcheck source=tests/apps/lib.sh
. "$(dirname "$0")/lib.sh"

# expected_sizes WANT: the sizes that WANT stands for.
expected_sizes() {
	if [ "$1" = all ]; then
		for ((size = 2; size <= 8388608; size *= 2)); do echo "$size"; done
	else
		echo "$1"
	fi
}

# rows_ok WANT FILE: each expected result once, all of it figures. perftest prints its own
# standard deviation (column 7 of the latencies) as nan now and then.
rows_ok() {
	local want=$1 file=$2
	if [ "$want" = iters ]; then
		[ "$(grep -cE '^[0-9]+ iters in [0-9.]+ seconds = [0-9.]+ usec/iter$' "$file")" -eq 1 ]
		return
	fi
	diff <(expected_sizes "$want") \
		<(awk '$1 ~ /^[0-9]+$/ && NF >= 4 {
			for (i = 2; i <= NF; i++)
				if ($i !~ /^[0-9]+([.][0-9]+)?$/ && !(i == 7 && $i ~ /nan/)) next
			print $1 }' "$file")
}

# complaints FILE…: what is on stderr, but for perftest's remark that the machine was too busy to
# measure the frequency of its clock.
complaints() {
	cat "$@" | grep -v '^Correlation coefficient r^2: '
}

check_case() {
	local form=$1 number=$2 want=$3 log what
	shift 3
	log=$out/$number-$form
	what="$* ($form)"
	if ! run_pair "$form" "$log" "$@"; then
		not_ok "$what: exit status" "$log".*
	elif complaints "$log.client.err" "$log.server.err" >"$log.complaints"; then
		not_ok "$what: something on stderr" "$log.client.err" "$log.server.err"
	elif ! rows_ok "$want" "$log.client" >"$log.diff"; then
		not_ok "$what: the result rows" "$log.diff" "$log.client"
	else
		ok "$what"
	fi
}

run_group() {
	local group want command form number=0
	while read -r group want command; do
		[ "$group" = "$1" ] || continue
		number=$((number + 1))
		read -ra words <<<"$command"
		need "${words[0]}"
		[ "$1" = pingpong ] || words+=(-F)
		for form in "${forms[@]}"; do
			check_case "$form" "$number" "$want" "${words[@]}" </dev/null
		done
	done <"$abs_top_srcdir/tests/apps/pairs.tbl"
	[ "$number" -gt 0 ] || die "no case in group $1"
}

start "pairs_$1"
run_group "$1"
finish
