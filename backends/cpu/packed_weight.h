// One tensor of the model in memory. A matrix is P16 panels (quant/panel.h), the matrices of experts one after another; a float vector
// (n == 1: norms, biases) is plain floats. The bytes are owned or somebody else's, in a mapped file. A raw matrix has the rows of the
// file instead of panels: whoever multiplies by a panel packs it first, into scratch of its own.
#pragma once

#include <cstdint>
#include <span>

#include "backends/cpu/worker_scratch.h"
#include "base/host.h"
#include "base/memory.h"
#include "base/status.h"
#include "graph/backend.h"
#include "graph/program.h"
#include "quant/panel.h"

namespace llmrt::cpu {

struct PackedWeight {
  DType type = DType::f32;
  uint32_t n = 0, k = 0;          // of each matrix
  bool is_vector = false;         // float [k]
  bool is_raw = false;            // rows of the file
  const uint8_t* data = nullptr;  // vector: floats; matrix: panels, or rows, one after another
  size_t panel_stride = 0;        // bytes of a panel, packed
  size_t row_stride = 0;          // raw: bytes of a row
  Buffer owned = {};              // data, unless it lies elsewhere

  const float* floats() const { return reinterpret_cast<const float*>(data); }
  // Not of a raw matrix.
  const uint8_t* panel(uint32_t p, uint32_t expert = 0) const {
    return data + (size_t{expert} * n_panels(n) + p) * panel_stride;
  }
  // Of a raw matrix: the same bytes, packed into panel_stride bytes of scratch.
  void packed_panel(uint32_t p, uint32_t expert, uint8_t* scratch) const;
  // Of a raw matrix: these panels are needed at once, those behind them soon.
  void expect_panels(uint32_t begin, uint32_t end, uint32_t expert) const;
};

// A float vector, kept as plain floats.
bool keeps_floats(const WeightDesc& desc);
// Exactly what pack_weight() keeps.
uint64_t packed_bytes(const WeightDesc& desc);
const char* packed_form(const WeightDesc& desc);  // "P16" or "F32"

// Reads the tensor in runs of panels on the host's pool, packs each, and lets the source's pages go behind it. rows: the pool's workers
// read into it; kept by the caller from one tensor to the next.
Result<PackedWeight> pack_weight(const WeightDesc& desc, const WeightReader& reader,
                                 ThreadPool& pool, WorkerScratch& rows,
                                 const JobProgress* progress);
// The bytes stay the caller's: Backend::adopt_weight().
Result<PackedWeight> borrow_weight(const WeightDesc& desc, WeightForm form,
                                   std::span<const uint8_t> bytes);

// Row `row` of a matrix as floats. scratch: row_scratch_bytes(k).
void decode_weight_row(const PackedWeight& w, uint32_t row, float* out, uint8_t* scratch);
inline size_t row_scratch_bytes(uint32_t k) { return size_t{k} * 4 + 64; }

// A vector in any form as floats [n * k]; matrices of one row are decoded.
Result<Buffer> vector_floats(const PackedWeight& w);
// A matrix in panels, whatever form it is kept in: a float vector becomes one F32 panel (the same numerics class).
Result<PackedWeight> one_row_matrix(const PackedWeight& vector);

}  // namespace llmrt::cpu
