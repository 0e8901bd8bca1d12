#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# However a program comes to libibverbs, it gets the emulated device; with
# SOFTVERBS_MODE=real it gets what it would get without us.
set -u
# shellcheck source=tests/abi/lib.sh
. "$(dirname "$0")/lib.sh"

linked=$here/load_linked
loading=$here/load_dlopen

devices() {
	timeout 60 "$@" 2>&1
	echo "status $?"
}

emulated=$'softverbs0\nstatus 0'
check "linked, drop-in" "$emulated" "$(devices "$softverbs" run -- "$linked")"
check "linked, preload" "$emulated" "$(devices "$softverbs" run --preload -- "$linked")"
check "linked, one form under the other" "$emulated" \
	"$(devices "$softverbs" run -- "$softverbs" run --preload -- "$linked")"
check "linked, bare LD_LIBRARY_PATH" "$emulated" "$(LD_LIBRARY_PATH=$libs devices "$linked")"
check "linked, bare LD_PRELOAD" "$emulated" \
	"$(LD_PRELOAD=$libs/libsoftverbs-preload.so devices "$linked")"
check "linked, drop-in itself in LD_PRELOAD" "$emulated" \
	"$(LD_PRELOAD=$libs/libibverbs.so.1 devices "$linked")"
check "linked, every symbol bound at start" "$emulated" \
	"$(LD_BIND_NOW=1 devices "$softverbs" run -- "$linked")"
check "linked, with the lines of softverbs env" "$emulated" \
	"$(eval "$("$softverbs" env)" && devices "$linked")"
check "dlopen and dlvsym" "$emulated" "$(devices "$softverbs" run -- "$loading")"
check "the name of the device" $'mydev\nstatus 0' \
	"$(devices "$softverbs" run -e SOFTVERBS_DEVICE=mydev -- "$linked")"

untouched=$(devices "$linked")
for form in "" --preload; do
	# shellcheck disable=SC2086
	check "real mode changes nothing ${form:-drop-in}" "$untouched" \
		"$(SOFTVERBS_MODE=real devices "$softverbs" run $form -- "$linked")"
done
check "real mode changes nothing, dlopen" "$(devices "$loading")" \
	"$(SOFTVERBS_MODE=real devices "$softverbs" run -- "$loading")"
finish
