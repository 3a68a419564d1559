// The kernels of the AVX2 and the AVX-VNNI table, after simd/avx2.h and a simd/dot_<...>.h.
// Order matters: each file uses the names of those before it.
// clang-format off
#include "backends/cpu/kernels/shared.inl.h"
#include "backends/cpu/isa/avx2/quantize.inl.h"
#include "backends/cpu/isa/avx2/row_dots.inl.h"
#include "backends/cpu/kernels/linear_rows.inl.h"
#include "backends/cpu/isa/avx2/row_expand.inl.h"
#include "backends/cpu/isa/avx2/row_expand_grids.inl.h"
#include "backends/cpu/isa/avx2/codes.inl.h"
#include "backends/cpu/isa/avx2/linear_32.inl.h"
#include "backends/cpu/isa/avx2/linear_k.inl.h"
#include "backends/cpu/isa/avx2/linear.inl.h"
#include "backends/cpu/kernels/linear_a8.inl.h"
#include "backends/cpu/isa/avx2/row_transpose.inl.h"
#include "backends/cpu/isa/avx2/row_lines.inl.h"
#include "backends/cpu/kernels/linear_lines.inl.h"
#include "backends/cpu/isa/make_table.inl.h"
// clang-format on
