#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the cases of one group of cm.tbl (the first argument) in both forms.
set -u
# shellcheck source=tests/apps/lib.sh
. "$(dirname "$0")/lib.sh"

ip=127.0.0.1
# An address of this host that is not loopback; empty: it has none.
own=$("$softverbs" devices | awk '$1 == "GID" && $3 ~ /^::ffff:/ && $4 != "lo" {
	print substr($3, 8); exit }')

# holds PORT: does somebody hold that UDP port of this network namespace? So does who
# is bound with rdma_cm.
holds() {
	local hex
	printf -v hex ':%04X' "$1"
	awk -v port="$hex" 'substr($2, length($2) - 4) == port { found = 1 }
		END { exit !found }' /proc/self/net/udp /proc/self/net/udp6 2>/dev/null
}

# wait_bound PORT PID: until it holds the port; fails when PID dies before, or after 20 s.
wait_bound() {
	local tries
	for ((tries = 0; tries < 400; tries++)); do
		! holds "$1" || return 0
		kill -0 "$2" 2>/dev/null || return 1
		sleep 0.05
	done
	return 1
}

# serve FORM LOG CMD…: in the background; sets $server. Returns when it listens.
serve() {
	local form=$1 log=$2
	shift 2
	on_device "$form" "$@"
	"${launch[@]}" >"$log.server" 2>&1 9>&- &
	server=$!
	wait_bound "$port" "$server" && sleep 0.2
}

# end_server ENDLESS LOG: its exit status, or a kill for one that does not end.
end_server() {
	if [ "$1" = yes ]; then
		kill "$server"
		wait "$server" 2>/dev/null
		return 0
	fi
	wait "$server"
}

# says TEXT FILE
says() {
	[ "$1" = - ] || tail -n 8 "$2" | grep -qF -- "$1"
}

# check_case FORM NUMBER SERVER CLIENT SERVER-SAYS CLIENT-SAYS
check_case() {
	local form=$1 log=$out/$2-$1 endless=no what="$4 ($1)" client_rc=0 server_rc=0
	local -a server_words client_words
	if [ -z "$own" ] && [[ $3 = *OWN* ]]; then
		echo "# $what: this host has loopback only"
		return
	fi
	free_port
	read -ra server_words <<<"${3//PORT/$port}"
	read -ra client_words <<<"${4//PORT/$port}"
	server_words=("${server_words[@]/#IP/$ip}")
	client_words=("${client_words[@]/#IP/$ip}")
	server_words=("${server_words[@]/#OWN/$own}")
	client_words=("${client_words[@]/#OWN/$own}")
	if [[ ${server_words[0]} = @* ]]; then
		port=${server_words[0]#@}
		server_words=("${server_words[@]:1}")
	fi
	if [[ ${server_words[0]} = +* ]]; then
		endless=yes
		server_words[0]=${server_words[0]#+}
	fi
	need "${server_words[0]}"
	serve "$form" "$log" "${server_words[@]}" || not_ok "$what: the server does not listen"
	on_device "$form" "${client_words[@]}"
	"${launch[@]}" >"$log.client" 2>&1 9>&- || client_rc=$?
	[ "$client_rc" -eq 0 ] || kill "$server" 2>/dev/null
	end_server "$endless" || server_rc=$?
	if [ "$client_rc" -ne 0 ] || [ "$server_rc" -ne 0 ]; then
		not_ok "$what: exit status: client $client_rc, server $server_rc" "$log".*
	elif ! says "$5" "$log.server" || ! says "$6" "$log.client"; then
		not_ok "$what: what they say" "$log".*
	else
		ok "$what"
	fi
}

run_group() {
	local group server_cmd client_cmd server_says client_says form number=0
	while IFS='|' read -r group server_cmd client_cmd server_says client_says; do
		[ "$group" = "$1" ] || continue
		read -r server_says <<<"$server_says"
		read -r client_says <<<"$client_says"
		number=$((number + 1))
		for form in "${forms[@]}"; do
			check_case "$form" "$number" "$server_cmd" "$client_cmd" \
				"$server_says" "$client_says" </dev/null
		done
	done <"$abs_top_srcdir/tests/apps/cm.tbl"
	[ "$number" -gt 0 ] || die "no case in group $1"
}

# Several clients at a time of a server that serves each in a thread. They do not begin
# at the same moment: rping remembers one request until its other thread has seen it.
run_persistent() {
	local form=$1 log=$out/persistent-$1 pid failed=0
	local -a clients=()
	free_port
	serve "$form" "$log" rping -s -P -a "$ip" -p "$port" || not_ok "rping -s -P does not listen"
	for i in 1 2 3 4 5 6; do
		on_device "$form" rping -c -a "$ip" -p "$port" -C 1000
		"${launch[@]}" >"$log.client$i" 2>&1 9>&- &
		clients+=($!)
		sleep 0.3
	done
	for pid in "${clients[@]}"; do wait "$pid" || failed=$((failed + 1)); done
	end_server yes
	if [ "$failed" -eq 0 ]; then
		ok "six clients of rping -s -P ($form)"
	else
		not_ok "six clients of rping -s -P ($form): $failed failed" "$log".*
	fi
}

start "cm_$1"
run_group "$1"
if [ "$1" = tools ]; then
	for form in "${forms[@]}"; do run_persistent "$form"; done
fi
finish
