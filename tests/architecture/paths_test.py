#!/usr/bin/env python3
"""Fails if a page of the documentation names a file or folder of the repository that is not there, or if a source file names a page
(a name ending in .md) that is not.

    paths_test.py REPOSITORY
"""

import pathlib
import re
import sys

TOPS = "src|backends|include|samples|bindings|tests|docs|cmake|scripts|packaging|.ci"
PATH = re.compile(r"`((?:%s)(?:/[A-Za-z0-9_.{},/<>*-]*)?)`" % TOPS.replace(".", r"\."))

PAGE = re.compile(r"\b[A-Za-z0-9_][A-Za-z0-9_./-]*\.md\b")
SOURCE_TOPS = ("src", "backends", "include", "samples", "bindings", "tests", "cmake", "scripts", ".ci")
SOURCE_SUFFIXES = {"", ".h", ".c", ".cpp", ".py", ".sh", ".cmake", ".txt"}


def sources(root):
    yield root / "CMakeLists.txt"
    for top in SOURCE_TOPS:
        for file in sorted((root / top).rglob("*")):
            if file.is_file() and file.suffix in SOURCE_SUFFIXES and not file.is_relative_to(root / "tests/data"):
                yield file


def expand(path):
    """a/b.{h,cpp} -> a/b.h, a/b.cpp"""
    match = re.search(r"\{([^}]*)\}", path)
    if not match:
        return [path]
    return [path.replace(match.group(0), part, 1) for part in match.group(1).split(",")]


def main():
    root = pathlib.Path(sys.argv[1])
    n, missing = 0, []
    for page in [*root.glob("*.md"), *root.glob("docs/**/*.md")]:
        for number, line in enumerate(page.read_text().splitlines(), 1):
            for match in PATH.finditer(line):
                for path in expand(match.group(1)):
                    if "<" in path or "*" in path:  # a pattern: its folder must be there
                        path = re.split(r"[<*]", path)[0].rpartition("/")[0]
                    n += 1
                    if not (root / path).exists():
                        missing.append(f"{page.relative_to(root)}:{number}: {path} does not exist")
    for file in sources(root):
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            for page in PAGE.findall(line):
                n += 1
                if not (root / page).is_file():
                    missing.append(f"{file.relative_to(root)}:{number}: {page} is no page of this repository")
    print("\n".join(missing + [f"{n} paths named, {len(missing)} missing"]))
    return 1 if missing or n == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
