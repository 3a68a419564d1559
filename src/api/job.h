// LoadJob: loading a model on a thread of its own, with progress, cancel and a time limit.
//
// Nobody ever joins the thread: whoever waits, waits for the result, the time limit or a cancel. A read that never returns leaves its
// thread behind, holding the job's state; if it does return, everything is freed then. Where only the file of packed weights is still to
// be written when the limit passes, that is left out and the job ends well.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "base/host.h"
#include "base/status.h"
#include "formats/byte_source.h"
#include "runtime/loaded_model.h"

namespace llmrt::api {

class LoadJob {
 public:
  // timeout_ms 0: no limit. out_of_memory: no thread to be had.
  static Result<std::shared_ptr<LoadJob>> start(std::shared_ptr<Host> host, SourceParts source,
                                                const ModelOptions& options, int32_t timeout_ms);

  // Code::pending while it runs. Waits up to timeout_ms (< 0: for ever) for the end.
  Status wait(int32_t timeout_ms);
  void cancel() noexcept;
  const JobProgress& progress() const { return progress_; }
  // The model of a job that ended well, once; else the status: pending, its failure, or not_found.
  Result<std::shared_ptr<LoadedModel>> take();

 private:
  LoadJob() = default;
  void finish(Result<std::shared_ptr<LoadedModel>> result) noexcept;
  Status status_locked();

  JobProgress progress_;
  Deadline limit_;
  int32_t timeout_ms_ = 0;
  std::string name_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  Status status_;
  Status cancelled_;  // what cancel() makes it, which must not allocate
  std::shared_ptr<LoadedModel> model_;
};

}  // namespace llmrt::api
