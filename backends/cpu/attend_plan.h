// How the attention of one batch is cut into chunks of bounded time. Made at the start of a pass, from the batch alone.
//
//   row block   some consecutive query tokens of one sequence; with the heads of one KV head they are the rows of a tile
//   key chunk   256 keys at absolute positions; block b sees chunks first_chunk .. first_chunk + n_chunks - 1
//
//   split:   each (row block, head block, key chunk) is a task with a part of its own; joined in ascending order by the row step
//            after it. For decode, where rows are few and keys many.
//   walked:  each (row block, head block) is a task that walks `span` key chunks per stage, joining into one part per row and head.
//            For prefill. Stages keep every task short.
// Both join the same parts in the same order, so they give the same bits (docs/NUMERICS.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/batch.h"
#include "graph/ops.h"

namespace llmrt::cpu {

// Query heads that share one KV head, at most kMaxAttendRows of them.
struct HeadBlock {
  uint32_t kv_head = 0, first_head = 0, n_heads = 0;
};

struct RowBlock {
  uint32_t seq = 0;
  uint32_t row = 0, n_tokens = 0;  // rows of the batch
  uint32_t pos = 0;                // of its first token
  uint32_t first_chunk = 0, n_chunks = 0;
  uint32_t task_begin = 0;  // split: tasks of the blocks before it
  uint32_t part_begin = 0;  // split: parts of the blocks before it
};

struct AttendShape {
  uint32_t n_head = 0, n_kv_head = 0, d_k = 0, d_v = 0, window = 0;
  bool operator==(const AttendShape&) const = default;
};

class AttendPlan {
 public:
  // Takes all memory it will need for batches of at most these sizes.
  AttendPlan(const AttendShape& shape, uint32_t max_rows, uint32_t max_seqs, float macs_per_ns);
  void prepare(const Batch& batch);  // no allocation

  const AttendShape& shape() const { return shape_; }
  uint32_t n_stages() const { return n_stages_; }
  uint32_t n_tasks() const { return n_tasks_; }  // of each stage

  struct Task {
    const RowBlock* rows;
    const HeadBlock* heads;
    uint32_t first_chunk, n_chunks;  // n_chunks 0: nothing to do
    uint32_t part;                   // its first part; row i (token * n_heads + head) is part + i
    bool joins;                      // walked: chunks after the block's first join the part
  };
  Task task(uint32_t stage, uint32_t index) const;

  // The parts of one batch row and head, ascending by chunk: first, first + stride, ...
  struct Parts {
    uint32_t first, stride, n;
  };
  Parts parts(uint32_t row, uint32_t head) const;

 private:
  AttendShape shape_;
  uint32_t max_rows_;
  float macs_per_ns_;
  std::vector<HeadBlock> heads_;
  std::vector<uint32_t> head_block_of_;  // [n_head]
  std::vector<RowBlock> blocks_;         // capacity: max_rows + max_seqs
  std::vector<uint32_t> block_of_row_;   // [max_rows]
  uint32_t block_tokens_ = 1;
  bool split_ = false;
  uint32_t span_ = 1, n_stages_ = 1, n_tasks_ = 0, n_rows_ = 0;
};

}  // namespace llmrt::cpu
