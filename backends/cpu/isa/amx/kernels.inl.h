// The kernels of the AMX table, and the table, after simd/amx.h: those of AVX-512 VNNI and tiles.
// Order matters: each file uses the names of those before it.
// clang-format off
#include "backends/cpu/isa/avx512/kernels.inl.h"
#include "backends/cpu/isa/amx/linear_tiles.inl.h"
#include "backends/cpu/isa/amx/types_k.inl.h"
#include "backends/cpu/isa/amx/types_32.inl.h"
#include "backends/cpu/isa/amx/linear_bf16.inl.h"
#include "backends/cpu/isa/amx/attention.inl.h"
#include "backends/cpu/isa/amx/table.inl.h"
// clang-format on
