// The NEON table: AArch64 with the dot-product extension (Armv8.2; all current phones, servers and Apple's). Compiled with exactly
// that.
#include <arm_neon.h>

#include "backends/cpu/isa/begin_isa.inl.h"

namespace llmrt::cpu::neon {
namespace {

// Order matters: each file uses the names of those before it.
// clang-format off
#include "backends/cpu/simd/neon.h"
#include "backends/cpu/kernels/shared.inl.h"
#include "backends/cpu/isa/neon/scales.inl.h"
#include "backends/cpu/isa/neon/codes.inl.h"
#include "backends/cpu/isa/neon/dot_tile.inl.h"
// clang-format on

template <int R, bool kExpanded>
using Tile = DotTile<R>;
using StoredCodes = DotTile<1>;

#include "backends/cpu/isa/neon/kernels.inl.h"

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable = make_aarch64_table("neon", 20.0f, 15.0f);

}  // namespace llmrt::cpu::neon
