#!/usr/bin/env python3
"""Fails if an object of one instruction set exports anything but its kernel table (rules: one ISA = one translation unit).

A weak or external function in such an object could be the copy that the linker keeps for baseline callers.

    isa_objects_test.py NM LIST      LIST: a file with one object path a line
"""

import subprocess
import sys


def main():
    nm, listing = sys.argv[1:]
    with open(listing) as file:
        objects = [line.strip() for line in file if line.strip().endswith(".o")]
    bad = 0
    for path in objects:
        lines = subprocess.run([nm, "-C", "--defined-only", path], capture_output=True, text=True, check=True).stdout.splitlines()
        exported = [line.split(" ", 2)[1:] for line in lines if line.split(" ", 2)[1] not in "tbdrn"]
        names = [name for _, name in exported]
        if len(names) != 1 or not names[0].endswith("::kTable") or exported[0][0] in "VWuvw":
            print(f"{path}: exports {names}")
            bad += 1
    print(f"{len(objects)} objects, {bad} export more than their table")
    return 1 if bad or not objects else 0


if __name__ == "__main__":
    sys.exit(main())
