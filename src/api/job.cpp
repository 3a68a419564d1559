#include "api/job.h"

#include <string_view>

#include "base/host.h"
#include "base/service_thread.h"
#include "base/thread_pool.h"
#include "base/wait.h"
#include "runtime/load_weights.h"

namespace llmrt::api {
namespace {

// What a load whose time is up and whose model is there may take to end: a piece of a file is being written, and the rest of it goes. A
// disk that answers no more ends the job all the same.
constexpr int32_t kEndingMs = 10'000;

}  // namespace

Result<std::shared_ptr<LoadJob>> LoadJob::start(std::shared_ptr<Host> host, SourceParts source,
                                                const ModelOptions& options, int32_t timeout_ms) {
  std::shared_ptr<LoadJob> job(new LoadJob);
  job->timeout_ms_ = timeout_ms;
  job->name_ = source.first->name();
  job->cancelled_ = loading_cancelled(job->name_.c_str());
  if (timeout_ms > 0) job->limit_ = Deadline::after_ms(timeout_ms);
  ServiceThread thread;
  LLMRT_TRY(thread.start("llmrt-load", [job, host = std::move(host), source = std::move(source),
                                        options]() mutable noexcept {
    const ThreadPool::Member member(host->pool());  // it packs weights
    try {
      job->finish(load_model(host, std::move(source), options, &job->progress_));
    } catch (const std::bad_alloc&) {
      job->finish(Status(Code::out_of_memory));
    } catch (...) {
      job->finish(Status(Code::internal));
    }
  }));
  thread.detach();
  return job;
}

void LoadJob::finish(Result<std::shared_ptr<LoadedModel>> result) noexcept {
  // Dropped outside the lock: freeing weights takes time.
  std::shared_ptr<LoadedModel> unwanted;
  const std::lock_guard lock(mutex_);
  if (result.ok()) {
    if (ended_)
      unwanted = std::move(result).value();
    else
      model_ = std::move(result).value();
  } else if (!ended_) {
    status_ = std::move(result).status();
  }
  ended_ = true;
  changed_.notify_all();
}

void LoadJob::cancel() noexcept {
  const std::lock_guard lock(mutex_);
  progress_.cancel.store(true, std::memory_order_relaxed);
  if (ended_) return;
  status_ = std::move(cancelled_);
  ended_ = true;
  changed_.notify_all();
}

// The time limit is looked at by whoever asks: no watchdog thread.
Status LoadJob::status_locked() {
  const bool is_late = !ended_ && limit_.passed();
  const bool keeping = std::string_view(progress_.stage.load()) == kKeepingStage;
  if (is_late && keeping && !progress_.no_time.load(std::memory_order_relaxed)) {
    // a model that is there is not given up for a file that only the next load has use for
    progress_.no_time.store(true, std::memory_order_relaxed);
    limit_ = Deadline::after_ms(kEndingMs);
  } else if (is_late) {
    status_ =
        error(Code::timeout, "%s: not loaded within timeout_ms = %d", name_.c_str(), timeout_ms_)
            .at("timeout_ms");
    ended_ = true;
    progress_.cancel.store(true, std::memory_order_relaxed);
  }
  return ended_ ? status_ : Status(Code::pending);
}

Status LoadJob::wait(int32_t timeout_ms) {
  const Deadline own = Deadline::after_ms(timeout_ms);
  std::unique_lock lock(mutex_);
  while (true) {
    Status status = status_locked();
    if (status.code() != Code::pending || own.passed()) return status;
    wait_until(changed_, lock, earlier(own, limit_));
  }
}

Result<std::shared_ptr<LoadedModel>> LoadJob::take() {
  const std::lock_guard lock(mutex_);
  LLMRT_TRY(status_locked());
  if (!model_) return error(Code::not_found, "the model of this job was taken already");
  return std::move(model_);
}

}  // namespace llmrt::api
