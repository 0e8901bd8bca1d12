#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rdma_cm between two hosts: with SOFTVERBS_ALLOW, and not without it.
set -u
# shellcheck source=tests/apps/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/apps/hosts.sh
. "$(dirname "$0")/hosts.sh"

port=7471

wait_bound_on() {
	on "$1" bash -c "
		for ((i = 0; i < 200; i++)); do
			grep -qi ':$(printf %04X "$2") ' /proc/self/net/udp && exit 0
			kill -0 $3 2>/dev/null || exit 1
			sleep 0.05
		done
		exit 1"
}

# pair LOG ALLOW SERVER CLIENT: the client's exit status; both hosts allow the same.
pair() {
	local log=$1 rc=0 server
	local -a server_words client_words
	read -ra server_words <<<"$3"
	read -ra client_words <<<"$4"
	SOFTVERBS_ALLOW=$2 nsenter --net="/run/netns/$a" timeout 60 "$softverbs" run -- \
		"${server_words[@]}" >"$log.server" 2>&1 9>&- &
	server=$!
	wait_bound_on "$a" "${wait_port:-$port}" "$server" || return 99
	sleep 0.2
	SOFTVERBS_ALLOW=$2 on "$b" timeout "${patience:-60}" "$softverbs" run -- \
		"${client_words[@]}" >"$log.client" 2>&1 9>&- || rc=$?
	[ "$rc" -eq 0 ] || kill "$server" 2>/dev/null
	wait "$server" || [ "$rc" -ne 0 ] || rc=98
	return "$rc"
}

connects() {
	if pair "$out/$1" "$net" "$2" "$3"; then
		ok "$3"
	else
		not_ok "$3: $?" "$out/$1".*
	fi
}

start cm_two_hosts
need rping udaddy mckey
make_hosts
connects rping "rping -s -a 10.77.0.1 -p $port -C 10 -v -V" \
	"rping -c -a 10.77.0.1 -p $port -C 10 -v -V"
connects any "rping -s -p $port -C 3" "rping -c -a 10.77.0.1 -p $port -C 3"
wait_port=7174 connects udaddy "udaddy -b 10.77.0.1" "udaddy -s 10.77.0.1"
wait_port=28673 connects mckey "mckey -m 239.1.1.1 -b 10.77.0.1" \
	"mckey -s -m 239.1.1.1 -b 10.77.0.2"

# The question itself is not answered, so the client is left to its timeouts.
if patience=3 pair "$out/refused" "" "rping -s -a 10.77.0.1 -p $port -C 3" \
	"rping -c -a 10.77.0.1 -p $port -C 3"; then
	not_ok "a host that is not allowed connects" "$out"/refused.*
elif ! grep -q SOFTVERBS_ALLOW "$out/refused.client"; then
	not_ok "a host that is not allowed is not told why" "$out"/refused.*
else
	ok "a host that is not allowed gets no answer"
fi
finish
