#!/usr/bin/env python3
"""What the library takes from outside: no network, no other process, two environment variables, no function of libm that rounds
differently from one libm to the next (docs/NUMERICS.md), and of what allocates past the allocator table what docs/HACKING.md lists.

    imports_test.py NM LIBRARY LIST REPOSITORY      LIST: a file with the path of one object of the library a line
"""
import pathlib
import re
import subprocess
import sys

# System calls by another way (syscall()) are in src/base/platform only: futex, gettid and arch_prctl.
FORBIDDEN = re.compile(r"socket(pair)?|connect|bind|listen|accept4?|send(to|m?msg)?|recv(from|m?msg)?|getaddrinfo|gethostby\w+"
                       r"|v?fork|_Fork|clone3?|posix_spawnp?|f?exec\w*|system|popen|dlm?open")
GETENV = re.compile(r"(__)?(secure_)?getenv|environ|__environ")
VARIABLES = {"LLMRT_CPU_ISA", "LLMRT_LOG"}
# Not here: sqrt, fma, rounding to integers, fmod and ldexp, which are exact or exactly rounded everywhere.
LIBM = re.compile(r"(exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|sin|cos|sincos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|asinh|acosh"
                  r"|atanh|erf|erfc|[lt]gamma|cbrt|hypot)[fl]?|_ZGV\w+")
# Templates have a power operator, whose result is text.
MAY_USE_LIBM = {"chat_template"}
ALLOCATES = re.compile(r"malloc|calloc|realloc(array)?|(aligned|v|pv)_?alloc|memalign|posix_memalign|strn?dup|v?asprintf|getline|getdelim"
                       r"|f(d|re|mem)?open(64)?|opendir|scandir(64)?|glob(64)?|realpath|getcwd|qsort(_r)?|setlocale|newlocale|duplocale"
                       r"|strerror(_[rl])?|(__)?(xpg_)?strerror_r|regcomp|pthread_create|pthread_atfork|__cxa_thread_atexit(_impl)?"
                       r"|XXH\w+_createState|utf8proc_(map\w*|NF\w+)"
                       r"|_ZNK?St(7__cxx11)?(10filesystem|6thread|6locale|8ios_base)\w*|_ZNSt7__cxx11\d+basic_\w*(stream|regex)\w*")
LISTED = {("base", "malloc"), ("base", "aligned_alloc"), ("base", "pthread_create"), ("base", "pthread_atfork"), ("formats", "strerror_r"),
          ("formats", "__xpg_strerror_r")}


def imports(nm, path, *options):
    output = subprocess.run([nm, *options, "--undefined-only", path], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in output.splitlines() if line.strip()}


def main():
    nm, library, listing, root = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
    bad = [f"the library imports {name}" for name in sorted(imports(nm, library, "-D")) if FORBIDDEN.fullmatch(name)]

    readers, names = set(), set()
    for source in sorted(path for room in ("src", "backends") for path in (root / room).rglob("*") if path.suffix in (".cpp", ".h")):
        for argument in re.findall(r"\bgetenv\(\s*([^)]*)\)", source.read_text()):
            readers.add(source.name)
            names.add(argument.strip('"'))
    if names != VARIABLES:
        bad.append(f"the sources read the environment variables {sorted(names)}; documented are {sorted(VARIABLES)}")

    objects = [line.strip() for line in listing.read_text().splitlines() if line.strip().endswith(".o")]
    for path in objects:
        room, name = re.search(r"/llmrt_(\w+)\.dir/", path).group(1), pathlib.Path(path).name.removesuffix(".o")
        for symbol in sorted(imports(nm, path)):
            if GETENV.fullmatch(symbol) and name not in readers:
                bad.append(f"{room}/{name} imports {symbol}")
            if LIBM.fullmatch(symbol) and room not in MAY_USE_LIBM:
                bad.append(f"{room}/{name} imports {symbol}: base/math.h has one that gives the same bits everywhere")
            if ALLOCATES.fullmatch(symbol) and (room, symbol) not in LISTED:
                bad.append(f"{room}/{name} imports {symbol}, which allocates and is not in docs/HACKING.md")
    if bad or not objects:
        sys.exit("\n".join(bad) or f"{listing} is empty")
    print(f"{len(objects)} objects, nothing that is not allowed")


main()
