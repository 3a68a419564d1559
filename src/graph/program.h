// Program: a model as a flat list of ops in SSA form. The Program is the meaning; a backend's compile() is the speed.
// Plain data: built by Builder (builder.h), checked by shape_check, printed by dump(), planned by planner.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/kv_spec.h"
#include "graph/ops.h"
#include "quant/dtype.h"

namespace llmrt {

using ValueId = uint32_t;
using WeightIndex = uint32_t;
inline constexpr uint32_t kNone = UINT32_MAX;

struct Value {
  RowSpace rows = RowSpace::tokens;
  uint32_t width = 0;
};

struct Op {
  OpKind kind;
  ValueId out = kNone;  // kNone for kv_append
  std::array<ValueId, 2> in{kNone, kNone};
  WeightIndex weight = kNone;
  WeightIndex bias = kNone;
  OpParams params{};
  // block of the model this op belongs to (for dump and phase timers); kNone outside blocks
  uint32_t layer = kNone;
};

// What a tensor of the model is to the Program. A backend loads each entry once, whatever number of ops use it (tied embeddings).
struct WeightDesc {
  std::string name;  // tensor name in the file
  DType type = DType::f32;
  uint32_t n = 0;  // rows (1 for vectors)
  uint32_t k = 0;  // row length
  // matrices of n rows one after another: [n_expert, n, k] in the file; 1 but for experts
  uint32_t n_expert = 1;
};

struct RopeTable {
  std::vector<double> inv_freq;  // [d_rot / 2], scaling (linear, llama3, yarn) already applied
  float mscale = 1.0f;           // multiplies cos and sin
  RopePairs pairs = RopePairs::interleaved;
  bool operator==(const RopeTable&) const = default;
};

struct KvLayer {
  uint32_t group = 0;           // index into kv_groups
  uint32_t index_in_group = 0;  // 0 .. n_layers - 1
};

struct Program {
  std::vector<Value> values;
  std::vector<Op> ops;
  std::vector<WeightDesc> weights;
  std::vector<RopeTable> rope_tables;
  std::vector<KvGroup> kv_groups;
  std::vector<KvLayer> kv_layers;
  ValueId logits = kNone;  // [wanted, n_vocab]
  uint32_t n_vocab = 0;
  uint32_t n_embd = 0;

  std::string dump() const;  // one op a line: "%12 = linear %11 blk.0.attn_q.weight [960,960] Q4_K"
};

// Every op's shape rule, input before use, one logits value. An error here names op and value and is our own fault or a file's
// dimensions that do not fit together.
Status check_shapes(const Program& program);

}  // namespace llmrt
