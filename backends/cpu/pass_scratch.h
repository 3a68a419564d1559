// What each worker needs beside the arena: one run of bytes, its parts at fixed places.
//
//   linear   sums of a chunk [2 parts][panels][rows][16] | the kernel's own | panels, where weights are kept as rows of the file
//   attend   q and scores | parts of a tile
//   embed    row of the file
// The three kinds of phases use their parts at different times, so they share the bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/packed_weight.h"
#include "backends/cpu/worker_scratch.h"

namespace llmrt::cpu {

struct WorkerNeeds {
  uint32_t linear_k = 0;     // longest row of a matrix
  uint64_t panel_bytes = 0;  // of the largest panel that is packed at each use
  uint32_t embed_k = 0;      // longest row of an embedding
  uint32_t attend_d_k = 0, attend_d_v = 0;
  size_t part_floats = 0;
};

inline constexpr size_t kSumsBytes = 2 * kMostPanels * kMaxLinearRows * 16 * sizeof(float);

// Where the panels begin.
inline size_t panel_scratch_at(const WorkerNeeds& n) {
  return kSumsBytes + whole_lines(linear_scratch_bytes(n.linear_k));
}

inline size_t worker_bytes(const WorkerNeeds& n) {
  const size_t linear = panel_scratch_at(n) + kMostPanels * n.panel_bytes;
  const size_t attend = whole_lines(attend_scratch_bytes(n.attend_d_k, n.attend_d_v)) +
                        kMaxAttendRows * n.part_floats * sizeof(float);
  return whole_lines(std::max({linear, attend, row_scratch_bytes(n.embed_k)}));
}

}  // namespace llmrt::cpu
