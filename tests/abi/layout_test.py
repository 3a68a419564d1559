#!/usr/bin/env python3
"""Size and field offsets of every public struct, against tests/abi/layout.txt (LP64). Only new lines at a struct's end may appear.

    layout_test.py HEADER GOLDEN COMPILER [--update]
"""
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

STRUCT = re.compile(r"typedef struct (llmrt_[a-z_]+) \{(.*?)\n\}", re.S)


def fields(body):
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    for statement in body.split(";"):
        parts = statement.split(",")
        if parts[0].strip():
            yield re.findall(r"\w+", parts[0])[-1]
            for part in parts[1:]:
                yield re.findall(r"\w+", part)[0]


def main():
    header, golden, compiler = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    lines = ['#include "llmrt.h"', "#include <stdio.h>", "int main(void) {"]
    for name, body in STRUCT.findall(header.read_text()):
        lines.append(f'  printf("{name} size %zu\\n", sizeof({name}));')
        lines += [f'  printf("{name}.{f} %zu\\n", offsetof({name}, {f}));' for f in fields(body)]
    lines += ["  return 0;", "}", ""]
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder) / "layout.c", pathlib.Path(folder) / "layout"
        source.write_text("\n".join(lines))
        subprocess.run([compiler, "-std=c11", "-Wall", "-Werror", "-I", str(header.parent), str(source), "-o", str(program)], check=True)
        found = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    if "--update" in sys.argv:
        golden.write_text(found)
    wanted = golden.read_text()
    if found != wanted:
        sys.exit("".join(difflib.unified_diff(wanted.splitlines(True), found.splitlines(True), "layout.txt", "today")))
    print(f"{len(found.splitlines())} sizes and offsets")


main()
