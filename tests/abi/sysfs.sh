#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that look into /sys/class/infiniband and /dev/infiniband find the
# device there, by whatever call, in children too; and nothing else changes.
set -u
# shellcheck source=tests/abi/lib.sh
. "$(dirname "$0")/lib.sh"

class=/sys/class/infiniband
dev=$class/softverbs0
verbs=/sys/class/infiniband_verbs/uverbs0

look_with() {
	local form=$1
	run=("$softverbs" run)
	[ -z "$form" ] || run+=("$form")
	run+=(--)
	form=${form:-drop-in}

	says "$form: ls" '^softverbs0$' "${run[@]}" ls $class
	says "$form: ls -l" '^c.*231, 192.*uverbs0' "${run[@]}" ls -l /dev/infiniband
	says "$form: ls -lR says nothing bad" 'link_layer' "${run[@]}" ls -lR $class
	says "$form: cat" '^4: ACTIVE$' "${run[@]}" cat $dev/ports/1/state
	says "$form: node_type" '^1: CA$' "${run[@]}" cat $dev/node_type
	says "$form: children of a shell" '^Ethernet$' "${run[@]}" sh -c "read -r x <$dev/ports/1/link_layer; echo \$x"
	says "$form: a pattern of a shell" "^$dev/node_guid" "${run[@]}" bash -c "echo $class/*/node_guid"
	says "$form: find, by directory descriptors" "^$dev/ports/1/gids/0$" "${run[@]}" find $class -name 0
	says "$form: grep -r" 'fw_ver:[0-9]' "${run[@]}" grep -r . $dev
	says "$form: realpath" "^$dev/device$" "${run[@]}" realpath "$dev/../softverbs0/./device/"
	says "$form: gid 0 is loopback" '^0000:0000:0000:0000:0000:ffff:7f00:0001$' \
		"${run[@]}" cat $dev/ports/1/gids/0
	says "$form: its type" '^RoCE v2$' "${run[@]}" cat $dev/ports/1/gid_attrs/types/0
	says "$form: its interface" '^lo$' "${run[@]}" cat $dev/ports/1/gid_attrs/ndevs/0
	says "$form: the interface below device/net" '^lo$' "${run[@]}" ls $dev/device/net
	says "$form: uverbs0 belongs to the device" '^softverbs0$' "${run[@]}" cat $verbs/ibdev
	says "$form: uverbs0 is a device" '' "${run[@]}" test -c /dev/infiniband/uverbs0
	says "$form: to read" '' "${run[@]}" test -r /dev/infiniband/uverbs0
	says "$form: to write" '' "${run[@]}" test -w /dev/infiniband/uverbs0
	fails "$form: a file that is not there" 1 'No such file' "${run[@]}" cat $dev/nothing
	fails "$form: attributes are read-only" 2 'Permission denied|Read-only|cannot create' \
		"${run[@]}" sh -c "echo 1 >$dev/fw_ver"
}

for form in "" --preload; do look_with "$form"; done

# The mode and the switch.
if [ ! -e $class ]; then
	for off in SOFTVERBS_SYSFS=no SOFTVERBS_MODE=real; do
		fails "not there with $off" 2 'No such file' "$softverbs" run --preload -e $off -- ls $class
	done
fi

# What the tree says of itself is what verbs says.
guid=$("$softverbs" run -- cat $dev/node_guid)
says "same GUID as verbs" "softverbs0[[:space:]]+${guid//:/}" "$softverbs" run -- ibv_devices
check "cp makes the same files" \
	"$("$softverbs" run -- sh -c "cd / && cat $dev/ports/1/state $dev/fw_ver")" \
	"$(rm -rf "$here/copy" && "$softverbs" run -- cp -r $dev "$here/copy" &&
		cat "$here/copy/ports/1/state" "$here/copy/fw_ver")"
rm -rf "$here/copy"
check "another directory is as it was" "$(ls -ln "$abs_top_srcdir")" \
	"$("$softverbs" run --preload -- ls -ln "$abs_top_srcdir")"
finish
