// Runtime: log, allocator, threads, devices.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api/guard.h"
#include "api/objects.h"
#include "api/options.h"
#include "api/text.h"
#include "base/memory.h"
#include "base/platform/process.h"
#include "graph/backend_registry.h"

namespace llmrt::api {
namespace {

// LLMRT_LOG=debug (or a number): the one debugging switch for programs whose host does not show the log.
struct WantedLog {
  int32_t level = -1;             // -1: not set
  const char* unknown = nullptr;  // a word that is no level: taken as debug
};

WantedLog log_from_environment() {
  const char* text = std::getenv("LLMRT_LOG");
  if (!text || !*text) return {};
  constexpr const char* kNames[] = {"off", "error", "warn", "info", "debug"};
  for (int32_t level = 0; level < 5; ++level)
    if (std::strcmp(text, kNames[level]) == 0 || (text[0] == '0' + level && !text[1]))
      return {level};
  return {4, text};
}

Result<std::shared_ptr<RuntimeObject>> make_runtime(const llmrt_runtime_options& o) {
  const WantedLog wanted = log_from_environment();
  const int32_t level = std::max(o.log_level, wanted.level);
  ThreadPoolOptions threads;
  threads.n_workers = static_cast<uint32_t>(o.worker_threads);
  threads.cpu_mask = static_cast<uint64_t>(o.cpu_mask);
  threads.priority = o.thread_priority;
  threads.thread_hook = o.thread_hook;
  threads.user = o.user;
  LLMRT_ASSIGN(const std::string_view cache_dir, optional_text("cache_dir", o.cache_dir));
  LLMRT_ASSIGN(std::unique_ptr<ThreadPool> pool, ThreadPool::create(threads));
  auto runtime = std::make_shared<RuntimeObject>();
  runtime->cache_dir = cache_dir;
  runtime->core = std::make_shared<RuntimeCore>(o.log, o.user, static_cast<uint32_t>(o.log_queue),
                                                wanted.level >= 0 && !o.log,
                                                static_cast<LogLevel>(level), std::move(pool));
  if (wanted.unknown)
    runtime->core->host.log(LogLevel::warn,
                            "LLMRT_LOG=%s is unknown, taken as debug; allowed: off, error, warn, "
                            "info, debug and 0 to 4",
                            wanted.unknown);
  return runtime;
}

// Outside the lock: a backend may log, and the host's callback may ask for devices.
Status list_devices(RuntimeObject& runtime) {
  {
    const std::lock_guard lock(runtime.devices_mutex);
    if (!runtime.devices.empty()) return Status();
  }
  std::vector<RuntimeObject::Device> devices;
  for (const std::string& id : device_ids(builtin_backends())) {
    LLMRT_ASSIGN(std::unique_ptr<Backend> backend, make_backend(runtime.host(), id, ""));
    DeviceInfo info = backend->info();
    devices.push_back({std::move(backend), std::move(info)});
  }
  const std::lock_guard lock(runtime.devices_mutex);
  if (runtime.devices.empty()) runtime.devices = std::move(devices);
  return Status();
}

}  // namespace

void LogRouter::write(void* self, int32_t level, const char* message) {
  auto& router = *static_cast<LogRouter*>(self);
  if (router.log_) {
    const CallbackScope scope;
    router.log_(router.user_, level, message);
  }
  if (router.queue_size_ > 0) {
    try {
      const std::lock_guard lock(router.mutex_);
      if (router.lines_.size() == router.queue_size_) router.lines_.pop_front();
      router.lines_.emplace_back(level, message);
    } catch (const std::bad_alloc&) {  // a log line is not worth a failure
    }
  }
  if (router.to_stderr_) {
    char line[600];
    const int n = std::snprintf(line, sizeof line, "llmrt: %s\n", message);
    if (n > 0 &&
        !platform::write_standard_error(line, std::min(static_cast<size_t>(n), sizeof line - 1)))
      router.to_stderr_ = false;
  }
}

bool LogRouter::pop(int32_t& level, std::string& message) {
  const std::lock_guard lock(mutex_);
  if (lines_.empty()) return false;
  level = lines_.front().first;
  message = std::move(lines_.front().second);
  lines_.pop_front();
  return true;
}

Result<std::shared_ptr<RuntimeObject>> runtime_or_default(const llmrt_runtime* runtime) {
  if (runtime) return get(runtime);
  // Kept for the process's life, like a static, but destroyed by nobody: workers may outlive main().
  struct Default {
    std::mutex mutex;
    std::shared_ptr<RuntimeObject> object;
  };
  static Default* const kDefault = new Default;
  const std::lock_guard lock(kDefault->mutex);
  if (!kDefault->object) {
    watch_fork();
    llmrt_runtime_options options;
    defaults(options);
    LLMRT_ASSIGN(kDefault->object, make_runtime(options));
  }
  return kDefault->object;
}

}  // namespace llmrt::api

using namespace llmrt;
using namespace llmrt::api;

extern "C" {

void llmrt_runtime_options_init(llmrt_runtime_options* options, size_t struct_size) {
  LLMRT_ENTRY_PURE { init_options(options, struct_size); };
}

llmrt_status llmrt_runtime_create(const llmrt_runtime_options* options, llmrt_runtime** out) {
  return LLMRT_ENTRY_MAKES(out) {
    LLMRT_TRY(need("out", out));
    LLMRT_ASSIGN(const llmrt_runtime_options o, read_options(options));
    LLMRT_TRY(check(o));
    if (o.alloc && !set_allocator({o.alloc, o.dealloc, o.user}))
      return error(
                 Code::busy,
                 "alloc: the library took memory already; set the allocator before any other call")
          .at("alloc");
    LLMRT_ASSIGN(auto runtime, make_runtime(o));
    *out = make_handle<llmrt_runtime>(std::move(runtime));
    return Status();
  };
}

void llmrt_runtime_release(llmrt_runtime* runtime) {
  LLMRT_ENTRY_VOID { release(runtime); };
}

int32_t llmrt_runtime_workers(llmrt_runtime* runtime) {
  return LLMRT_ENTRY_COUNT {
    LLMRT_ASSIGN(const auto r, runtime_or_default(runtime));
    return static_cast<int32_t>(r->core->host.pool().n_workers());
  };
}

llmrt_status llmrt_runtime_set_workers(llmrt_runtime* runtime, int32_t worker_threads) {
  return LLMRT_ENTRY_OUTSIDE {
    LLMRT_ASSIGN(const auto r, runtime_or_default(runtime));
    LLMRT_TRY(check_range("worker_threads", worker_threads, 0, kMaxWorkers));
    return r->core->host.pool().resize(static_cast<uint32_t>(worker_threads));
  };
}

llmrt_status llmrt_runtime_set_priority(llmrt_runtime* runtime, int32_t thread_priority) {
  return LLMRT_ENTRY_OUTSIDE {
    LLMRT_ASSIGN(const auto r, runtime_or_default(runtime));
    LLMRT_TRY(check_range("thread_priority", thread_priority, 0, kMaxPriority));
    return r->core->host.pool().set_priority(thread_priority);
  };
}

llmrt_status llmrt_runtime_next_log(llmrt_runtime* runtime, int32_t* level, char** message) {
  return LLMRT_ENTRY_GIVES(message) {
    LLMRT_TRY(need("level", level));
    LLMRT_TRY(need("message", message));
    LLMRT_ASSIGN(const auto r, runtime_or_default(runtime));
    std::string line;
    if (!r->core->router.pop(*level, line)) return Status(Code::pending);
    return give_text(line, message);
  };
}

int32_t llmrt_device_count(llmrt_runtime* runtime) {
  return LLMRT_ENTRY_COUNT {
    LLMRT_ASSIGN(const auto r, runtime_or_default(runtime));
    LLMRT_TRY(list_devices(*r));
    const std::lock_guard lock(r->devices_mutex);
    return static_cast<int32_t>(r->devices.size());
  };
}

llmrt_status llmrt_device_get(llmrt_runtime* runtime, int32_t i, llmrt_device_info* out) {
  return LLMRT_ENTRY {
    LLMRT_TRY(check_out(out));
    LLMRT_ASSIGN(const auto r, runtime_or_default(runtime));
    LLMRT_TRY(list_devices(*r));
    const std::lock_guard lock(r->devices_mutex);
    if (i < 0 || static_cast<size_t>(i) >= r->devices.size())
      return error(Code::not_found, "device %d: there are devices 0 to %zu", i,
                   r->devices.size() - 1);
    const RuntimeObject::Device& device = r->devices[static_cast<size_t>(i)];
    const DeviceInfo now = device.backend->info();
    llmrt_device_info info = {};
    info.kind = static_cast<int32_t>(now.kind);
    info.id = device.first.id.c_str();
    info.name = device.first.name.c_str();
    info.backend = device.first.backend.c_str();
    info.driver = device.first.driver.c_str();
    info.memory_total = now.memory.total;
    info.memory_free = now.memory.free;
    info.memory_budget = now.memory.budget;
    return write_out(info, out);
  };
}

}  // extern "C"
