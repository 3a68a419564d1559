// One tensor of the model in memory. A matrix is P16 panels (quant/panel.h); a float vector (n == 1: norms, biases) is plain floats.
#pragma once

#include <cstdint>

#include "base/host.h"
#include "base/memory.h"
#include "base/status.h"
#include "graph/backend.h"
#include "graph/program.h"

namespace llmrt::cpu {

struct PackedWeight {
  DType type = DType::f32;
  uint32_t n = 0, k = 0;
  bool is_vector = false;   // data is float [k]
  Buffer data;              // vector: floats; matrix: panels, one after another
  size_t panel_stride = 0;  // bytes

  const float* floats() const { return reinterpret_cast<const float*>(data.data()); }
  const uint8_t* panel(uint32_t p) const { return data.data() + p * panel_stride; }
};

// Exactly what pack_weight() keeps.
uint64_t packed_bytes(const WeightDesc& desc);
const char* packed_form(const WeightDesc& desc);  // "P16" or "F32"

// Reads the tensor in runs of panels on the host's pool, packs each, and lets the source's pages go behind it.
Result<PackedWeight> pack_weight(const WeightDesc& desc, const WeightReader& reader,
                                 ThreadPool& pool, const JobProgress* progress);

// Row `row` of a matrix as floats. scratch: row_scratch_bytes(k).
void decode_weight_row(const PackedWeight& w, uint32_t row, float* out, uint8_t* scratch);
inline size_t row_scratch_bytes(uint32_t k) { return size_t{k} * 4 + 64; }

// A vector in any form as floats [n * k]; matrices of one row are decoded.
Result<Buffer> vector_floats(const PackedWeight& w);
// A matrix in panels, whatever form it is kept in: a float vector becomes one F32 panel (the same numerics class).
Result<PackedWeight> one_row_matrix(const PackedWeight& vector);

}  // namespace llmrt::cpu
