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

// Owns the arrays; reused between passes without allocation once warm.
struct BatchStorage {
  std::vector<int32_t> ids, pos;
  std::vector<uint32_t> row_begin, kv_len, table_begin, write_slot, out_rows;
  std::vector<BlockId> tables;
  Batch view() const;
};

void make_batch(std::span<const RowRun> runs, uint32_t n_groups, uint32_t block_tokens,
                BatchStorage& out);

}  // namespace llmrt
