#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that use libfabric themselves, and those that link libmlx5, libefa
# and librdmacm, start and run with the shim under them.
set -u
# shellcheck source=tests/abi/lib.sh
. "$(dirname "$0")/lib.sh"
me=libfabric
# shellcheck source=.ci/common.sh
. "$abs_top_srcdir/.ci/common.sh"

port=$((18100 + RANDOM % 400))

fi_pair() {
	local form=$1 server status=0
	while listening $port; do port=$((port + 1)); done
	# shellcheck disable=SC2086
	timeout 60 "$softverbs" run $form -- fi_pingpong -p tcp -e msg -I 10 -B $port \
		>"$here/fi.log" 2>&1 &
	server=$!
	if ! wait_listening $port $server; then
		kill $server 2>/dev/null
		wait $server
		not_ok "fi_pingpong -p tcp ${form:-drop-in}" "$(cat "$here/fi.log")"
		return
	fi
	# shellcheck disable=SC2086
	says "fi_pingpong -p tcp ${form:-drop-in}" '^64 ' timeout 60 \
		"$softverbs" run $form -- fi_pingpong -p tcp -e msg -I 10 -P $port 127.0.0.1
	wait $server || status=$?
	check "its server ${form:-drop-in}" 0 $status
	rm -f "$here/fi.log"
	port=$((port + 1))
}

command -v fi_info >/dev/null || skip "fi_info is not installed"
for form in "" --preload; do
	# shellcheck disable=SC2086
	says "fi_info ${form:-drop-in}" 'provider: tcp' "$softverbs" run $form -- fi_info
	fi_pair "$form"
	# The engine's own libfabric looks for verbs devices too, through a copy of the drop-in.
	if command -v ibv_devinfo >/dev/null; then
		# shellcheck disable=SC2086
		check "the engine starts no engine ${form:-drop-in}" "" \
			"$(timeout 60 "$softverbs" run $form -- ibv_devinfo 2>&1 >/dev/null)"
	fi
	for program in "ib_write_bw --version" "ucx_info -v" "rping -h"; do
		command -v "${program%% *}" >/dev/null || continue
		# Whatever status it gives to a question: it was loaded and could say something.
		# shellcheck disable=SC2086
		says "${program%% *} starts ${form:-drop-in}" '[Vv]ersion|usage|rping -s' env LD_BIND_NOW=1 \
			"$softverbs" run $form -- sh -c "$program; true"
	done
	command -v ucx_info >/dev/null || continue
	# shellcheck disable=SC2086
	says "ucx_info sees the device ${form:-drop-in}" 'softverbs0:1' \
		"$softverbs" run $form -- ucx_info -d
done
finish
