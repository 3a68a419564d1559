// What the reference interpreter holds between passes, and one pass over it. Private to graph/.
#pragma once

#include "base/memory.h"
#include "graph/kv_spec.h"
#include "graph/reference.h"
#include "graph/reference_kernels.h"

namespace llmrt {

inline constexpr uint32_t kRowsPerChunk = 64;

// A weight as float32 in panels of 16 rows, [n_expert][ceil(n / 16)][k][16], rows past n zero. A vector (n = 1) is plain: panels of one
// row.
struct ReferenceBackend::Weight {
  WeightDesc desc;
  Buffer values;
  uint32_t panel_width() const { return desc.n == 1 ? 1 : kPanel; }
  // Of one matrix.
  uint64_t n_panels() const { return (uint64_t{desc.n} + panel_width() - 1) / panel_width(); }
  const float* data() const { return reinterpret_cast<const float*>(values.data()); }
  float* data() { return values.as<float>(); }
  const float* panel(uint64_t i) const { return data() + i * desc.k * panel_width(); }
};

// A block holds, for each layer of its group: K rows [token][head], then V rows [token][head].
struct ReferenceBackend::KvStore {
  std::vector<KvGroup> groups;
  KvConfig config;
  uint64_t block_bytes = 0;
  std::vector<Buffer> blocks;  // by id; empty: not committed
  int64_t n_committed = 0;

  struct Row {
    uint64_t k, v;  // byte offsets inside the block
  };
  Row row(const KvLayer& layer, uint32_t token, uint32_t head) const {
    const KvGroup& g = groups[layer.group];
    const uint64_t k_row = codec_row_bytes(config.codec.k, g.d_k);
    const uint64_t v_row = codec_row_bytes(config.codec.v, g.d_v);
    const uint64_t rows = uint64_t{config.block_tokens} * g.n_kv_head;
    const uint64_t base = layer.index_in_group * rows * (k_row + v_row);
    const uint64_t at = uint64_t{token} * g.n_kv_head + head;
    return {base + at * k_row, base + rows * k_row + at * v_row};
  }
};

struct ReferenceBackend::Exe {
  Program program;
  std::vector<const Weight*> weights;
  KvStore* kv = nullptr;
  CompileOptions options;
  Plan plan;
  Buffer arena[2];     // by RowSpace
  uint32_t n_out = 0;  // of the last finished pass
};

// The ops of one pass: matrices of the arena, rows [begin, end) of one op at a time.
struct ReferenceBackend::Pass {
  Exe& exe;
  const Batch& batch;
  ThreadPool& pool;
  const ReferenceKernels& kernels;

  uint32_t n_rows(ValueId v) const {
    return exe.program.values[v].rows == RowSpace::tokens ? batch.n_rows() : batch.n_out();
  }
  uint32_t width(ValueId v) const { return exe.program.values[v].width; }
  float* matrix(ValueId v) const {
    const auto space = static_cast<size_t>(exe.program.values[v].rows);
    return exe.arena[space].as<float>() + size_t{n_rows(v)} * exe.plan.offset[v];
  }
  float* row(ValueId v, uint32_t r) const { return matrix(v) + size_t{r} * width(v); }

  Status check_batch() const;
  void run(const Op& op, uint32_t begin, uint32_t end) const;

 private:
  void embed(const Op& op, uint32_t begin, uint32_t end) const;
  void norm(const Op& op, uint32_t begin, uint32_t end) const;
  void linear(const Op& op, uint32_t begin, uint32_t end) const;
  void rope(const Op& op, uint32_t begin, uint32_t end) const;
  void kv_append(const Op& op, uint32_t begin, uint32_t end) const;
  void glu(const Op& op, uint32_t begin, uint32_t end) const;
  void route(const Op& op, uint32_t begin, uint32_t end) const;
  void expert_linear(const Op& op, uint32_t begin, uint32_t end) const;
  void expert_sum(const Op& op, uint32_t begin, uint32_t end) const;
  struct Attention;  // reference_attention.cpp
  void paged_attention(const Op& op, uint32_t begin, uint32_t end) const;
};

}  // namespace llmrt
