#!/usr/bin/env bash
# Puts the arm64 libraries that the aarch64 preset links into build/aarch64-sysroot. Uses an apt state of its own: no foreign
# architecture is added to the machine. Needs no root once scripts/setup.sh aarch64 has run.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
sysroot=$root/build/aarch64-sysroot
packages=(libpcre2-dev:arm64 libutf8proc-dev:arm64 libxxhash-dev:arm64)

[[ ! -f $sysroot/complete ]] || exit 0
"$root/scripts/setup.sh" aarch64
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/{state/lists/partial,cache/archives/partial,debs} "$sysroot"
cp /var/lib/dpkg/status "$scratch/status"
options=(-q -o Dir::State="$scratch/state" -o Dir::Cache="$scratch/cache" -o Dir::State::status="$scratch/status"
         -o APT::Architectures::=amd64 -o APT::Architectures::=arm64 -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=3)
apt-get "${options[@]}" update >&2
(cd "$scratch/debs" && apt-get "${options[@]}" download "${packages[@]}" >&2)
for deb in "$scratch"/debs/*.deb; do dpkg -x "$deb" "$sysroot"; done
touch "$sysroot/complete"
echo "aarch64_sysroot.sh: ${packages[*]} are in $sysroot" >&2
