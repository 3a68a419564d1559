"""Compiled objects as the tests of what the compiler made see them."""
import os
import subprocess
import sys


def listed(listing):
    """The objects of a file with one path a line, each once. Ends the test where one is not built."""
    with open(listing) as file:
        objects = sorted({line.strip() for line in file if line.strip().endswith(".o")})
    absent = [path for path in objects if not os.path.exists(path)]
    if absent:
        sys.exit(f"{len(absent)} objects are not built, the first is {absent[0]}")
    return objects


def instructions(objdump, path):
    """(function, instruction) of each in turn. The instruction begins with a tab, as a pattern for a mnemonic wants it."""
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    function = ""
    for line in text.splitlines():
        if line.endswith(">:"):
            function = line.split("<", 1)[1][:-2]
        elif "\t" in line:
            yield function, "\t" + line.partition("\t")[2].strip()
