// The kernels of the AVX-512 VNNI table, and the table.
// Order matters: each file uses the names of those before it.
// clang-format off
#include "backends/cpu/simd/avx512.h"
#include "backends/cpu/kernels/shared.inl.h"
#include "backends/cpu/isa/avx2/quantize.inl.h"
#include "backends/cpu/isa/avx2/row_dots.inl.h"
#include "backends/cpu/kernels/linear_rows.inl.h"
#include "backends/cpu/isa/avx2/row_expand.inl.h"
#include "backends/cpu/isa/avx2/row_expand_grids.inl.h"
#include "backends/cpu/isa/avx512/codes.inl.h"
#include "backends/cpu/isa/avx512/linear_k.inl.h"
#include "backends/cpu/isa/avx512/linear_32.inl.h"
#include "backends/cpu/isa/avx512/linear.inl.h"
#include "backends/cpu/kernels/linear_a8.inl.h"
#include "backends/cpu/isa/avx2/row_transpose.inl.h"
#include "backends/cpu/isa/avx512/row_lines.inl.h"
#include "backends/cpu/kernels/linear_lines.inl.h"
#include "backends/cpu/isa/make_table.inl.h"
#include "backends/cpu/isa/avx512/table.inl.h"
// clang-format on
