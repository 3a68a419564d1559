#!/usr/bin/env python3
"""Fails on an include that the layer table of docs/ARCHITECTURE.md forbids, and on headers or #if of the operating system in src and
backends outside src/base/platform. Then plants bad lines and checks that each is found.

    layering_test.py REPOSITORY
"""

import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
SYSTEM_HEADER = re.compile(
    r"^(?:(?:arpa|asm|bits|linux|mach|net|netinet|sys)/.*|(?:aio|dirent|dlfcn|execinfo|fcntl|ftw|glob|grp|ifaddrs|io|langinfo|malloc|"
    r"netdb|poll|process|pthread|pwd|sched|semaphore|signal|spawn|strings|syslog|termios|ucontext|unistd|windows)\.h|csignal)$")
SYSTEM_IF = re.compile(
    r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*\b(?:_WIN32|_WIN64|__ANDROID__|__APPLE__|__CYGWIN__|__FreeBSD__|__MINGW32__|__gnu_linux__|"
    r"__linux|__linux__|__unix|__unix__|_POSIX_\w+)\b")
PLATFORM = pathlib.Path("src/base/platform")
# Reads and maps files, and nothing else: descriptors are part of its interface, kinds of files and errno of its sentences.
FILE_READER = pathlib.Path("src/formats/byte_source.cpp")

SOURCES = {".h", ".hpp", ".c", ".cpp", ".inc", ".cu", ".cuh"}


class Table:
    """layer_of[room], reach[room] = rooms it may include, wing_reach, outdoors = folders that see the public header only."""

    def __init__(self, text):
        block = re.search(r"^```layers\n(.*?)^```", text, re.M | re.S)
        if not block:
            raise SystemExit("docs/ARCHITECTURE.md has no ```layers block")
        self.layer_of, self.reach, self.wing_reach, self.outdoors = {}, {}, set(), []
        highest, arrows = {}, []
        for line in block.group(1).splitlines():
            head, _, rest = line.partition(" may include ")
            first, *_ = head.split()
            if first == "wing":
                self.wing_reach = {room.strip() for room in rest.split(",")}
            elif first == "outdoors":
                self.outdoors = [folder.strip() for folder in head.replace("outdoors", "", 1).split(",")]
            else:
                match = re.match(r"^(\d+)\s+(.*)$", head if rest else re.sub(r"\s\s+.*$", "", line))
                layer, rooms = int(match.group(1)), match.group(2)
                limit = re.match(r"(?:0\.\.)?(\d+)", rest)
                highest[layer] = int(limit.group(1)) if limit else -1
                for group in rooms.split("|"):
                    chain = [room.strip() for room in group.split("->")]
                    arrows += list(zip(chain, chain[1:]))
                    self.layer_of.update({room: layer for room in chain})
        for room, layer in self.layer_of.items():
            self.reach[room] = {room} | {other for other, at in self.layer_of.items() if at <= highest[layer] and at < layer}
        for left, right in arrows:
            self.reach[left].add(right)
        unknown = self.wing_reach - set(self.layer_of)
        if unknown or not self.wing_reach or not self.outdoors:
            raise SystemExit(f"docs/ARCHITECTURE.md: the layer table lacks its wing or outdoors row, or names unknown rooms {unknown}")


def find(root, file, name):
    """The file of the repository that an include means, or None for one of the system's."""
    for base in (file.parent, root / "src", root, root / "include"):
        if (base / name).is_file():
            return (base / name).resolve().relative_to(root.resolve())
    return None


def zone(path):
    """src/kv/x.h -> ("src", "kv"); backends/cpu/x.h -> ("backends", "cpu"); else ("other", first folder)."""
    parts = path.parts
    if parts[0] in ("src", "backends"):
        return parts[0], parts[1] if len(parts) > 2 else ""
    return "other", parts[0]


def system_complaint(relative, line):
    if relative.parts[0] not in ("src", "backends") or relative.is_relative_to(PLATFORM) or relative == FILE_READER:
        return None
    match = INCLUDE.match(line)
    if match and SYSTEM_HEADER.match(match.group(2)) or SYSTEM_IF.match(line):
        return f"the operating system is asked in {PLATFORM} only"
    return None


def complaint(table, root, file, quote, name):
    relative = file.relative_to(root)
    kind, room = zone(relative)
    folder = next((f for f in table.outdoors if relative.is_relative_to(f)), None)
    if kind == "other" and folder is None:
        return None  # tests look everywhere
    target = find(root, file, name)
    if target is None:
        return f'"{name}" is no file of the repository' if quote == '"' else None
    to_kind, to_room = zone(target)
    public = target == pathlib.Path("include/llmrt.h")
    if folder is not None:
        return None if public or target.is_relative_to(folder) else f"{folder} sees include/llmrt.h only"
    if kind == "src":
        if room not in table.layer_of:
            return f"src/{room} is not in the layer table"
        if public:
            return None if room == "api" else "include/llmrt.h is implemented by src/api alone"
        if to_kind != "src":
            return f"src never includes {target.parts[0]}"
        return None if to_room in table.reach[room] else f"{room} may not include {to_room}"
    if to_kind == "backends":
        return None if room in ("", to_room) or to_room == "" else f"backends/{room} may not include backends/{to_room}"
    return None if to_kind == "src" and to_room in table.wing_reach else f"backends may include {', '.join(sorted(table.wing_reach))} only"


def check(root):
    table = Table((root / "docs/ARCHITECTURE.md").read_text())
    problems, n_files, n_includes = [], 0, 0
    for top in ("src", "backends", "samples", "bindings", "tests"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SOURCES or not file.is_file():
                continue
            n_files += 1
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                why = system_complaint(file.relative_to(root), line)
                match = INCLUDE.match(line)
                if match:
                    n_includes += 1
                    why = why or complaint(table, root, file, match.group(1), match.group(2))
                if why:
                    problems.append(f"{file.relative_to(root)}:{number}: {line.strip()}: {why}")
    return problems, n_files, n_includes


# file, include or other line, whether it is allowed
PLANTS = [
    ("src/base/a.h", '"graph/ops.h"', False),
    ("src/graph/a.h", '"base/status.h"', True),
    ("src/graph/a.h", '"kv/kv_layout.h"', False),
    ("src/kv/a.cpp", '"model/architecture.h"', False),
    ("src/kv/a.cpp", '"kv/kv_layout.h"', True),
    ("src/sampling/a.cpp", '"tokenizer/tokenizer.h"', False),
    ("src/formats/a.cpp", '"quant/dtype.h"', True),
    ("src/quant/a.cpp", '"formats/weight_source.h"', False),
    ("src/runtime/a.cpp", '"chat/messages.h"', False),
    ("src/engine/a.cpp", '"chat/messages.h"', True),
    ("src/engine/a.cpp", '"api/handles.h"', False),
    ("src/engine/a.cpp", "<llmrt.h>", False),
    ("src/api/a.cpp", '"llmrt.h"', True),
    ("src/engine/a.cpp", '"backends/cpu/x.h"', False),
    ("src/engine/a.cpp", '"../../backends/cpu/x.h"', False),
    ("src/engine/a.cpp", '"no/such.h"', False),
    ("src/lobby/a.cpp", '"base/status.h"', False),
    ("backends/cpu/a.cpp", '"graph/ops.h"', True),
    ("backends/cpu/a.cpp", '"kv/kv_layout.h"', False),
    ("backends/cpu/a.cpp", '"backends/cpu/x.h"', True),
    ("backends/cpu/a.cpp", '"backends/gpu/x.h"', False),
    ("backends/builtin.cpp", '"backends/cpu/x.h"', True),
    ("samples/cli/a.cpp", "<llmrt.h>", True),
    ("samples/cli/a.cpp", '"base/status.h"', False),
    ("samples/cli/a.cpp", '"../../src/base/status.h"', False),
    ("tests/abi/a.c", '"llmrt.h"', True),
    ("tests/abi/a.c", '"api/handles.h"', False),
    ("tests/kv/a_test.cpp", '"model/architecture.h"', True),
    ("src/base/a.cpp", "<unistd.h>", False),
    ("src/api/a.cpp", "<sys/mman.h>", False),
    ("src/base/platform/a.cpp", "<pthread.h>", True),
    ("src/formats/byte_source.cpp", "<fcntl.h>", True),
    ("src/formats/a.cpp", "<fcntl.h>", False),
    ("src/formats/a.cpp", "<cerrno>", True),
    ("backends/cpu/a.cpp", "<sched.h>", False),
    ("backends/cpu/a.cpp", "<immintrin.h>", True),
    ("backends/cpu/a.cpp", "#if defined(__x86_64__)", True),
    ("backends/cpu/a.cpp", "#elif defined(__aarch64__) && defined(__linux__)", False),
    ("src/base/a.h", "#ifdef _WIN32", False),
    ("src/base/platform/a.h", "#ifdef _WIN32", True),
    ("samples/cli/a.cpp", "<unistd.h>", True),
]
HEADERS = ["src/base/status.h", "src/graph/ops.h", "src/kv/kv_layout.h", "src/model/architecture.h", "src/tokenizer/tokenizer.h",
           "src/quant/dtype.h", "src/formats/weight_source.h", "src/chat/messages.h", "src/api/handles.h", "backends/cpu/x.h",
           "backends/gpu/x.h", "include/llmrt.h"]


def self_check(root):
    wrong = []
    for name, include, allowed in PLANTS:
        with tempfile.TemporaryDirectory() as scratch:
            house = pathlib.Path(scratch).resolve()
            for header in HEADERS + ["docs/ARCHITECTURE.md", name]:
                (house / header).parent.mkdir(parents=True, exist_ok=True)
                (house / header).touch()
            (house / "docs/ARCHITECTURE.md").write_text((root / "docs/ARCHITECTURE.md").read_text())
            line = include if include.startswith("#") else f"#include {include}"
            (house / name).write_text(f"// planted\n{line}\n")
            problems, _, _ = check(house)
            if bool(problems) == allowed:
                wrong.append(f"planted {include} in {name}: {'refused: ' + problems[0] if problems else 'not found'}")
    return wrong


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    problems, n_files, n_includes = check(root)
    wrong = self_check(root)
    for line in problems + wrong:
        print(line)
    print(f"{n_includes} includes in {n_files} files: {len(problems)} forbidden; {len(PLANTS)} planted: {len(wrong)} judged wrongly")
    return 1 if problems or wrong or n_includes == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
