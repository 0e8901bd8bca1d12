#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two hosts, made of network namespaces and a veth pair: another host gets in
# with SOFTVERBS_ALLOW and is turned away without it.
set -u
# shellcheck source=tests/apps/lib.sh
. "$(dirname "$0")/lib.sh"

a=sva$$ b=svb$$
net=10.77.0.0/24

make_hosts() {
	ip netns add "$a" 2>"$out/ip.err" || skip "may not make network namespaces: $(head -n1 "$out/ip.err")"
	ip netns add "$b"
	ip link add veth0 netns "$a" type veth peer name veth0 netns "$b" 2>"$out/ip.err" ||
		skip "may not make a veth pair: $(head -n1 "$out/ip.err")"
	on "$a" ip addr add 10.77.0.1/24 dev veth0
	on "$b" ip addr add 10.77.0.2/24 dev veth0
	on "$a" true 2>"$out/ip.err" || skip "may not enter network namespaces: $(head -n1 "$out/ip.err")"
	for host in "$a" "$b"; do
		on "$host" ip link set lo up
		on "$host" ip link set veth0 up
	done
}

# Called by the trap.
# shellcheck disable=SC2317
remove_hosts() {
	stop_all
	ip netns del "$a" 2>/dev/null
	ip netns del "$b" 2>/dev/null
}

# on HOST CMD…: in its network namespace; ip -n and ip netns exec would want to mount as well.
on() {
	nsenter --net="/run/netns/$1" "${@:2}"
}

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
need ip ibv_rc_pingpong
[ "$(id -u)" -eq 0 ] || skip "not root: may not make network namespaces"
trap remove_hosts EXIT
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
