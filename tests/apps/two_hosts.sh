#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two hosts, made of network namespaces and a veth pair: another host gets in
# with SOFTVERBS_ALLOW and is turned away without it.
set -u
# shellcheck source=tests/apps/lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck source=tests/apps/hosts.sh
. "$(dirname "$0")/hosts.sh"

# gid_index HOST ADDRESS: its row in the GID table.
gid_index() {
	on "$1" "$softverbs" run -- ibv_devinfo -v |
		sed -nE "s/.*GID\[ *([0-9]+)\]:.*::ffff:${2//./\\.},.*/\1/p"
}

wait_listening_on() {
	on "$1" bash -c ". '$abs_top_srcdir/.ci/common.sh'; wait_listening $2 $3"
}

# pingpong LOG ALLOW-OF-A ALLOW-OF-B: the client's exit status.
pingpong() {
	local log=$1 rc=0
	free_port
	SOFTVERBS_ALLOW=$2 nsenter --net="/run/netns/$a" timeout 60 "$softverbs" run -- \
		ibv_rc_pingpong -g "$gid_a" -c -p "$port" >"$log.server" 2>&1 9>&- &
	local server=$!
	wait_listening_on "$a" "$port" "$server" || return 99
	SOFTVERBS_ALLOW=$3 on "$b" timeout 60 "$softverbs" run -- \
		ibv_rc_pingpong -g "$gid_b" -c -p "$port" 10.77.0.1 >"$log.client" 2>&1 9>&- || rc=$?
	[ "$rc" -eq 0 ] || kill "$server" 2>/dev/null
	wait "$server"
	return "$rc"
}

refused() {
	if pingpong "$@" || ! grep -q 'transport retry counter exceeded' "$1.client"; then
		not_ok "refused: server allows '$2', client allows '$3'" "$1".*
	else
		ok "refused: server allows '$2', client allows '$3'"
	fi
}

start two_hosts
need ibv_rc_pingpong
make_hosts
gid_a=$(gid_index "$a" 10.77.0.1)
gid_b=$(gid_index "$b" 10.77.0.2)
[ -n "$gid_a$gid_b" ] || die "no GID for the address of veth0"

if pingpong "$out/allowed" "$net" "$net"; then
	ok "pingpong between hosts that allow each other"
else
	not_ok "pingpong between hosts that allow each other" "$out"/allowed.*
fi
# Then every address can be bound, but not every address is one's own.
if on "$b" bash -c 'echo 1 >/proc/sys/net/ipv4/ip_nonlocal_bind' 2>"$out/sysctl.err"; then
	if pingpong "$out/nonlocal" "$net" "$net"; then
		ok "pingpong from a host with ip_nonlocal_bind"
	else
		not_ok "pingpong from a host with ip_nonlocal_bind" "$out"/nonlocal.*
	fi
fi
refused "$out/neither" "" ""
refused "$out/elsewhere" 192.0.2.0/24 "$net"
finish
