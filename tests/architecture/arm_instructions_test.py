#!/usr/bin/env python3
"""Fails if an object holds AArch64 instructions of an extension that the processors it is chosen for need not have.

    arm_instructions_test.py OBJDUMP LIST      LIST: a file with one object path a line

The objects of isa/ may have the extensions named here, and must have them, which shows that the test can see. All others are Armv8.0.
"""

import os
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import built_objects

EXTENSIONS = {
    "dotprod": re.compile(r"\t[su]dot\tv"),
    "i8mm": re.compile(r"\t(?:us|s|u)mmla\tv|\t(?:us|su)dot\tv"),
    "sve": re.compile(r"\b[zp](?:\d|[12]\d|3[01])(?:\.[bhsdq]\b|/[zm]\b)|\t(?:ptrue|pfalse|whilel[eost]|(?:cnt|inc|dec)[bhwd]|rdvl|addvl)\t"),
    "fp16": re.compile(r"\tf(?!cvt)\w+\t(?:v\d+\.[48]h|h\d+), (?:v\d+\.[48]h|h\d+)"),
    "lse": re.compile(r"\t(?:cas|swp|ld(?:add|clr|eor|set|[su]max|[su]min))[abhlp]*\t"),
}
ALLOWED = {"neon.cpp.o": {"dotprod"}, "neon_i8mm.cpp.o": {"dotprod", "i8mm"}, "sve.cpp.o": {"sve"}}


def findings(objdump, path):
    """Extension: where it was found first."""
    found = {}
    for function, instruction in built_objects.instructions(objdump, path):
        for name, pattern in EXTENSIONS.items():
            if name not in found and pattern.search(instruction):
                found[name] = f"{instruction.strip()}   in {function}"
    return found


def main():
    objdump, listing = sys.argv[1:]
    objects = built_objects.listed(listing)
    bad, seen = 0, set()
    for path in objects:
        name = os.path.basename(path) if "/isa/" in path else ""
        allowed, found = ALLOWED.get(name, set()), findings(objdump, path)
        for extension in sorted(set(found) - allowed):
            print(f"{path}: {extension}: {found[extension]}")
        for extension in sorted(allowed - set(found)):
            print(f"{path}: {extension} is not found")
        bad += set(found) != allowed
        seen |= {name} & set(ALLOWED)
    for name in sorted(set(ALLOWED) - seen):
        print(f"{name} is not in the list")
    print(f"{len(objects)} objects, {bad} with other instructions than they should have")
    return 1 if bad or seen != set(ALLOWED) else 0


if __name__ == "__main__":
    sys.exit(main())
