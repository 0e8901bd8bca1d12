#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The drop-ins export the symbols of libibverbs and librdmacm in their version
# nodes and no others; the preload form the public ones of both.
set -u
# shellcheck source=tests/abi/lib.sh
. "$(dirname "$0")/lib.sh"

# exports LIBRARY: "NODE NAME" of each defined symbol; a name without a version has node "-".
exports() {
	nm -D --defined-only "$1" | awk '$2 != "A" {
		split($3, part, /@+/)
		print (part[2] ? part[2] : "-"), part[1]
	}' | LC_ALL=C sort
}

expected=$(grep -v '^#' "$abs_top_srcdir/tests/abi/libibverbs.symbols" | LC_ALL=C sort)
expected_cm=$(grep -v '^#' "$abs_top_srcdir/tests/abi/librdmacm.symbols" | LC_ALL=C sort)
public=$(
	grep -e '^IBVERBS_1\.' -e ' ibv_query_gid_type$' <<<"$expected"
	echo "$expected_cm"
)

check "the drop-in exports what libibverbs exports" "$expected" "$(exports "$libs/libibverbs.so.1")"
check "the other drop-in exports what librdmacm exports" "$expected_cm" \
	"$(exports "$libs/librdmacm.so.1")"
check "the preload form exports the public names" "$public" \
	"$(exports "$libs/libsoftverbs-preload.so" | grep -v '^- ')"
check "what it puts before libc has no version, and is the sysfs library's" \
	"$(exports "$libs/libsoftverbs-sysfs.so")" \
	"$(exports "$libs/libsoftverbs-preload.so" | grep '^- ')"
check "the drop-in has libibverbs' SONAME" "libibverbs.so.1" \
	"$(readelf -d "$libs/libibverbs.so.1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')"
check "the other drop-in has librdmacm's SONAME" "librdmacm.so.1" \
	"$(readelf -d "$libs/librdmacm.so.1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')"
check "no form needs libfabric" "" \
	"$(readelf -d "$libs"/lib{ibverbs.so.1,rdmacm.so.1,softverbs-preload.so,softverbs-sysfs.so} | grep libfabric)"
finish
