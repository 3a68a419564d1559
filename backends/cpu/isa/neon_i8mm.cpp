// The NEON table of processors with FEAT_I8MM too (Armv8.6; Apple M2, Neoverse V1 and N2, and later): from two rows on int8 products are
// smmla, 32 a register pair; one row is sdot, as in the NEON table. Compiled with exactly those flags.
#include <arm_neon.h>

#include "backends/cpu/isa/begin_isa.inl.h"

namespace llmrt::cpu::neon_i8mm {
namespace {

// Order matters: each file uses the names of those before it.
// clang-format off
#include "backends/cpu/simd/neon.h"
#include "backends/cpu/kernels/shared.inl.h"
#include "backends/cpu/isa/neon/scales.inl.h"
#include "backends/cpu/isa/neon/codes.inl.h"
#include "backends/cpu/isa/neon/dot_tile.inl.h"
#include "backends/cpu/isa/neon_i8mm/matrix_tile.inl.h"
// clang-format on

template <int R, bool kExpanded>
using Tile = std::conditional_t<R == 1 && !kExpanded, DotTile<1>, MatrixTile<R>>;
using StoredCodes = MatrixTile<2>;

#include "backends/cpu/isa/neon/kernels.inl.h"

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable = make_aarch64_table("neon_i8mm", 40.0f, 15.0f);

}  // namespace llmrt::cpu::neon_i8mm
