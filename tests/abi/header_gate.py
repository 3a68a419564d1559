#!/usr/bin/env python3
"""The header compiles as every dialect it promises, includes only what it promises, and survives hostile neighbours.

    header_gate.py HEADER COMPILER...      a compiler that is not installed is said to be skipped
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

C_FLAGS = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-Wpadded", "-Wstrict-prototypes", "-Wc++-compat"]
CXX_FLAGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
# Names that windows.h and old system headers define.
POISON = "".join(f"#define {n} poisoned +\n" for n in ("near", "far", "min", "max", "ERROR", "small", "interface", "OK", "IN", "OUT"))
ALLOWED_INCLUDES = {"stddef.h", "stdint.h"}


def main():
    header, compilers = pathlib.Path(sys.argv[1]), sys.argv[2:]
    includes = set(re.findall(r'#\s*include\s*[<"]([^>"]+)', header.read_text()))
    if not includes <= ALLOWED_INCLUDES:
        sys.exit(f"{header.name} includes {sorted(includes - ALLOWED_INCLUDES)}")
    ran = 0
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder)
        (source / "plain.c").write_text('#include "llmrt.h"\n#include "llmrt.h"\nint main(void) { return (int)llmrt_version() == 0; }\n')
        (source / "poisoned.c").write_text('#include <stddef.h>\n#include <stdint.h>\n' + POISON + '#include "llmrt.h"\n')
        for compiler in compilers:
            if not shutil.which(compiler):
                print(f"skipped: no {compiler} here")
                continue
            for name in ("plain.c", "poisoned.c"):
                jobs = [["-x", "c", *C_FLAGS]] + [["-x", "c++", f"-std={std}", *CXX_FLAGS] for std in ("c++17", "c++20")]
                for flags in jobs:
                    subprocess.run([compiler, *flags, "-I", str(header.parent), "-c", str(source / name), "-o", str(source / "out.o")], check=True)
                    ran += 1
    if ran == 0:
        sys.exit("no compiler was found")
    print(f"{ran} compilations")


main()
