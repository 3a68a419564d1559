#!/usr/bin/env python3
"""Runs the cases of $LLMRT_TEST_DATA/cases with the tool; skipped (77) with a sentence where they, or numpy that makes their files, are
not there.

    shared_cases.py LLMRT
"""
import os
import pathlib
import subprocess
import sys
import tempfile

KINDS = ["render", "template-security", "tokenizer", "hostile-file", "loading", "sampling", "context", "numerics"]
NOT_READ_YET = "safetensors folders"


def skip(why):
    print(f"skipped shared_cases: {why}")
    sys.exit(77)


def python_with_numpy():
    """Debian's numpy is that of Debian's python, which need not be the first one in PATH."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run([python, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    skip("no python3 here has numpy (Debian: python3-numpy)")


def main():
    tool = os.path.abspath(sys.argv[1])
    data = os.environ.get("LLMRT_TEST_DATA")
    if not data:
        skip("LLMRT_TEST_DATA is not set")
    script = pathlib.Path(data, "cases/run_cases.py")
    if not script.exists():
        skip(f"{script} is not there")
    python = python_with_numpy()
    with tempfile.TemporaryDirectory() as work:
        command = [python, "-B", script, tool, "--work", work, "--kind", ",".join(KINDS), "--skip-needs", NOT_READ_YET, "-v"]
        sys.exit(subprocess.run(command).returncode)


main()
