# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# What quickstart, runtests and .ci/run share: the package lists (Debian's
# names) and the few steps that all of them take. Sourced, not run; the
# caller sets $me to its own name.

# To build.
packages_build=(gcc libc6-dev make autoconf automake libtool pkg-config
	libibverbs-dev libfabric-dev nettle-dev)
# The programs that are run unmodified.
packages_programs=(ibverbs-utils perftest rdmacm-utils)
# To build and run the tests.
packages_tests=(libcmocka-dev librdmacm-dev libfabric-bin python3-pyverbs iproute2 valgrind)
# What the CI does beyond them.
packages_ci=(clang shellcheck xz-utils)

die() {
	printf '%s: %s\n' "${me:-softverbs}" "$*" >&2
	exit 1
}

# step LABEL TEXT: one line of progress.
step() {
	printf '  %-12s %s\n' "$1" "$2"
}

cores() {
	nproc 2>/dev/null || echo 1
}

# missing_packages NAME…: those that are not installed, one a line.
missing_packages() {
	local name
	for name in "$@"; do
		[ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] ||
			echo "$name"
	done
}

# as_root CMD…: through sudo unless we are root.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		return 1
	fi
}

apt_install() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
		install --no-install-recommends "$@" </dev/null
}

# ensure_packages LOG NAME…: install what is missing, refreshing apt's lists only if that is needed.
ensure_packages() {
	local log=$1 missing
	shift
	if ! command -v dpkg-query >/dev/null; then
		step packages "not Debian: expecting a compiler, autotools, libibverbs, libfabric, nettle"
		return
	fi
	mapfile -t missing < <(missing_packages "$@")
	if [ ${#missing[@]} -eq 0 ]; then
		step packages "all $# present"
		return
	fi
	step packages "installing ${missing[*]}"
	as_root true 2>/dev/null || die "cannot install ${missing[*]}: not root, and no sudo"
	apt_install "${missing[@]}" >"$log" 2>&1 && return
	as_root apt-get -q update </dev/null >>"$log" 2>&1 || die "apt-get update failed, see $log"
	apt_install "${missing[@]}" >>"$log" 2>&1 ||
		die "apt-get could not install ${missing[*]}, see $log"
}

# logged LOG CMD…: run quietly; on failure show the end of what it said.
logged() {
	local log=$1
	shift
	"$@" >"$log" 2>&1 </dev/null && return
	tail -n 40 "$log" >&2
	die "'$*' failed, the whole output is in $log"
}

# configure_in DIR OPTION…: configure out of tree, once per set of options.
configure_in() {
	local top=$PWD dir=$1
	shift
	[ ! -e config.status ] || die "this tree was configured in place: run 'make distclean' first"
	mkdir -p "$dir"
	[ -x configure ] || logged "$dir/autogen.log" ./autogen.sh
	if [ -e "$dir/Makefile" ] && [ "$(cat "$dir/.options" 2>/dev/null)" = "$*" ]; then
		return
	fi
	(cd "$dir" && logged configure.log "$top/configure" "$@")
	printf '%s' "$*" >"$dir/.options"
}

# build_in DIR OPTION…: configure if that was not done yet, then make.
build_in() {
	configure_in "$@"
	logged "$1/make.log" make -C "$1" -j"$(cores)"
}

# listening PORT: does somebody listen on that TCP port of this network namespace?
listening() {
	local hex
	printf -v hex ':%04X' "$1"
	awk -v port="$hex" '$4 == "0A" && substr($2, length($2) - 4) == port { found = 1 }
		END { exit !found }' /proc/self/net/tcp /proc/self/net/tcp6 2>/dev/null
}

# wait_listening PORT PID: until it listens; fails when PID dies before, or after 20 s.
wait_listening() {
	local tries
	for ((tries = 0; tries < 400; tries++)); do
		! listening "$1" || return 0
		kill -0 "$2" 2>/dev/null || return 1
		sleep 0.05
	done
	return 1
}
