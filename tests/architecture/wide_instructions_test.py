#!/usr/bin/env python3
"""Fails if an object that every x86-64 processor must be able to run holds instructions beyond the baseline (SSE2).

    wide_instructions_test.py OBJDUMP LIST      LIST: a file with one object path a line

Objects in a folder called isa/ are built for one instruction set and chosen at run time: they are left out, except that one of them
must be found guilty, which shows that the test can see. The scalar table is baseline.
"""

import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import built_objects

# VEX and EVEX encodings (all mnemonics that begin with v, but for virtualisation's), registers beyond xmm0-15, and the extensions
# that keep old encodings. endbr64 and rep bsf (tzcnt's encoding, a bsf on old processors) are fine everywhere.
VECTOR = r"\tv(?!mcall|mfunc|mlaunch|mresume|mxo|err|erw)[a-z0-9]+|%[yz]mm|%k[0-7]\b|%xmm(?:1[6-9]|2\d|3[01])\b"
SSE3_TO_SSE42 = (r"\t(?:addsub|h(?:add|sub)p|p(?:h(?:add|sub)|abs[bwd]|sign[bwd]|shufb|alignr|maddubsw|mulhrsw|mulld|blend|"
                 r"(?:max|min)(?:sb|sd|uw|ud)|movsx|movzx|test|extr[bdq]|insr[bdq]|cmpeqq|cmpgtq|cmp[ei]str|ackusdw)|"
                 r"round[ps][sd]|blendv?p|dpp[sd]|insertps|extractps|mpsadbw|movntdqa|mov(?:sl|sh|d)dup|crc32|popcnt|lddqu)")
OTHER = r"\t(?:andn(?!p[sd])|bextr|bls(?:i|r|msk)|bzhi|mulx|pdep|pext(?!r)|rorx|sarx|shlx|shrx|lzcnt|movbe|aes|sha(?:1|256)|pclmul)"
BEYOND = re.compile("|".join((VECTOR, SSE3_TO_SSE42, OTHER)))


def findings(objdump, path):
    return [(function, instruction.strip()) for function, instruction in built_objects.instructions(objdump, path) if BEYOND.search(instruction)]


def main():
    objdump, listing = sys.argv[1:]
    objects = built_objects.listed(listing)
    special = [path for path in objects if "/isa/" in path and "/isa/scalar" not in path]
    guilty, checked = 0, 0
    for path in sorted(set(objects) - set(special)):
        checked += 1
        found = findings(objdump, path)
        for function, instruction in found[:3]:
            print(f"{path}: {instruction}   in {function}")
        guilty += bool(found)
    seen = [path for path in special if findings(objdump, path)]
    print(f"{checked} baseline objects, {guilty} with wide instructions; {len(special)} objects of one instruction set, {len(seen)} seen as such")
    return 1 if guilty or not checked or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
