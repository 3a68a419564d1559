// The AVX-512 VNNI and the AMX table, their instructions emulated: the same kernel files as isa/avx512_vnni.cpp and isa/amx_int8.cpp.
#include "amx_emulation.h"
#include "avx512_emulation.h"
#include "backends/cpu/isa/begin_isa.inl.h"

namespace llmrt::cpu::avx512_emulated {
namespace {

#define __m512i Int512
#define __m512 Float512

// clang-format off
#include "backends/cpu/simd/avx512.h"
#include "backends/cpu/kernels/row_ops.inl.h"
#include "backends/cpu/kernels/quantize.inl.h"
#include "backends/cpu/kernels/attention.inl.h"
#include "backends/cpu/kernels/linear_f32.inl.h"
#include "backends/cpu/kernels/linear_codes.inl.h"
#include "backends/cpu/kernels/input_rows.inl.h"
#include "backends/cpu/isa/avx2/row_dots.inl.h"
#include "backends/cpu/kernels/linear_rows.inl.h"
#include "backends/cpu/isa/avx2/row_expand.inl.h"
#include "backends/cpu/isa/avx2/row_expand_grids.inl.h"
#include "backends/cpu/isa/avx512/linear.inl.h"
#include "backends/cpu/kernels/linear_a8.inl.h"
#include "backends/cpu/isa/avx2/row_transpose.inl.h"
#include "backends/cpu/isa/avx512/row_lines.inl.h"
#include "backends/cpu/kernels/linear_lines.inl.h"
#include "backends/cpu/isa/amx/linear_tiles.inl.h"
#include "backends/cpu/isa/amx/types_k.inl.h"
#include "backends/cpu/isa/amx/types_32.inl.h"
#include "backends/cpu/isa/make_table.inl.h"
#include "backends/cpu/isa/avx512/table.inl.h"
#include "backends/cpu/isa/amx/table.inl.h"
// clang-format on

}  // namespace

extern const KernelTable kTable, kTileTable;
const KernelTable kTable = make_avx512_table("avx512_emulated");
const KernelTable kTileTable = make_amx_table("amx_emulated");

bool tiles_are_released();
bool tiles_are_released() { return !t_tiles.configured; }

}  // namespace llmrt::cpu::avx512_emulated
