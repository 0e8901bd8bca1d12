#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Who may include whom (docs/DESIGN.md): each room sees its own files, the
# contract in include/emu, and what the table says beyond that.
set -u
# shellcheck source=tests/abi/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$abs_top_srcdir" || exit 1

# includes FILE…: "FILE HEADER" for each include, "…" or <…>.
includes() {
	awk 'match($0, /^[ \t]*#[ \t]*include[ \t]*["<][^">]*[">]/) {
		header = $0
		sub(/^[^"<]*/, "", header)
		sub(/[">][^">]*$/, "", header)
		print FILENAME, header
	}' "$@"
}

# only WHAT FILES ALLOWED: every include of the files matches.
only() {
	local bad
	# shellcheck disable=SC2086
	bad=$(includes $2 | grep -vE " ($3)\$")
	check "$1" "" "$bad"
}

# never WHAT FILES FORBIDDEN
never() {
	local bad
	# shellcheck disable=SC2086
	bad=$(includes $2 | grep -E " ($3)\$")
	check "$1" "" "$bad"
}

c_subset='<(string|stdint|stdbool|stdatomic|stdlib|stddef|assert|limits)\.h'
sources() {
	find "$@" -name '*.[ch]' -o -name '*.def'
}

others=$(sources emu shim tools | grep -vE '^emu/wire/(wire_)?ofi')
only "the core sees C, include/emu and itself" "$(sources emu/core)" "$c_subset|<emu/.*|\"(cm/)?[a-z_]+\.(h|def)"
only "the contract sees C and itself" "$(sources include/emu | grep -v -e config -e nic)" \
	"$c_subset|<emu/.*"
never "libfabric is the ofi files' only" "$others" '<rdma/fi_.*|<rdma/fabric\.h'
never "no verbs below the shim" "$(sources emu include/emu)" '<infiniband/.*|<rdma/rdma_.*|<rdma/ib_.*'
never "the shim does not look into the engine" "$(sources shim)" '.*(core|wire|host)/.*'
never "nor does the launcher" "$(sources tools)" '.*(core|wire|host)/.*'
never "threads, clock and errno are not the core's" "$(sources emu/core)" '<(pthread|time|errno|unistd)\.h'
never "programs of the application tests use public headers" \
	"$(sources tests/apps tests/conformance)" '<?"?(emu|abi|verbs|sysfs)/.*'
finish
