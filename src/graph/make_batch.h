// make_batch: runs of rows with their block tables -> the ragged arrays of batch.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/batch.h"

namespace llmrt {

enum class RowWant : uint8_t { none, last, all };

// Rows of one sequence in one pass.
struct RowRun {
  std::span<const int32_t> tokens;  // ids of positions first .. first + size - 1
  uint32_t first = 0;               // position of tokens[0]
  // [n_groups], entries cover positions 0 .. first + size - 1
  std::span<const std::vector<BlockId>> tables;
  RowWant want = RowWant::none;
};

// Most that one pass has.
struct BatchLimits {
  uint32_t n_rows = 0, n_seqs = 0, n_out = 0, n_groups = 0;
  uint32_t n_entries = 0;  // of one table
};

// Owns the arrays; reused between passes.
struct BatchStorage {
  // Takes the memory for such passes: make_batch() then takes none. Of tables at most kReservedEntries in all, more as they are needed.
  void reserve(const BatchLimits& most);
  static constexpr size_t kReservedEntries = size_t{1} << 20;

  std::vector<int32_t> ids, pos;
  std::vector<uint32_t> row_begin, kv_len, table_begin, write_slot, out_rows;
  std::vector<BlockId> tables;
  Batch view() const;
};

void make_batch(std::span<const RowRun> runs, uint32_t n_groups, uint32_t block_tokens,
                BatchStorage& out);

}  // namespace llmrt
