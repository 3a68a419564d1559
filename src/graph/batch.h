// Batch: the one form every backend receives for one pass. Ragged rows plus block tables; no prefill or decode modes.
//
//   rows:       | seq 0: r0 r1 r2 | seq 1: r3 | seq 2: r4 r5 |        row_begin = {0, 3, 4, 6}
//   tables:     group-major: entry g * n_seqs + s of table_begin starts the table of sequence s in group g;
//               tables[table_begin[i] + p / block_tokens] is the block holding position p
//   write_slot: group-major: [g * n_rows + r] = block * block_tokens + offset where row r's K and V go
//   out_rows:   ascending row indices whose logits are wanted
#pragma once

#include <cstdint>
#include <span>

#include "graph/kv_spec.h"

namespace llmrt {

struct Batch {
  std::span<const int32_t> ids;  // [n_rows]
  // [n_rows] absolute positions, consecutive inside a sequence's rows
  std::span<const int32_t> pos;
  std::span<const uint32_t> row_begin;  // [n_seqs + 1]
  // [n_seqs] positions stored once this batch's rows are appended
  std::span<const uint32_t> kv_len;
  std::span<const uint32_t> table_begin;  // [n_groups * n_seqs + 1]
  std::span<const BlockId> tables;
  std::span<const uint32_t> write_slot;  // [n_groups * n_rows]
  std::span<const uint32_t> out_rows;    // [n_out]

  uint32_t n_rows() const { return static_cast<uint32_t>(ids.size()); }
  uint32_t n_seqs() const { return static_cast<uint32_t>(kv_len.size()); }
  uint32_t n_out() const { return static_cast<uint32_t>(out_rows.size()); }
};

}  // namespace llmrt
