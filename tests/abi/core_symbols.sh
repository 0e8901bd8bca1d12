#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The core is pure: what it calls is C's memory and strings, and nothing of the system.
set -u
# shellcheck source=tests/abi/lib.sh
. "$(dirname "$0")/lib.sh"

allowed='abort|__assert_fail|calloc|free|malloc|realloc|memchr|memcmp|memcpy|memmove|memset|str[a-z]+|qsort|bsearch'
# What the compiler adds by itself.
allowed+='|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|__mem[a-z]+_chk|__(asan|ubsan|tsan|sanitizer)_.*|__tls_get_addr|__atomic_.*'

archive=$abs_top_builddir/.libs/libemucore.a
symbols=$(nm "$archive") || exit 1
defined=$(awk 'NF == 3 { print $3 }' <<<"$symbols" | sort -u)
undefined=$(awk '$1 == "U" { print $2 }' <<<"$symbols" | sort -u)
check "the archive has the core in it" 1 "$(grep -c '^emu_input$' <<<"$defined")"
check "it calls nothing but C" "" \
	"$(comm -23 <(echo "$undefined") <(echo "$defined") | grep -vxE "$allowed")"
finish
