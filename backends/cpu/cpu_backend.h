// The CPU backend: weights as P16 panels, KV in slabs of 64 blocks, programs as phases of chunks on the host's thread pool.
#pragma once

#include <memory>
#include <mutex>

#include "backends/cpu/compiled_pass.h"
#include "backends/cpu/kernel_table.h"
#include "backends/cpu/kv_slabs.h"
#include "backends/cpu/packed_weight.h"
#include "graph/backend.h"
#include "graph/id_table.h"

namespace llmrt::cpu {

class CpuBackend final : public Backend {
 public:
  CpuBackend(std::shared_ptr<Host> host, const KernelTable& table)
      : host_(std::move(host)), table_(table) {}

  DeviceInfo info() const override;

  uint64_t weight_bytes(const WeightDesc& desc) const override { return packed_bytes(desc); }
  const char* packed_as(const WeightDesc& desc) const override { return packed_form(desc); }
  Result<WeightId> add_weight(const WeightDesc& desc, const WeightReader& reader,
                              JobProgress* progress) override;
  void remove_weight(WeightId id) override { weights_.remove(id); }
  uint32_t packed_layout() const override { return kPanelLayout; }
  Result<WeightId> adopt_weight(const WeightDesc& desc, WeightForm form,
                                std::span<const uint8_t> bytes) override;
  std::span<const uint8_t> packed_data(WeightId id) const override;

  KvGeometry kv_geometry(const KvGroup& group, const KvConfig& config) const override {
    return {KvSlabs::block_bytes(group, config)};
  }
  Result<KvId> kv_create(std::span<const KvGroup> groups, const KvConfig& config) override;
  void kv_destroy(KvId id) override { kv_.remove(id); }
  Status kv_commit(KvId id, BlockId block) override { return kv_[id].commit(block); }
  void kv_release(KvId id, std::span<const BlockId> free_blocks) override {
    kv_[id].release(free_blocks);
  }
  Status kv_copy(KvId id, BlockId from, BlockId to) override { return kv_[id].copy(from, to); }
  int64_t kv_bytes(KvId id) const override { return kv_[id].bytes(); }

  uint64_t compute_bytes(const Program& program, const CompileOptions& options) const override {
    return CompiledPass::compute_bytes(program, options, table_, host_->pool().n_workers());
  }
  Result<ExeId> compile(const Program& program, std::span<const WeightId> weights,
                        const CompileOptions& options) override;
  void remove_program(ExeId id) override { programs_.remove(id); }

  Result<Progress> advance(Execution& execution, Deadline deadline) override {
    return programs_[execution.exe].advance(execution, deadline);
  }
  void abandon(Execution& execution) override { programs_[execution.exe].abandon(); }
  std::span<const float> logits(ExeId exe) const override { return programs_[exe].logits(); }
  std::span<const float> logit_maxima(ExeId exe) const override {
    return programs_[exe].logit_maxima();
  }

 private:
  std::shared_ptr<Host> host_;
  const KernelTable& table_;
  std::mutex packing_;       // one weight at a time
  WorkerScratch file_rows_;  // of packing, until the first program
  IdTable<PackedWeight> weights_;
  IdTable<KvSlabs> kv_;
  IdTable<CompiledPass> programs_;
};

// options: "" or "isa=NAME" for one of the available tables.
Result<std::unique_ptr<Backend>> create_cpu_backend(std::shared_ptr<Host> host, int32_t device,
                                                    std::string_view options);
int32_t cpu_device_count();

}  // namespace llmrt::cpu
