#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Create configure; needs autoconf, automake, libtool and pkg-config.
set -e
cd "$(dirname "$0")"
mkdir -p m4
autoreconf -fi
