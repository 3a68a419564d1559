#!/usr/bin/env bash
# From a fresh checkout to an answer: installs what is missing, builds the tool, fetches a small model, runs it.
#
#   scripts/run.sh "Why is the sky blue?" [option of llmrt run...]
#   scripts/run.sh                        a chat
#
# Only the answer goes to standard output.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

scripts/setup.sh build test
{ cmake --preset release && cmake --build --preset release --target samples/cli/llmrt; } >&2
model=$(scripts/model.sh)
tool=build/release/samples/cli/llmrt
if (($#)); then
  prompt=$1
  shift
  exec "$tool" run "$model" -p "$prompt" "$@"
fi
exec "$tool" chat "$model"
