#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# softverbs(1): what it sets and keeps, and one clear line when it can't.
# shellcheck disable=SC2016 # expanded by the shells that are run
set -u
# shellcheck source=tests/abi/lib.sh
. "$(dirname "$0")/lib.sh"

scratch=$here/launcher.out
rm -rf "$scratch"
mkdir -p "$scratch"

check "the program's status is the launcher's" 7 "$("$softverbs" run -- sh -c 'exit 7'; echo $?)"
check "-e sets a variable, arguments stay" "a b|c" \
	"$("$softverbs" run -e "X=a b" -- sh -c 'echo "$X|$1"' sh c)"
check "LD_LIBRARY_PATH of the user stays behind ours" "$libs:/u/lib" \
	"$(LD_LIBRARY_PATH=/u/lib "$softverbs" run -- sh -c 'echo $LD_LIBRARY_PATH')"
check "LD_PRELOAD of the user stays behind ours" "$libs/libsoftverbs-sysfs.so:libc.so.6" \
	"$(LD_PRELOAD=libc.so.6 "$softverbs" run -- sh -c 'echo $LD_PRELOAD')"
check "the preload form leaves LD_LIBRARY_PATH alone" "" \
	"$("$softverbs" run --preload -- sh -c 'echo $LD_LIBRARY_PATH')"
check "a launcher under a launcher adds nothing" "$libs" \
	"$("$softverbs" run -- "$softverbs" run -- sh -c 'echo $LD_LIBRARY_PATH')"

fails "not found" 127 'nosuchprogram: command not found' "$softverbs" run -- nosuchprogram
fails "not executable" 126 'is not executable' "$softverbs" run -- "$abs_top_srcdir/README.md"
fails "not there, with a path" 127 'command not found' "$softverbs" run -- /nosuchdir/program
if [ "$(id -u)" != 0 ]; then
	mkdir -m 0 "$scratch/closed"
	fails "in a closed directory" 126 'is not executable' "$softverbs" run -- "$scratch/closed/program"
	rmdir "$scratch/closed"
fi
fails "a directory" 126 'is not executable' "$softverbs" run -- /
fails "unknown option" 2 "no option '--nosuch'" "$softverbs" run --nosuch true
fails "unknown subcommand" 2 "no subcommand 'nosuch'" "$softverbs" nosuch
fails "no command" 2 'COMMAND' "$softverbs" run
fails "-e without a value" 2 'VAR=VALUE' "$softverbs" run -e X -- true
fails "a value that is not understood" 2 'SOFTVERBS_MTU=9 is not understood' \
	"$softverbs" run -e SOFTVERBS_MTU=9 -- true
if [ -x /sbin/ldconfig ]; then
	fails "statically linked" 126 'statically linked' "$softverbs" run -- /sbin/ldconfig
fi
cp "$(command -v true)" "$scratch/setgid" && chgrp 1 "$scratch/setgid" 2>/dev/null &&
	chmod g+s "$scratch/setgid" && [ "$(id -g)" != 1 ] &&
	fails "setgid" 126 'is setuid, setgid' "$softverbs" run -- "$scratch/setgid"

# Installed, and moved to where no linker looks; then with a library missing.
make -s -C "$abs_top_builddir" install DESTDIR="$scratch/root" >"$scratch/install.log" 2>&1 ||
	not_ok "make install" "$(cat "$scratch/install.log")"
installed=$(find "$scratch/root" -name softverbs -type f)
for form in "" --preload; do
	# shellcheck disable=SC2086
	says "installed elsewhere ${form:-drop-in}" '^softverbs0$' \
		"$installed" run $form -- "$here/load_linked"
done
find "$scratch/root" -name libsoftverbs-sysfs.so -delete
fails "a library is missing" 1 'libsoftverbs-sysfs.so is missing' "$installed" run -- true
find "$scratch/root" -name 'libibverbs.so*' -delete
fails "the drop-in is missing" 1 'libibverbs.so.1 is missing' "$installed" run -- true

says "devices says the mode and why" '^mode: emulate \(SOFTVERBS_MODE says so\)' "$softverbs" devices
says "devices names the device" '^device: softverbs0, node GUID [0-9a-f]{16}' "$softverbs" devices
says "devices lists loopback" 'GID 0 +::ffff:127.0.0.1 +lo' "$softverbs" devices
says "real mode" '^mode: real' env SOFTVERBS_MODE=real "$softverbs" devices
says "--version" '^softverbs [0-9]' "$softverbs" --version
says "--help" 'softverbs run' "$softverbs" --help
for variable in $("$softverbs" env --help | sed -n 's/^\(SOFTVERBS_[A-Z_]*\)=.*/\1/p'); do
	grep -q "$variable" "$abs_top_srcdir/docs/softverbs.1" ||
		not_ok "$variable is in the man page"
done
rm -rf "$scratch"
finish
