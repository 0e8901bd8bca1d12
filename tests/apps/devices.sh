#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ibv_devices and ibv_devinfo show the emulated device, in both forms.
set -u
# shellcheck source=tests/apps/lib.sh
. "$(dirname "$0")/lib.sh"

# shows FORM FILE PATTERN…: each pattern somewhere in the output.
shows() {
	local form=$1 file=$2 pattern
	shift 2
	for pattern in "$@"; do
		if grep -qE "$pattern" "$file"; then
			ok "$form: $pattern"
		else
			not_ok "$form: no '$pattern'" "$file"
		fi
	done
}

run_quietly() {
	local form=$1
	shift
	on_device "$form" "$@"
	"${launch[@]}" >"$out/$form" 2>"$out/$form.err" 9>&- ||
		not_ok "$form: $* exit status $?" "$out/$form"*
	[ ! -s "$out/$form.err" ] || not_ok "$form: $* on stderr" "$out/$form.err"
}

start devices
need ibv_devices ibv_devinfo
for form in "${forms[@]}"; do
	run_quietly "$form" ibv_devices
	shows "$form" "$out/$form" 'softverbs0[[:space:]]+[0-9a-f]{16}'
	run_quietly "$form" ibv_devinfo -v
	shows "$form" "$out/$form" 'hca_id:[[:space:]]+softverbs0' 'transport:[[:space:]]+InfiniBand' \
		'state:[[:space:]]+PORT_ACTIVE' 'link_layer:[[:space:]]+Ethernet' \
		'max_qp:[[:space:]]+[1-9]' 'max_qp_rd_atom:[[:space:]]+[1-9]' \
		'atomic_cap:[[:space:]]+ATOMIC_' 'GID\[ +0\]:[[:space:]]+::ffff:127\.0\.0\.1, RoCE v2'
done
finish
