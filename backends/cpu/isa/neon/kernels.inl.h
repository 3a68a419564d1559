// The kernels of the two NEON tables, and make_aarch64_table(), after neon/dot_tile.inl.h, scales and codes, and names for tiles:
//   Tile<R, kExpanded>     what the kernels sum R rows in
//   StoredCodes            the tile whose order expanded codes have
// Order matters: each file uses the names of those before it.
// clang-format off
#include "backends/cpu/isa/neon/row_dots.inl.h"
#include "backends/cpu/kernels/linear_rows.inl.h"
#include "backends/cpu/isa/neon/linear_32.inl.h"
#include "backends/cpu/isa/neon/linear_k.inl.h"
#include "backends/cpu/isa/neon/linear.inl.h"
#include "backends/cpu/kernels/linear_a8.inl.h"
#include "backends/cpu/isa/make_table.inl.h"
#include "backends/cpu/isa/neon/table.inl.h"
// clang-format on
