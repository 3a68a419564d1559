#include "backends/cpu/attend_plan.h"

#include <algorithm>

#include "backends/cpu/kernel_table.h"

namespace llmrt::cpu {
namespace {
constexpr float kTaskNs = 150'000;  // aimed at; rules allow 0.5 ms
constexpr uint32_t kRowsWanted = 48;
}  // namespace

AttendPlan::AttendPlan(const AttendShape& shape, uint32_t max_rows, uint32_t max_seqs,
                       float macs_per_ns)
    : shape_(shape), max_rows_(max_rows), macs_per_ns_(macs_per_ns) {
  const uint32_t group = shape.n_head / shape.n_kv_head;
  const uint32_t pieces = (group + kRowsWanted - 1) / kRowsWanted;
  const uint32_t per_piece = (group + pieces - 1) / pieces;
  head_block_of_.resize(shape.n_head);
  for (uint32_t g = 0; g < shape.n_kv_head; ++g)
    for (uint32_t h = 0; h < group; h += per_piece) {
      const uint32_t n = std::min(per_piece, group - h);
      for (uint32_t j = 0; j < n; ++j)
        head_block_of_[g * group + h + j] = static_cast<uint32_t>(heads_.size());
      heads_.push_back({g, g * group + h, n});
    }
  const float row_ns = static_cast<float>(kAttendChunk * (shape.d_k + shape.d_v)) / macs_per_ns;
  const uint32_t rows = std::clamp(static_cast<uint32_t>(kTaskNs / row_ns), 1u, kRowsWanted);
  block_tokens_ = std::max(1u, rows / per_piece);
  blocks_.reserve(size_t{max_rows} + max_seqs);
  block_of_row_.resize(max_rows);
}

void AttendPlan::prepare(const Batch& batch) {
  blocks_.clear();
  n_rows_ = batch.n_rows();
  uint32_t most_chunks = 1;
  uint64_t n_parts = 0, n_tasks = 0;
  for (uint32_t s = 0; s < batch.n_seqs(); ++s)
    for (uint32_t row = batch.row_begin[s]; row < batch.row_begin[s + 1]; row += block_tokens_) {
      RowBlock b;
      b.seq = s;
      b.row = row;
      b.n_tokens = std::min(block_tokens_, batch.row_begin[s + 1] - row);
      b.pos = static_cast<uint32_t>(batch.pos[row]);
      const uint32_t first =
          shape_.window && b.pos + 1 > shape_.window ? b.pos + 1 - shape_.window : 0;
      b.first_chunk = first / kAttendChunk;
      b.n_chunks = (b.pos + b.n_tokens - 1) / kAttendChunk + 1 - b.first_chunk;
      b.task_begin = static_cast<uint32_t>(n_tasks);
      b.part_begin = static_cast<uint32_t>(n_parts);
      n_tasks += uint64_t{b.n_chunks} * heads_.size();
      n_parts += uint64_t{b.n_chunks} * b.n_tokens * shape_.n_head;
      most_chunks = std::max(most_chunks, b.n_chunks);
      for (uint32_t t = 0; t < b.n_tokens; ++t)
        block_of_row_[row + t] = static_cast<uint32_t>(blocks_.size());
      blocks_.push_back(b);
    }
  split_ = n_parts <= uint64_t{max_rows_} * shape_.n_head;
  if (split_) {
    n_stages_ = 1;
    n_tasks_ = static_cast<uint32_t>(n_tasks);
    return;
  }
  const float chunk_ns = static_cast<float>(block_tokens_ * heads_.front().n_heads * kAttendChunk *
                                            (shape_.d_k + shape_.d_v)) /
                         macs_per_ns_;
  span_ = std::max(1u, static_cast<uint32_t>(kTaskNs / chunk_ns));
  n_stages_ = (most_chunks + span_ - 1) / span_;
  n_tasks_ = static_cast<uint32_t>(blocks_.size() * heads_.size());
}

AttendPlan::Task AttendPlan::task(uint32_t stage, uint32_t index) const {
  if (!split_) {
    // Long blocks (late positions) first.
    const uint32_t reversed = n_tasks_ - 1 - index;
    const RowBlock& b = blocks_[reversed / heads_.size()];
    const HeadBlock& h = heads_[reversed % heads_.size()];
    const uint32_t first = stage * span_;
    const uint32_t n = first < b.n_chunks ? std::min(span_, b.n_chunks - first) : 0;
    return {&b, &h, b.first_chunk + first, n, h.first_head * n_rows_ + b.row * h.n_heads, true};
  }
  const auto after =
      std::upper_bound(blocks_.begin(), blocks_.end(), index,
                       [](uint32_t task, const RowBlock& b) { return task < b.task_begin; });
  const RowBlock& b = *(after - 1);
  const uint32_t local = index - b.task_begin;
  const HeadBlock& h = heads_[local / b.n_chunks];
  const uint32_t chunk = local % b.n_chunks;
  const uint32_t part = b.part_begin + (h.first_head * b.n_chunks + chunk * h.n_heads) * b.n_tokens;
  return {&b, &h, b.first_chunk + chunk, 1, part, false};
}

AttendPlan::Parts AttendPlan::parts(uint32_t row, uint32_t head) const {
  const HeadBlock& h = heads_[head_block_of_[head]];
  const uint32_t j = head - h.first_head;
  if (!split_) return {h.first_head * n_rows_ + row * h.n_heads + j, 0, 1};
  const RowBlock& b = blocks_[block_of_row_[row]];
  const uint32_t stride = h.n_heads * b.n_tokens;
  return {b.part_begin + h.first_head * b.n_chunks * b.n_tokens + (row - b.row) * h.n_heads + j,
          stride, b.n_chunks};
}

}  // namespace llmrt::cpu
