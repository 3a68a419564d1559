// The AMX table (Sapphire Rapids and later): the AVX-512 VNNI kernels, and linears of class a8 of 16 rows and more by int8 tiles. For
// processes that the system has permitted to use tiles only (kernel_table.cpp). Tested with its instructions emulated
// (tests/cpu/avx512_emulated_table.cpp); this table has run on no such processor yet.
#include <immintrin.h>

#include "backends/cpu/isa/begin_isa.inl.h"

namespace llmrt::cpu::amx_int8 {
namespace {

// Order matters: each file uses the names of those before it.
// clang-format off
#include "backends/cpu/simd/avx512.h"
#include "backends/cpu/simd/amx.h"
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

extern const KernelTable kTable;
constinit const KernelTable kTable = make_amx_table("amx_int8");

}  // namespace llmrt::cpu::amx_int8
