#!/usr/bin/env python3
"""Makes src/quant/types/iq_grid_tables.h, the codebooks of GGUF's IQ types, from the format's own Python package.

  scripts/iq_grids.py            writes it
  scripts/iq_grids.py --check    exit status 1 if it is not what would be written

Needs `pip install gguf`. A grid is kept as a set: one bit for each candidate in ascending order (iq_grids.cpp), and a
checksum of its points, in which the compiler finds a wrong bit.
"""
import itertools
import pathlib
import sys

from gguf import quants

PATH = pathlib.Path(__file__).resolve().parent.parent / "src/quant/types/iq_grid_tables.h"
# name, class of the package, values of a coordinate, only points with an even sum of coordinates
GRIDS = [
    ("Iq1", quants.IQ1_S, 3, False),
    ("Iq2Xxs", quants.IQ2_XXS, 3, True),
    ("Iq2Xs", quants.IQ2_XS, 3, True),
    ("Iq2S", quants.IQ2_S, 3, True),
    ("Iq3Xxs", quants.IQ3_XXS, 8, True),
    ("Iq3S", quants.IQ3_S, 8, False),
]
HEAD = """\
// Made by scripts/iq_grids.py from the Python package of the GGUF format. iq_grids.cpp tells what the bits are.
#pragma once

#include <cstdint>

namespace llmrt {

// clang-format off
"""
TAIL = """
// clang-format on

}  // namespace llmrt
"""


def points_of(kind, n_values):
    """The coordinates of a grid's points, first coordinate first, as indices into the values of the type."""
    kind.init_grid()
    index = {value: i for i, value in enumerate(kind.grid_map)}
    assert len(index) == n_values
    return [tuple(index[int(x)] for x in point) for point in kind.grid.reshape(kind.grid_shape)]


def table(name, kind, n_values, even):
    points = points_of(kind, n_values)
    width = 16 // len(points[0])
    candidates = [c[::-1] for c in itertools.product(range(n_values), repeat=len(points[0]))
                  if not even or sum(c) % 2 == 0]
    members = set(points)
    assert [c for c in candidates if c in members] == points, f"{name}: not ascending, or not of an even sum"
    checksum = 0
    for point in points:
        checksum = (checksum * 31 + sum(x << (width * i) for i, x in enumerate(point))) % 2**32
    words = [0] * ((len(candidates) + 63) // 64)
    for i, candidate in enumerate(candidates):
        words[i // 64] |= (candidate in members) << (i % 64)
    lines = "".join("    " + " ".join(f"0x{w:016x}," for w in words[i:i + 5]) + "\n" for i in range(0, len(words), 5))
    return (f"\ninline constexpr uint32_t k{name}Checksum = 0x{checksum:08x};\n"
            f"inline constexpr uint64_t k{name}Members[] = {{\n{lines}}};\n")


def main():
    text = HEAD + "".join(table(*grid) for grid in GRIDS) + TAIL
    if sys.argv[1:] == ["--check"]:
        return 0 if PATH.read_text() == text else 1
    PATH.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
