#!/usr/bin/env python3
"""Fails if an object of one instruction set exports anything but its kernel table (rules: one ISA = one translation unit), or holds
instructions that its table does not ask the processor for, or not those that it is for.

A weak or external function in such an object could be the copy that the linker keeps for baseline callers.

    isa_objects_test.py NM OBJDUMP LIST      LIST: a file with one object path a line
"""

import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import built_objects

# objdump marks what VEX encodes of an instruction that AVX-512 has too: "{vex} vpdpbusd".
ZMM, TILE, VNNI = r"%zmm|%[xy]mm(?:1[6-9]|2\d|3[01])\b|%k[0-7]\b", r"%tmm|tilerelease", r"vpdp[bw][us][us]ds?\b"
WIDE = r"%ymm|\tv[a-z0-9]+"
# object: what must not be there, what must
RULES = {
    "scalar": ([WIDE, ZMM, TILE], []),
    "avx2": ([ZMM, TILE, VNNI], [r"%ymm", r"vpmaddubsw"]),
    "avx_vnni": ([ZMM, TILE, rf"(?<!\{{vex\}} ){VNNI}"], [rf"\{{vex\}} {VNNI}"]),
    "avx512_vnni": ([TILE, r"\{vex\}"], [r"%zmm", VNNI]),
    "amx_int8": ([r"\{vex\}", r"tdpb(?:us|uu)"], [VNNI, r"tdpbssd\s+%tmm", r"tdpbsud\s+%tmm", r"tdpbf16ps\s+%tmm", r"ldtilecfg", r"tilerelease"]),
}


def exported(nm, path):
    lines = subprocess.run([nm, "-C", "--defined-only", path], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split(" ", 2)[1:] for line in lines if line.split(" ", 2)[1] not in "tbdrn"]


def exports_its_table(symbols):
    return len(symbols) == 1 and symbols[0][1].endswith("::kTable") and symbols[0][0] not in "VWuvw"


def instruction_faults(objdump, path, table):
    forbidden, needed = RULES[table]
    lines = [instruction for _, instruction in built_objects.instructions(objdump, path)]
    faults = []
    for pattern in forbidden:
        at = next((line for line in lines if re.search(pattern, line)), None)
        if at:
            faults.append(f"holds {at.strip()}")
    return faults + [f"holds no {pattern}" for pattern in needed if not any(re.search(pattern, line) for line in lines)]


def main():
    nm, objdump, listing = sys.argv[1:]
    objects = built_objects.listed(listing)
    bad = checked = 0
    for path in objects:
        faults = []
        symbols = exported(nm, path)
        if not exports_its_table(symbols):
            faults.append(f"exports {[name for _, name in symbols]}")
        table = pathlib.Path(path).name.partition(".")[0]
        # The rules are for x86-64: scalar.cpp is there in every build, neon.cpp in others only.
        if table in RULES and not any("/neon." in other for other in objects):
            faults += instruction_faults(objdump, path, table)
            checked += 1
        for fault in faults:
            print(f"{path}: {fault}")
        bad += bool(faults)
    print(f"{len(objects)} objects, instructions of {checked} looked at, {bad} with a fault")
    return 1 if bad or not objects else 0


if __name__ == "__main__":
    sys.exit(main())
