// ToyModel: a model without floats whose every token depends on every visible KV row.
//
// A KV row is a stamp (position, token, state of its layer). One layer per group: a row writes its stamp, then folds all stamps it
// may see, in order, read through the block table; the fold goes into the next layer's state and at last into the logits:
//
//   x_0 = h(token, position);  x_{g+1} = h(x_g, fold over visible p of (pos, token, x_g)_p)      logits[v] = f(x_last, v)
//
// So a wrong block, order, window, length, write slot, stale table row, race or rollback changes the next token at once, exactly.
// toy_generate() is the oracle: the same sums over plain vectors, one request alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/backend.h"
#include "runtime/loaded_model.h"
#include "sampling/chain.h"

namespace llmrt::test {

struct ToyOptions {
  std::vector<uint32_t> windows = {0, 20};  // one group each; 0: full attention
  uint32_t n_vocab = 64;
  uint32_t n_ctx = 4096;
  platform::MemoryFigures memory;  // what the device says that it has
  // [n_vocab]: every row's logits are these, and a pass computes, stores and checks nothing (benchmarks of what is around it).
  std::vector<float> fixed_logits = {};
};

class ToyBackend final : public Backend {
 public:
  explicit ToyBackend(const ToyOptions& options) : options_(options) {}

  // Faults and delays, set from any thread between or during passes.
  std::atomic<int64_t> commit_limit{-1};      // blocks that may have bytes at once; -1: no limit
  std::atomic<int64_t> fail_commits{0};       // the next n commits fail
  std::atomic<int64_t> fail_copies{0};        // the next n copies fail
  std::atomic<int64_t> fail_passes{0};        // the next n calls of advance() fail
  std::atomic<int64_t> starve_passes{0};      // the next n calls of advance() find no memory
  std::atomic<int32_t> nan_token{-1};         // a wanted row of this token has NaN logits
  std::atomic<int32_t> inf_token{-1};         // ... has one logit of +inf
  std::atomic<uint32_t> chunk_units{1};       // rows times groups that one chunk computes
  std::atomic<int64_t> chunk_ns{0};           // time one of them takes
  std::atomic<bool> hang{false};              // advance() does not return while set
  std::atomic<bool> plant_wrong_slot{false};  // the first row of a pass is written one position off
  // What happened.
  std::atomic<int64_t> violations{
      0};  // calls outside the contract: reserved or bare blocks, too many rows, overlap
  std::atomic<int64_t> rows{0}, passes{0}, dropped{0}, chunks{0};

  DeviceInfo info() const override;
  uint64_t weight_bytes(const WeightDesc&) const override { return 0; }
  const char* packed_as(const WeightDesc&) const override { return ""; }
  Result<WeightId> add_weight(const WeightDesc&, const WeightReader&, JobProgress*) override {
    return WeightId{0};
  }
  void remove_weight(WeightId) override {}
  KvGeometry kv_geometry(const KvGroup&, const KvConfig& config) const override {
    return {uint64_t{config.block_tokens} * sizeof(Stamp)};
  }
  Result<KvId> kv_create(std::span<const KvGroup> groups, const KvConfig& config) override;
  void kv_destroy(KvId id) override;
  Status kv_commit(KvId id, BlockId block) override;
  void kv_release(KvId id, std::span<const BlockId> free_blocks) override;
  Status kv_copy(KvId id, BlockId from, BlockId to) override;
  int64_t kv_bytes(KvId id) const override;
  uint64_t compute_bytes(const Program&, const CompileOptions&) const override { return 0; }
  Result<ExeId> compile(const Program& program, std::span<const WeightId> weights,
                        const CompileOptions& options) override;
  void remove_program(ExeId id) override { exes_.erase(id); }
  Result<Progress> advance(Execution& execution, Deadline deadline) override;
  void abandon(Execution& execution) override;
  std::span<const float> logits(ExeId exe) const override { return exes_.at(exe).logits; }

 private:
  struct Stamp {
    uint32_t position = 0;
    int32_t token = 0;
    uint64_t state = 0;
  };
  struct Kv {
    std::vector<KvGroup> groups;
    KvConfig config;
    std::vector<std::unique_ptr<Stamp[]>> blocks;
    int64_t n_committed = 0;
  };
  struct Exe {
    CompileOptions options;
    std::vector<uint64_t> state;  // [n_rows]
    std::vector<uint32_t> slots;  // scratch of check()
    std::vector<float> logits;
  };
  void run_row(Kv& kv, Exe& exe, const Batch& batch, uint32_t row, uint32_t g);
  bool check(const Kv& kv, Exe& exe, const Batch& batch);

  ToyOptions options_;
  std::map<KvId, Kv> kvs_;
  std::map<ExeId, Exe> exes_;
  uint32_t next_id_ = 1;
  std::atomic<bool> inside_{false};
};

struct ToyModel {
  std::shared_ptr<LoadedModel> model;
  ToyBackend* backend = nullptr;  // owned by model
};
ToyModel make_toy_model(const ToyOptions& options);

// Logits of the last position of `tokens`.
std::vector<float> toy_logits(const ToyOptions& options, std::span<const int32_t> tokens);

// What a request alone must give: n_tokens tokens after the prompt, drawn with seed_i.
class ToyOracle {
 public:
  ToyOracle(const ToyOptions& options, std::span<const int32_t> prompt);
  const std::vector<float>& logits() const { return logits_; }
  void push(int32_t token);

 private:
  ToyOptions options_;
  std::vector<int32_t> tokens_;
  std::vector<std::vector<uint64_t>> states_;  // [n_groups][n_positions]
  std::vector<float> logits_;
};
std::vector<int32_t> toy_generate(const ToyOptions& options, std::span<const int32_t> prompt,
                                  const SamplingParams& params, uint64_t seed_i, uint32_t n_tokens);

}  // namespace llmrt::test
