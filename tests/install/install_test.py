#!/usr/bin/env python3
"""Installs the build into a prefix, moves the prefix, and builds and runs programs against it with CMake and with pkg-config.

    install_test.py CMAKE BUILD_FOLDER REPOSITORY MODEL GENERATOR
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **options).stdout


def main():
    cmake, build, root, model, generator = sys.argv[1:6]
    consumer = pathlib.Path(root, "tests/install/consumer")
    samples = pathlib.Path(root, "samples")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        run(cmake, "--install", build, "--prefix", work / "first")
        prefix = work / "moved here"
        shutil.move(work / "first", prefix)
        for file in prefix.rglob("*"):
            if file.suffix in (".cmake", ".pc") and (root in file.read_text() or str(work) in file.read_text()):
                sys.exit(f"{file.relative_to(prefix)} names an absolute path")

        out = work / "by cmake"
        run(cmake, "-G", generator, "-S", consumer, "-B", out, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DSAMPLES={samples}")
        run(cmake, "--build", out)
        if not run(out / "from_c", model, "7").startswith("123456789"):
            sys.exit("the program built with CMake gave another answer")
        run(out / "from_cpp")

        if shutil.which("pkg-config"):
            pc = next(prefix.rglob("llmrt.pc"))
            flags = run("pkg-config", "--cflags", "--libs", "llmrt", env={**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}).strip()
            library = next(prefix.rglob("libllmrt.so")).parent
            run("sh", "-c", f'cc -o "$0" "$1" {flags} "-Wl,-rpath,$2"', work / "by_pkg_config", samples / "hello.c", library)
            if not run(work / "by_pkg_config", model, "7").startswith("123456789"):
                sys.exit("the program built with pkg-config gave another answer")
        else:
            print("skipped: no pkg-config here")

        tool = prefix / "bin" / "llmrt"
        if tool.exists() and run(tool, "run", model, "7").strip() != "123456789":
            sys.exit("the installed tool gave another answer")
    print("installed, moved, used")


main()
