# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# What the scripts of this folder share: the launcher in both its forms, a
# place for output, ports that nobody else uses, and the pair of a server and
# a client. Sourced by scripts that run with set -u; everything is bounded.

: "${abs_top_builddir:=$PWD}" "${abs_top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
# shellcheck source=.ci/common.sh
. "$abs_top_srcdir/.ci/common.sh"

softverbs=$abs_top_builddir/tools/softverbs
here=$abs_top_builddir/tests/apps
export SOFTVERBS_MODE=emulate
forms=(dropin preload)
failures=0

skip() {
	echo "skip: $*"
	exit 77
}

# need PROGRAM…: skip the test when one is absent.
need() {
	local program
	for program in "$@"; do
		command -v "$program" >/dev/null || skip "$program is not installed"
	done
}

# one_at_a_time: these tests keep both ends busy; side by side they would only wait for each other.
one_at_a_time() {
	exec 9>"$here/.lock"
	flock -w 1200 9 || die "another test of this folder does not end"
}

# start NAME: begin a test script; makes $out, a directory for its output.
start() {
	me=$1
	out=$here/$1.out
	rm -rf "$out"
	mkdir -p "$out"
	one_at_a_time
	trap stop_all EXIT
}

# What is still running when the script ends was started here.
stop_all() {
	local pid
	for pid in $(jobs -p); do kill "$pid" 2>/dev/null; done
	wait 2>/dev/null
}

# finish: the exit status of the script.
finish() {
	[ "$failures" -eq 0 ]
	exit
}

ok() {
	echo "ok $*"
}

# not_ok WHAT FILE…: count a failure and show the files.
not_ok() {
	echo "not ok $1"
	failures=$((failures + 1))
	shift
	local file
	for file in "$@"; do
		echo "--- ${file##*/}:"
		tail -n 25 "$file"
	done
}

# free_port: sets $port, not used before by any test of this build directory and free now.
free_port() {
	local last
	last=$(cat "$here/.port" 2>/dev/null || echo $((10000 + RANDOM % 5000)))
	port=$((last + 1))
	[ "$port" -lt 18000 ] || port=10000
	while listening "$port"; do port=$((port + 1)); done
	echo "$port" >"$here/.port"
}

# on_device FORM CMD…: sets $launch to the line that runs CMD on the emulated device, in one form.
on_device() {
	local form=$1
	shift
	launch=(timeout -k 5 "${limit:-60}" "$softverbs" run)
	[ "$form" = dropin ] || launch+=("--$form")
	launch+=(-- "$@")
}

# run_pair FORM LOG CMD…: CMD as the server, then CMD 127.0.0.1; output to LOG.{server,client}{,.err}
run_pair() {
	local form=$1 log=$2 server client_rc=0 server_rc=0
	shift 2
	free_port
	on_device "$form" "$@" -p "$port"
	"${launch[@]}" >"$log.server" 2>"$log.server.err" 9>&- &
	server=$!
	if ! wait_listening "$port" "$server"; then
		kill "$server" 2>/dev/null
		wait "$server"
		echo "the server did not listen" >"$log.client.err"
		return 1
	fi
	"${launch[@]}" 127.0.0.1 >"$log.client" 2>"$log.client.err" 9>&- || client_rc=$?
	[ "$client_rc" -eq 0 ] || kill "$server" 2>/dev/null
	wait "$server" || server_rc=$?
	echo "exit status: client $client_rc, server $server_rc" >"$log.status"
	[ "$client_rc" -eq 0 ] && [ "$server_rc" -eq 0 ]
}

# in_both_forms PROGRAM ARGUMENT…: one of our own test programs, which tells by itself how it went.
in_both_forms() {
	local form name=$1
	shift
	for form in "${forms[@]}"; do
		on_device "$form" "$here/$name" "$@"
		if "${launch[@]}" >"$out/$form" 2>&1 9>&-; then
			sed 's/^/# /' "$out/$form"
			ok "$name $* ($form)"
		else
			not_ok "$name $* ($form), exit status $?" "$out/$form"
		fi
	done
}
