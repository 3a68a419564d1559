#include "graph/make_batch.h"

#include <algorithm>

#include "base/check.h"

namespace llmrt {

void BatchStorage::reserve(const BatchLimits& most) {
  for (auto* list : {&ids, &pos}) list->reserve(most.n_rows);
  row_begin.reserve(size_t{most.n_seqs} + 1);
  kv_len.reserve(most.n_seqs);
  table_begin.reserve(size_t{most.n_groups} * most.n_seqs + 1);
  write_slot.reserve(size_t{most.n_groups} * most.n_rows);
  out_rows.reserve(most.n_out);
  tables.reserve(
      std::min(uint64_t{most.n_groups} * most.n_seqs * most.n_entries, uint64_t{kReservedEntries}));
}

Batch BatchStorage::view() const {
  return {ids, pos, row_begin, kv_len, table_begin, tables, write_slot, out_rows};
}

void make_batch(std::span<const RowRun> runs, uint32_t n_groups, uint32_t block_tokens,
                BatchStorage& out) {
  out.ids.clear();
  out.pos.clear();
  out.row_begin.assign(1, 0);
  out.kv_len.clear();
  out.out_rows.clear();
  for (const RowRun& run : runs) {
    const auto n = static_cast<uint32_t>(run.tokens.size());
    const auto row = static_cast<uint32_t>(out.ids.size());
    out.ids.insert(out.ids.end(), run.tokens.begin(), run.tokens.end());
    for (uint32_t i = 0; i < n; ++i) {
      out.pos.push_back(static_cast<int32_t>(run.first + i));
      if (run.want == RowWant::all) out.out_rows.push_back(row + i);
    }
    if (run.want == RowWant::last) out.out_rows.push_back(row + n - 1);
    out.row_begin.push_back(row + n);
    out.kv_len.push_back(run.first + n);
  }
  out.table_begin.assign(1, 0);
  out.tables.clear();
  out.write_slot.clear();
  for (uint32_t g = 0; g < n_groups; ++g) {
    for (const RowRun& run : runs) {
      const std::vector<BlockId>& table = run.tables[g];
      const uint32_t end = run.first + static_cast<uint32_t>(run.tokens.size());
      const uint32_t n_blocks = (end + block_tokens - 1) / block_tokens;
      LLMRT_ASSERT(n_blocks <= table.size());
      out.tables.insert(out.tables.end(), table.begin(), table.begin() + n_blocks);
      out.table_begin.push_back(static_cast<uint32_t>(out.tables.size()));
      for (uint32_t p = run.first; p < end; ++p)
        out.write_slot.push_back(table[p / block_tokens] * block_tokens + p % block_tokens);
    }
  }
}

}  // namespace llmrt
