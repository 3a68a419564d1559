#!/usr/bin/env python3
"""What the library exports, what the header declares, what tests/abi/symbols.txt lists and what src/api defines behind an entry
guard are one set of names.

    symbols_test.py REPOSITORY LIBRARY
"""
import pathlib
import re
import subprocess
import sys

ENTRY = re.compile(r"\bLLMRT_ENTRY\w*")
DEFINITION = re.compile(r"^(?:[a-z_0-9]+(?: char)?\*? |const [a-z_0-9]+\*+ )+\**(llmrt_[a-z0-9_]+)\([^;]*?\) \{\n(.*?)^\}", re.M | re.S)


def compare(name, found, wanted):
    if found != wanted:
        sys.exit(f"{name}: missing {sorted(wanted - found)}, not listed {sorted(found - wanted)}")


def main():
    root, library = pathlib.Path(sys.argv[1]), sys.argv[2]
    listed = {line.split()[0] for line in (root / "tests/abi/symbols.txt").read_text().splitlines() if line.startswith("llmrt_")}
    header = (root / "include/llmrt.h").read_text()
    compare("include/llmrt.h", set(re.findall(r"^LLMRT_API [^;]*?\b(llmrt_[a-z0-9_]+)\(", header, re.M | re.S)), listed)
    output = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in output.splitlines() if line.split()[-2] != "A"}
    compare("exports of the library", exported, listed)
    guarded = set()
    for source in sorted((root / "src/api").glob("*_api.cpp")):
        for name, body in DEFINITION.findall(source.read_text()):
            if len(ENTRY.findall(body)) != 1:
                sys.exit(f"{source.name}: {name} has {len(ENTRY.findall(body))} entry guards; wanted is one")
            guarded.add(name)
    compare("functions behind an entry guard", guarded, listed)
    print(f"{len(listed)} functions")


main()
