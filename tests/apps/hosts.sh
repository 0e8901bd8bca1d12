# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Two hosts, made of network namespaces and a veth pair. Sourced after lib.sh.

a=sva$$ b=svb$$
net=10.77.0.0/24

# make_hosts: two hosts $a and $b that reach each other, removed when the script ends; or skip.
make_hosts() {
	need ip nsenter
	[ "$(id -u)" -eq 0 ] || skip "not root: may not make network namespaces"
	trap remove_hosts EXIT
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
