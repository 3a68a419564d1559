#!/usr/bin/env python3
"""The library needs nothing but libc, libm, libgcc_s (and libmimalloc, if it was built with it), and has the SONAME of its major version.

    needed_test.py LIBRARY MAJOR STATIC_RUNTIME SYSTEM_LIBS
"""
import re
import subprocess
import sys

library, major, static_runtime, system_libs = sys.argv[1], sys.argv[2], sys.argv[3] == "1", sys.argv[4] == "1"
output = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
needed = set(re.findall(r"\(NEEDED\).*\[(.*?)\]", output))
allowed = r"lib(c|m|gcc_s|mimalloc|pthread|dl)\.so[.\d]*|ld-linux.*"
if not static_runtime:
    allowed += r"|libstdc\+\+\.so[.\d]*"
if system_libs:
    allowed += r"|lib(pcre2-8|utf8proc|xxhash)\.so[.\d]*"
bad = [name for name in needed if not re.fullmatch(allowed, name)]
if bad:
    sys.exit(f"DT_NEEDED holds {sorted(bad)}; all: {sorted(needed)}")
if not re.search(rf"\(SONAME\).*\[libllmrt\.so\.{major}\]", output):
    sys.exit("SONAME is not libllmrt.so." + major)
print("needs", ", ".join(sorted(needed)))
