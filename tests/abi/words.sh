#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The strings and enumeration helpers say what those of the installed libibverbs say.
set -u
# shellcheck source=tests/abi/lib.sh
. "$(dirname "$0")/lib.sh"

real=$("$here/words")
check "there is something to compare" 1 "$(($(wc -l <<<"$real") > 100))"
for form in "" --preload; do
	# shellcheck disable=SC2086
	check "same words ${form:-drop-in}" "$real" "$("$softverbs" run $form -- "$here/words")"
done
finish
