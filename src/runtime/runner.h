// Runner: one compiled program on one KV store: rows in, logits out, suspendable. The engine's RUN verb.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "graph/backend.h"
#include "graph/make_batch.h"

namespace llmrt {

struct RunnerOptions {
  KvConfig kv;
  uint32_t max_rows = 512;
  uint32_t max_out = 64;
  uint32_t max_seqs = 64;
  uint32_t max_positions = 0;
  bool raw_weights = false;  // CompileOptions
};

class Runner {
 public:
  // backend, program and weights outlive the runner.
  static Result<std::unique_ptr<Runner>> create(Backend& backend, const Program& program,
                                                std::span<const WeightId> weights,
                                                const RunnerOptions& options);
  ~Runner();

  void begin(std::span<const RowRun> runs);     // precondition: no pass open; runs fit the options
  Result<Progress> advance(Deadline deadline);  // a failure closes the pass
  void abandon();                               // drops an open pass
  // row i of the wanted rows, [n_vocab]; valid until the next begin()
  std::span<const float> logits(uint32_t i) const;
  // of that row, [n_logit_blocks(n_vocab)]; empty: the backend does not tell them
  std::span<const float> logit_maxima(uint32_t i) const;

  KvId kv() const { return kv_; }
  uint64_t compute_bytes() const { return compute_bytes_; }  // of the program: what the plan tells
  const RunnerOptions& options() const { return options_; }

 private:
  Runner(Backend& backend, const RunnerOptions& options) : backend_(backend), options_(options) {}
  Backend& backend_;
  RunnerOptions options_;
  KvId kv_ = 0;
  ExeId exe_ = 0;
  bool has_kv_ = false, has_exe_ = false, open_ = false;
  uint32_t n_groups_ = 0, n_vocab_ = 0;
  uint64_t compute_bytes_ = 0;
  BatchStorage storage_;
  Batch batch_;
  Execution execution_;
};

}  // namespace llmrt
