// The objects behind the handles. Arrows are ownership (shared_ptr), so children keep parents alive:
//
//   Request -> EngineCore -> LoadedModel -> Host        Session -> EngineCore        Model -> LoadedModel
//
// EngineCore, not the engine handle's object, is what requests and sessions hold: it ends an engine where waiting is allowed, whoever
// drops it last.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/handles.h"
#include "api/job.h"
#include "base/function_ref.h"
#include "base/host.h"
#include "engine/engine.h"
#include "engine/session.h"
#include "formats/byte_source.h"
#include "runtime/loaded_model.h"
#include "runtime/plan.h"

namespace llmrt::api {

// Where log lines go: the host's function, a queue that keeps the newest, or standard error (LLMRT_LOG).
class LogRouter {
 public:
  LogRouter(llmrt_log_fn log, void* user, uint32_t queue_size, bool to_stderr)
      : log_(log), user_(user), queue_size_(queue_size), to_stderr_(to_stderr) {}
  static void write(void* self, int32_t level, const char* message);
  bool pop(int32_t& level, std::string& message);

 private:
  llmrt_log_fn log_;
  void* user_;
  uint32_t queue_size_;
  std::atomic<bool> to_stderr_;
  std::mutex mutex_;
  std::deque<std::pair<int32_t, std::string>> lines_;
};

// A Host and what its log sink points to, with one lifetime.
struct RuntimeCore {
  RuntimeCore(llmrt_log_fn log, void* user, uint32_t queue_size, bool to_stderr, LogLevel level,
              std::unique_ptr<ThreadPool> pool)
      : router(log, user, queue_size, to_stderr),
        host({level, LogRouter::write, &router}, std::move(pool)) {}
  LogRouter router;
  Host host;
};

struct RuntimeObject final : Object {
  std::shared_ptr<RuntimeCore> core;
  std::string cache_dir;  // empty: none
  std::mutex devices_mutex;
  struct Device {
    std::unique_ptr<Backend> backend;
    DeviceInfo first;  // its strings are lent out
  };
  std::vector<Device> devices;  // made on first question

  std::shared_ptr<Host> host() const { return {core, &core->host}; }
};
// The object of a handle, or the shared default for NULL.
Result<std::shared_ptr<RuntimeObject>> runtime_or_default(const llmrt_runtime* runtime);

struct SourceObject final : Object {
  ByteSourcePtr first;
  std::mutex mutex;
  std::vector<ByteSourcePtr> shards;
};

SourceParts parts_of(SourceObject& source);

struct PlanObject final : Object {
  MemoryPlan plan;
  int32_t device = 0;  // index among the runtime's devices
};

struct StrListObject final : Object {
  mutable std::mutex mutex;
  std::deque<std::string> strings;  // a deque: strings lent out stay where they are
};

class EngineCore;

struct Submitted {
  llmrt_request* handle;
  RequestPtr request;
};
using StartRequest = FunctionRef<Result<RequestPtr>(const GenParams&)>;
// Makes the handle, then the request (by start), so that the request's first event can name the handle.
Result<Submitted> submit_request(const std::shared_ptr<EngineCore>& core, GenParams params,
                                 const llmrt_gen_options& options, StartRequest start);

struct ModelObject final : Object {
  explicit ModelObject(std::shared_ptr<const LoadedModel> loaded);
  std::shared_ptr<const LoadedModel> model;
  std::string device;
  std::unordered_map<std::string, const char*> packed_as;  // of the loaded tensors, by name
  std::mutex ask_mutex;
  std::shared_ptr<EngineCore> ask_engine;  // made by the first llmrt_model_ask
};

// What a request's callbacks need; swept once the engine has let go of the request.
struct CallbackContext {
  llmrt_event_fn on_event = nullptr;
  llmrt_logits_fn on_logits = nullptr;
  void* user = nullptr;
  std::atomic<llmrt_request*> handle{nullptr};  // nullptr again once it was released
  std::atomic<bool> ready{false};  // submit has filled the handle's object: callbacks may run
  std::weak_ptr<Request> request;  // expired: the engine cannot call any more
};

class EngineCore {
 public:
  static Result<std::shared_ptr<EngineCore>> create(std::shared_ptr<const LoadedModel> model,
                                                    const EngineOptions& options,
                                                    bool drops_oldest_turns);

  Engine& engine() const { return *engine_; }
  const LoadedModel& model() const { return engine_->model(); }
  // The handle of a request with delivery 1; nullptr once it was released.
  llmrt_request* handle_of(const Request* request);
  void forget(const Request* request) noexcept;

  // overflow 2 is the sessions' business: they leave old turns out of the prompt. To the engine it is 1.
  bool drops_oldest_turns() const { return drops_oldest_turns_; }
  Result<GenParams> params_of(const llmrt_gen_options& options) const;

  std::atomic<int32_t> n_sessions{0};
  std::mutex event_mutex;
  std::string event_text;  // of the engine queue's last event, lent out by llmrt_engine_next

 private:
  friend Result<Submitted> submit_request(const std::shared_ptr<EngineCore>& core, GenParams params,
                                          const llmrt_gen_options& options, StartRequest start);
  EngineCore() = default;
  bool drops_oldest_turns_ = false;
  float default_temperature_ = 0;
  static void end(EngineCore* core) noexcept;

  std::mutex mutex_;
  std::unordered_map<const Request*, llmrt_request*> handles_;
  std::vector<std::unique_ptr<CallbackContext>> contexts_;
  std::unique_ptr<Engine> engine_;  // last member: ends first, while contexts are still there
};

struct EngineObject final : Object {
  explicit EngineObject(std::shared_ptr<EngineCore> c) : core(std::move(c)) {}
  // Nobody can resume it any more; what requests and sessions still want goes on.
  void on_release() override { static_cast<void>(core->engine().resume()); }
  std::shared_ptr<EngineCore> core;
};

struct RequestObject final : Object {
  void on_release() override;
  std::shared_ptr<EngineCore> core;
  RequestPtr request;
  Delivery delivery = Delivery::request_queue;
  int32_t n_samples = 1;
  bool wants_logprobs = false;
  // if it has callbacks; the core's, stays while `request` does
  CallbackContext* context = nullptr;

  std::mutex mutex;                       // guards what is lent out
  std::string event_text;                 // until the next llmrt_request_next
  std::unique_ptr<const Status> failure;  // of llmrt_request_error
};

struct SessionObject final : Object {
  SessionObject(std::shared_ptr<EngineCore> c, std::unique_ptr<Session> s)
      : core(std::move(c)), session(std::move(s)) {
    core->n_sessions.fetch_add(1, std::memory_order_relaxed);
  }
  ~SessionObject() override { core->n_sessions.fetch_sub(1, std::memory_order_relaxed); }
  std::shared_ptr<EngineCore> core;
  std::unique_ptr<Session> session;
};

struct JobObject final : Object {
  void on_release() override { job->cancel(); }
  std::shared_ptr<LoadJob> job;
  std::mutex mutex;
  std::unique_ptr<const Status> failure;  // lent out by llmrt_job_error
};

}  // namespace llmrt::api
