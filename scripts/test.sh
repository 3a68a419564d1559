#!/usr/bin/env bash
# From a fresh checkout to the test suite's result: installs what is missing, builds, runs ctest. Ends with ctest's closing lines.
#
#   scripts/test.sh [option of ctest...]        such as -R sampling
#
# LLMRT_TEST_DATA names a folder with golden/ and cases/, LLMRT_TEST_MODELS one with real models: tests that need them are
# skipped by name without.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

scripts/setup.sh build test
cmake --preset release
cmake --build --preset release
exec ctest --preset release --no-tests=error -j "$(nproc)" "$@"
