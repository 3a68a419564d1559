#include "runtime/runner.h"

#include "base/check.h"
#include "graph/logit_blocks.h"

namespace llmrt {

Result<std::unique_ptr<Runner>> Runner::create(Backend& backend, const Program& program,
                                               std::span<const WeightId> weights,
                                               const RunnerOptions& options) {
  std::unique_ptr<Runner> runner(new Runner(backend, options));
  runner->n_groups_ = static_cast<uint32_t>(program.kv_groups.size());
  runner->n_vocab_ = program.n_vocab;
  LLMRT_ASSIGN(runner->kv_, backend.kv_create(program.kv_groups, options.kv));
  runner->has_kv_ = true;
  CompileOptions compile;
  compile.kv = runner->kv_;
  compile.max_rows = options.max_rows;
  compile.max_out = options.max_out;
  compile.max_seqs = options.max_seqs;
  compile.max_positions = options.max_positions;
  compile.raw_weights = options.raw_weights;
  LLMRT_ASSIGN(runner->exe_, backend.compile(program, weights, compile));
  runner->has_exe_ = true;
  runner->compute_bytes_ = backend.compute_bytes(program, compile);
  const uint32_t n_entries =
      (options.max_positions + options.kv.block_tokens - 1) / options.kv.block_tokens;
  runner->storage_.reserve(
      {options.max_rows, options.max_seqs, options.max_out, runner->n_groups_, n_entries});
  return runner;
}

Runner::~Runner() {
  abandon();
  if (has_exe_) backend_.remove_program(exe_);
  if (has_kv_) backend_.kv_destroy(kv_);
}

void Runner::begin(std::span<const RowRun> runs) {
  LLMRT_ASSERT(!open_);
  make_batch(runs, n_groups_, options_.kv.block_tokens, storage_);
  batch_ = storage_.view();
  execution_ = {exe_, &batch_, 0, 0};
  open_ = true;
}

Result<Progress> Runner::advance(Deadline deadline) {
  LLMRT_ASSERT(open_);
  auto progress = backend_.advance(execution_, deadline);
  if (!progress.ok() || *progress == Progress::done) open_ = false;
  return progress;
}

void Runner::abandon() {
  if (!open_) return;
  backend_.abandon(execution_);
  open_ = false;
}

std::span<const float> Runner::logits(uint32_t i) const {
  return backend_.logits(exe_).subspan(size_t{i} * n_vocab_, n_vocab_);
}

std::span<const float> Runner::logit_maxima(uint32_t i) const {
  const std::span<const float> all = backend_.logit_maxima(exe_);
  const size_t n = n_logit_blocks(n_vocab_);
  return all.empty() ? all : all.subspan(i * n, n);
}

}  // namespace llmrt
