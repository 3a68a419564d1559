// The NEON table: AArch64 with the dot-product extension (Armv8.2; all current phones, servers and Apple's). Compiled with exactly
// that.
#include <arm_neon.h>

#include "backends/cpu/isa/begin_isa.inl.h"

namespace llmrt::cpu::neon {
namespace {

// Order matters: each file uses the names of those before it.
// clang-format off
#include "backends/cpu/simd/neon.h"
#include "backends/cpu/kernels/row_ops.inl.h"
#include "backends/cpu/kernels/quantize.inl.h"
#include "backends/cpu/kernels/attention.inl.h"
#include "backends/cpu/kernels/linear_f32.inl.h"
#include "backends/cpu/kernels/linear_codes.inl.h"
#include "backends/cpu/kernels/input_rows.inl.h"
#include "backends/cpu/isa/neon/row_dots.inl.h"
#include "backends/cpu/kernels/linear_rows.inl.h"
#include "backends/cpu/isa/neon/scales.inl.h"
#include "backends/cpu/isa/neon/codes.inl.h"
#include "backends/cpu/isa/neon/dot_tile.inl.h"
// clang-format on

// What the kernels sum R rows in; and whose order the expanded codes have.
template <int R, bool kExpanded>
using Tile = DotTile<R>;
using StoredCodes = DotTile<1>;

// clang-format off
#include "backends/cpu/isa/neon/linear_32.inl.h"
#include "backends/cpu/isa/neon/linear_k.inl.h"
#include "backends/cpu/isa/neon/linear.inl.h"
#include "backends/cpu/kernels/linear_a8.inl.h"
#include "backends/cpu/isa/make_table.inl.h"
#include "backends/cpu/isa/neon/table.inl.h"
// clang-format on

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable = make_aarch64_table("neon", 20.0f, 15.0f);

}  // namespace llmrt::cpu::neon
