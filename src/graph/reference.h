// The reference interpreter: every op, naively, on the host: the meaning of the language, and the judge of every backend.
//
// Weights are decoded to float32 once, at load. Activations are float32. One op is one phase, a block of rows one chunk.
// Linear layers follow class f32 (docs/NUMERICS.md) whatever the weight's type, so they are exact in the order of sums: a backend of
// class f32 gives the same bits. Attention follows class f32 for KV f32 and f16, b16 for bf16.
//
// set_trace() hands out every value of a pass as it is made: the tool for a wrong logit (dump the program, trace both, bisect).
#pragma once

#include <functional>
#include <memory>

#include "base/memory.h"
#include "graph/backend.h"
#include "graph/id_table.h"
#include "graph/planner.h"

namespace llmrt {

class ReferenceBackend final : public Backend {
 public:
  // op: index into program.ops; value: [n_rows, width] of its output, valid during the call. Not called for kv_append.
  using Trace = std::function<void(const Program& program, uint32_t op,
                                   std::span<const float> value, uint32_t n_rows)>;

  explicit ReferenceBackend(std::shared_ptr<Host> host);
  ~ReferenceBackend() override;
  void set_trace(Trace trace) { trace_ = std::move(trace); }

  DeviceInfo info() const override;
  uint64_t weight_bytes(const WeightDesc& desc) const override;
  const char* packed_as(const WeightDesc&) const override { return "F32"; }
  Result<WeightId> add_weight(const WeightDesc& desc, const WeightReader& reader,
                              JobProgress* progress) override;
  void remove_weight(WeightId id) override;

  KvGeometry kv_geometry(const KvGroup& group, const KvConfig& config) const override;
  Result<KvId> kv_create(std::span<const KvGroup> groups, const KvConfig& config) override;
  void kv_destroy(KvId id) override;
  Status kv_commit(KvId id, BlockId block) override;
  void kv_release(KvId id, std::span<const BlockId> free_blocks) override;
  Status kv_copy(KvId id, BlockId from, BlockId to) override;
  int64_t kv_bytes(KvId id) const override;

  uint64_t compute_bytes(const Program& program, const CompileOptions& options) const override;
  Result<ExeId> compile(const Program& program, std::span<const WeightId> weights,
                        const CompileOptions& options) override;
  void remove_program(ExeId id) override;
  Result<Progress> advance(Execution& execution, Deadline deadline) override;
  void abandon(Execution& execution) override;
  std::span<const float> logits(ExeId exe) const override;

 private:
  struct Weight;
  struct KvStore;
  struct Exe;
  struct Pass;  // one exe with its batch: reference_ops.cpp
  friend struct Pass;

  std::shared_ptr<Host> host_;
  Trace trace_;
  IdTable<Weight> weights_;
  IdTable<KvStore> kv_;
  IdTable<Exe> exes_;
};

std::unique_ptr<ReferenceBackend> make_reference_backend(std::shared_ptr<Host> host);

}  // namespace llmrt
