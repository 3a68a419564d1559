#!/usr/bin/env python3
"""Compiles the README's C program as strictly as a careful user would, and runs it.

    readme_test.py REPOSITORY FOLDER_OF_THE_LIBRARY C_COMPILER MODEL
"""
import pathlib
import re
import subprocess
import sys
import tempfile

STRICT = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror"]


def main():
    root, library, compiler, model = sys.argv[1:5]
    blocks = re.findall(r"^```c\n(.*?)^```", pathlib.Path(root, "README.md").read_text(), re.M | re.S)
    programs = [block for block in blocks if "int main(" in block]
    if len(programs) != 1:
        sys.exit(f"README.md has {len(programs)} C programs, one was expected")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "readme.c")
        program = pathlib.Path(folder, "readme")
        source.write_text(programs[0])
        subprocess.run([compiler, *STRICT, f"-I{root}/include", source, "-o", program, f"-L{library}", "-lllmrt", f"-Wl,-rpath,{library}"], check=True)
        answer = subprocess.run([program, model], check=True, stdout=subprocess.PIPE, timeout=60).stdout
        if not answer.strip():
            sys.exit("the program answered nothing")
        usage = subprocess.run([program], capture_output=True, text=True, timeout=60)
        if usage.returncode != 2 or "usage" not in usage.stderr:
            sys.exit(f"without a model: exit {usage.returncode}, {usage.stderr!r}")
        failed = subprocess.run([program, "no such file"], capture_output=True, text=True, timeout=60)
        if failed.returncode != 1 or "no such file" not in failed.stderr:
            sys.exit(f"a missing model: exit {failed.returncode}, {failed.stderr!r}")
    print("compiled, ran:", answer)


main()
