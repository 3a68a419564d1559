#!/usr/bin/env python3
"""clang-tidy over src, backends and samples with the checks of .clang-tidy, in the way that build/tidy compiles them (`.ci/run tidy`).

  scripts/tidy.py              room by room, each as one translation unit, so that headers are read once; without
                               the analyzer and the slowest check
  scripts/tidy.py --deep       file by file, with everything
  scripts/tidy.py [--deep] PATH...     only files whose path begins so

One unit per room means that a name in two anonymous namespaces of a room clashes: share the helper, or rename one.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/tidy"
UNITS = BUILD / "units"


def arguments(entry):
    """The compiler's options for a file: without the file, the output, ccache and the precompiled header."""
    words = shlex.split(entry["command"])
    if words[0].endswith("ccache"):
        del words[0]
    result = []
    it = iter(words)
    for word in it:
        if word in ("-o", "-c"):
            next(it)
        elif word == "-Xclang" and (option := next(it)) in ("-include-pch", "-include"):
            next(it), next(it)
        elif word == "-Xclang":
            result += [word, option]
        else:
            result.append(word)
    return result


def room(file):
    return file.parts[:2] if file.parts[:3] != ("backends", "cpu", "isa") else file.parts[:3]


def sources(prefixes):
    """(file, compiler options) of all files of ours that the build compiles."""
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        file = path.relative_to(ROOT)
        if file.suffix == ".cpp" and file.parts[0] in ("src", "backends", "samples"):
            if not prefixes or str(file).startswith(tuple(prefixes)):
                yield file, arguments(entry)


def write_units(files):
    """One source for each room and set of options (the kernels of an instruction set have their own): [(room, source, options)]."""
    units = collections.defaultdict(list)
    for file, options in files:
        units[room(file), tuple(options)].append(file)
    result, sizes = [], {}
    for n, ((parts, options), members) in enumerate(units.items()):
        source = UNITS / f"{n}_{'_'.join(parts)}.cpp"
        source.write_text("".join(f'#include "{ROOT / m}"\n' for m in sorted(members)))
        result.append((ROOT.joinpath(*parts), source, list(options)))
        sizes[source] = sum((ROOT / m).stat().st_size for m in members)
    return sorted(result, key=lambda unit: -sizes[unit[1]])  # the longest is not the last to begin


def tidy(folder, source, deep):
    command = ["clang-tidy-14", "-p", str(UNITS), "--quiet"]
    if not deep:
        # The check of parameters takes as long as all others together.
        command.append("--checks=-clang-analyzer-*,-bugprone-suspicious-include,-performance-unnecessary-value-param")
        # A unit lies outside of the folder whose settings it wants; they inherit the root's.
        own = next((f for f in (folder, *folder.parents) if (f / ".clang-tidy").exists()), ROOT)
        command.append(f"--config-file={own / '.clang-tidy'}")
    done = subprocess.run([*command, str(source)], capture_output=True, text=True)
    return done.returncode, done.stdout + (done.stderr if done.returncode and not done.stdout else "")


def main(words):
    deep = "--deep" in words
    files = list(sources([w for w in words if w != "--deep"]))
    UNITS.mkdir(parents=True, exist_ok=True)
    jobs = [((ROOT / f).parent, ROOT / f, o) for f, o in files] if deep else write_units(files)
    database = [{"directory": str(BUILD), "file": str(s), "arguments": [*o, "-c", str(s)]} for _, s, o in jobs]
    (UNITS / "compile_commands.json").write_text(json.dumps(database))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for code, text in pool.map(lambda job: tidy(job[0], job[1], deep), jobs):
            failed += code != 0
            print(text, end="", flush=True)
    print(f"clang-tidy: {len(files)} files, {len(jobs)} runs, {failed} failed")
    return failed != 0 or not files


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
