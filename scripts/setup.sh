#!/usr/bin/env bash
# Installs the Debian packages that a task needs, if any is missing. With nothing to do it takes a few milliseconds.
#
#   scripts/setup.sh [build] [test] [model] [ci] [aarch64] [bench]      default: build test
#
# build: the library and the tool; test: the unit suite; model: fetching the sample model; ci: what .ci/run adds; aarch64: the cross
# build and its emulator; bench: tests/bench, and what scripts/bench_vs_peer.py builds the other runtimes with.
# Only Debian 12 is known to this script; elsewhere, install what it prints.
set -euo pipefail

packages() {
  case $1 in
    build) echo g++ cmake ninja-build nlohmann-json3-dev libpcre2-dev libutf8proc-dev libxxhash-dev libcli11-dev libedit-dev pkg-config ;;
    test) echo doctest-dev python3 binutils xz-utils qemu-user ;;
    model) echo python3 python3-venv ca-certificates ;;
    ci) echo clang-14 clang-format-14 clang-tidy-14 python3-jinja2 python3-numpy ;;
    aarch64) echo g++-aarch64-linux-gnu qemu-user ;;
    bench) echo libbenchmark-dev python3 python3-venv ca-certificates g++ cmake ninja-build ;;
    *) echo "setup.sh: unknown task \"$1\", known are build, test, model, ci, aarch64, bench" >&2; exit 2 ;;
  esac
}

(($#)) || set -- build test
wanted=()
for task in "$@"; do
  list=$(packages "$task")
  read -ra list <<<"$list"
  wanted+=("${list[@]}")
done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup.sh: no apt here; these Debian packages, or what they hold, are needed: ${wanted[*]}" >&2
  exit 0
fi

present=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' 2>/dev/null | sed -n 's/ installed$//p')
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$present" || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || { echo "setup.sh: as root, run: apt-get install ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
apt() { ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" >&2; }
echo "setup.sh: installing ${missing[*]}" >&2
apt update
apt install -y --no-install-recommends "${missing[@]}" </dev/null
