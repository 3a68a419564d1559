// RUN: the plan's rows as one pass of the runner, in as many slices as the deadlines ask for.
#include "base/plant.h"
#include "engine/step_engine.h"

namespace llmrt {

void StepEngine::begin_pass() {
  row_runs_.clear();
  pass_.n_rows = pass_.n_decodes = 0;
  for (size_t i = 0; i < pass_.runs.size(); ++i) {
    const PlanRun& run = pass_.runs[i];
    Sequence& sequence = *pass_.sequences[i];
    const uint32_t from = LLMRT_PLANT(chunk_repeats_row, run.first,
                                      run.first > 0 && run.count > 1 ? run.first - 1 : run.first);
    row_runs_.push_back({std::span<const Token>(sequence.tokens).subspan(from, run.count),
                         run.first, sequence.kv.tables(), run.want});
    sequence.in_pass = true;
    pass_.n_rows += run.count;
    pass_.n_decodes += run.count == 1 && sequence.n_generated() > 0 ? 1 : 0;
  }
  runner_->begin(row_runs_);
  pass_.open = true;
  pass_.suspended_once = false;
  pass_.busy_ns = 0;
}

Result<Progress> StepEngine::run(Deadline deadline) {
  const int64_t start = now_ns();
  Result<Progress> progress = runner_->advance(deadline);
  const int64_t end = now_ns();
  pass_.busy_ns += end - start;
  if (progress.ok() && *progress == Progress::done)
    times_.record(pass_.n_rows, pass_.n_decodes, pass_.busy_ns);
  const std::lock_guard lock(stats_.mutex);
  stats_.totals.busy_us += (end - start) / 1000;
  stats_.busy_s.add(end, static_cast<double>(end - start) * 1e-9);
  if (progress.ok() && *progress == Progress::done) {
    ++stats_.totals.steps;
    stats_.steps.add(end, 1);
    stats_.batch.add(end, pass_.n_rows);
    const double seconds = static_cast<double>(pass_.busy_ns) * 1e-9;
    const double decode_share = static_cast<double>(pass_.n_decodes) / pass_.n_rows;
    stats_.decode_rows.add(end, pass_.n_decodes);
    stats_.decode_s.add(end, seconds * decode_share);
    stats_.prefill_rows.add(end, pass_.n_rows - pass_.n_decodes);
    stats_.prefill_s.add(end, seconds * (1 - decode_share));
  }
  return progress;
}

}  // namespace llmrt
