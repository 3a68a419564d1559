// A compiled Program and the pass that runs on it: phases of pass_plan.h bound to weights, arena and KV.
//
// A pass is a walk over stages: one per phase, more for attention (attend_plan.h). A stage is a list of chunks that run in any order
// and share nothing they write, so a pass may stop between any two chunks. Execution{phase, chunk} = (stage, chunk).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/cpu/attend_plan.h"
#include "backends/cpu/expert_groups.h"
#include "backends/cpu/kernel_table.h"
#include "backends/cpu/kv_slabs.h"
#include "backends/cpu/packed_weight.h"
#include "backends/cpu/pass_plan.h"
#include "backends/cpu/worker_scratch.h"
#include "graph/backend.h"
#include "graph/logit_blocks.h"

namespace llmrt::cpu {

class CompiledPass {
 public:
  static Result<std::unique_ptr<CompiledPass>> create(const Program& program,
                                                      const CompileOptions& options,
                                                      std::span<const PackedWeight* const> weights,
                                                      KvSlabs& kv, const KernelTable& table,
                                                      ThreadPool& pool);

  // From execution's stage and chunk on, until done or the deadline passed.
  Result<Progress> advance(Execution& execution, Deadline deadline);
  void abandon() { batch_ = nullptr; }
  std::span<const float> logits() const {
    return {reinterpret_cast<const float*>(logits_.data()), size_t{n_out_} * program_.n_vocab};
  }
  // Empty where the logits are not what a linear writes: a softcap after it makes others.
  std::span<const float> logit_maxima() const {
    return {maxima_base_, maxima_base_ ? n_out_ * n_logit_blocks(program_.n_vocab) : 0};
  }

  static uint64_t compute_bytes(const Program& program, const CompileOptions& options,
                                const KernelTable& table, uint32_t n_workers);

 private:
  // One matrix of a linear or experts phase.
  struct BoundPart {
    const PackedWeight* weight = nullptr;
    LinearFn fn = nullptr;
    const QuantFormat* format = nullptr;
    const float* bias = nullptr;
    const uint8_t* in = nullptr;
    size_t in_stride = 0;
    const ActivationForm* form = nullptr;
    float macs_per_ns = 1;
    float expand_ns = 0;  // of a weight, once for a chunk's rows
  };
  struct BoundJob {
    const LinearJob* job = nullptr;
    BoundPart part[2];
    bool takes_panels = true;  // all parts kMostPanels at once
  };
  // A job's rows in this batch, or those of one expert, cut into chunks.
  struct JobCut {
    const BoundJob* job = nullptr;
    uint32_t row_begin = 0, n_rows = 0;  // of the input: rows of the batch, or slots
    uint32_t expert = 0;
    uint32_t panels_per_chunk = 1, rows_per_chunk = 1, n_row_chunks = 1, chunk_begin = 0;
  };
  // What the cuts of rows and linear phases depend on.
  struct CutFor {
    uint32_t n_rows = 0, n_out = 0, n_workers = 0;
    bool operator==(const CutFor&) const = default;
  };
  struct BoundPhase {
    std::vector<BoundJob> jobs;
    std::vector<JobCut> cuts;      // [jobs] of a linear phase
    uint32_t rows_per_chunk = 1;   // rows phases, of the running batch
    uint32_t attend_plan = kNone;  // index into attend_plans_
    uint32_t stage_begin = 0, n_stages = 1, n_chunks = 0;
  };

  CompiledPass(const Program& program, const CompileOptions& options, KvSlabs& kv,
               const KernelTable& table, ThreadPool& pool)
      : program_(program), options_(options), kv_(kv), table_(table), pool_(pool) {}
  Status take_memory();
  Status bind(std::span<const PackedWeight* const> weights);
  Status bind_job(const LinearJob& job, BoundPhase& phase);
  void reserve_experts(const Phase& phase);
  Status bind_vector(WeightIndex index);  // vectors_[index] is there afterwards

  Status begin(const Batch& batch);
  Status check(const Batch& batch) const;
  Status grow_workers();
  uint32_t cut_jobs(std::span<JobCut> cuts, uint32_t n_workers) const;
  void sort_by_expert(const Phase& phase, BoundPhase& bound);
  uint32_t n_rows(RowSpace rows) const {
    return rows == RowSpace::tokens ? batch_->n_rows() : batch_->n_out();
  }

  void run_chunk(uint32_t phase, uint32_t stage, uint32_t chunk, uint8_t* scratch);
  void run_rows(const Phase& phase, const BoundPhase& bound, uint32_t chunk, uint8_t* scratch);
  void run_step(const RowStep& step, uint32_t row, uint8_t* scratch);
  void run_op(const Op& op, uint32_t row, uint8_t* scratch);
  void norm_groups(const Op& op, const float* in, float* out, uint32_t width);
  void append_kv(const Op& op, uint32_t row);
  void join_attention(uint32_t op_index, uint32_t row);
  void deal(const DealtValue& value, uint32_t row);
  void run_linear(std::span<const JobCut> cuts, uint32_t chunk, uint8_t* scratch);
  // Panels that a call of a kernel takes, of n rows.
  static uint32_t panels_at_once(const BoundJob& job, uint32_t n);
  void sum_panels(const JobCut& cut, uint32_t row, uint32_t n, uint32_t panel, uint32_t count,
                  uint8_t* scratch);
  void write_panels(const JobCut& cut, uint32_t row, uint32_t n, uint32_t panel, uint32_t count,
                    const float* sums);
  void run_attend(const Phase& phase, const BoundPhase& bound, uint32_t stage, uint32_t chunk,
                  uint8_t* scratch);

  float* value_row(ValueId v, uint32_t row) const {
    const Place& p = plan_.values[v];
    uint8_t* base = v == program_.logits ? logits_base_ : arena_base_ + p.offset;
    return reinterpret_cast<float*>(base + size_t{row} * p.row_bytes);
  }
  float* angle_row(uint32_t table, uint32_t row) const {
    const Place& p = plan_.angles[table];
    return reinterpret_cast<float*>(arena_base_ + p.offset + size_t{row} * p.row_bytes);
  }
  float* maxima_row(uint32_t row) const {
    return maxima_base_ + row * n_logit_blocks(program_.n_vocab);
  }
  float* part(uint32_t index, uint32_t d_v) const { return parts_base_ + index * part_floats(d_v); }

  Program program_;
  CompileOptions options_;
  KvSlabs& kv_;
  const KernelTable& table_;
  ThreadPool& pool_;
  PassPlan plan_;
  std::vector<BoundPhase> phases_;
  std::vector<AttendPlan> attend_plans_;
  ExpertGroups groups_;
  CutFor cut_for_;                   // the last pass that began; of no pass at first
  uint32_t grouped_by_ = kNone;      // op of the route that groups_ are of, in the running pass
  std::vector<JobCut> expert_cuts_;  // of the running experts phase
  std::vector<uint32_t> attend_plan_of_op_;   // [ops]
  std::vector<const PackedWeight*> weights_;  // [weights]
  std::vector<const float*> vectors_;         // [weights] as floats, where an op wants that
  std::vector<std::unique_ptr<PackedWeight>> rebuilt_;  // one-row matrices
  std::vector<Buffer> rebuilt_vectors_;
  Buffer arena_, parts_, logits_, maxima_;
  uint8_t* arena_base_ = nullptr;
  uint8_t* logits_base_ = nullptr;
  float* parts_base_ = nullptr;
  float* maxima_base_ = nullptr;  // nullptr: PassPlan::maxima_bytes is 0
  WorkerScratch scratch_;
  const Batch* batch_ = nullptr;
  std::vector<uint32_t> seq_of_row_;  // [max_rows]
  uint32_t n_stages_ = 0, n_out_ = 0;
  uint32_t n_tokens_ = UINT32_MAX;  // rows of the embedding
};

}  // namespace llmrt::cpu
