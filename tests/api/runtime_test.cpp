#include <unistd.h>

#include <atomic>

#include "api_kit.h"

using namespace api_test;

namespace {

llmrt_runtime_options runtime_options() {
  llmrt_runtime_options o;
  llmrt_runtime_options_init(&o, sizeof o);
  return o;
}

std::atomic<int> n_started{0}, n_ended{0};
void on_thread(void*, int32_t index, int32_t starting) {
  if (index > 0) (starting ? n_started : n_ended).fetch_add(1);
}

void* some_alloc(void*, size_t, size_t) { return nullptr; }
void some_dealloc(void*, void*, size_t, size_t) {}

}  // namespace

TEST_CASE("runtime: options out of range are named") {
  llmrt_runtime* runtime = nullptr;
  llmrt_runtime_options o = runtime_options();
  o.log_level = 5;
  CHECK(llmrt_runtime_create(&o, &runtime) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() == "log_level is 5; allowed: 0 to 4");
  o = runtime_options();
  o.worker_threads = -1;
  CHECK(llmrt_runtime_create(&o, &runtime) == LLMRT_ERR_INVALID_ARGUMENT);
  o = runtime_options();
  o.alloc = some_alloc;
  CHECK(llmrt_runtime_create(&o, &runtime) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() == "alloc is set without dealloc; allowed: both or neither");
  o.dealloc = some_dealloc;  // memory was taken already
  CHECK(llmrt_runtime_create(&o, &runtime) == LLMRT_ERR_BUSY);
  CHECK(runtime == nullptr);
}

TEST_CASE("runtime: a mask without any CPU is refused, one with more than there are is not") {
  const long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
  llmrt_runtime* runtime = nullptr;
  llmrt_runtime_options o = runtime_options();
  o.worker_threads = 2;
  o.cpu_mask = -1;
  CHECK_OK(llmrt_runtime_create(&o, &runtime));
  llmrt_runtime_release(runtime);
  if (n_cpus > 60) return;
  o.cpu_mask = int64_t{1} << 60;
  runtime = nullptr;
  CHECK(llmrt_runtime_create(&o, &runtime) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(runtime == nullptr);
  CHECK(last_error().find("cpu_mask is 0x1000000000000000; allowed: ") == 0);
}

TEST_CASE("runtime: workers are started with the hook and their number changes at run time") {
  llmrt_runtime_options o = runtime_options();
  o.worker_threads = 3;
  o.thread_hook = on_thread;
  llmrt_runtime* runtime = nullptr;
  REQUIRE_OK(llmrt_runtime_create(&o, &runtime));
  CHECK(llmrt_runtime_workers(runtime) == 3);
  CHECK_OK(llmrt_runtime_set_workers(runtime, 1));
  CHECK(llmrt_runtime_workers(runtime) == 1);
  CHECK(llmrt_runtime_set_workers(runtime, 5000) == LLMRT_ERR_INVALID_ARGUMENT);
  llmrt_runtime_release(runtime);
  CHECK(n_started == 2);
  CHECK(n_ended == 2);
  CHECK(llmrt_runtime_workers(nullptr) >= 1);
}

TEST_CASE("runtime: the log queue keeps the newest lines") {
  llmrt_runtime_options o = runtime_options();
  o.log_queue = 4;
  llmrt_runtime* runtime = nullptr;
  REQUIRE_OK(llmrt_runtime_create(&o, &runtime));
  int32_t level = 0;
  char* line = nullptr;
  CHECK(llmrt_runtime_next_log(runtime, &level, &line) == LLMRT_PENDING);
  CHECK(line == nullptr);
  CHECK(llmrt_runtime_next_log(runtime, nullptr, &line) == LLMRT_ERR_INVALID_ARGUMENT);
  llmrt_runtime_release(runtime);
}

TEST_CASE("runtime: devices have names and memory") {
  const int32_t n = llmrt_device_count(nullptr);
  REQUIRE(n >= 1);
  llmrt_device_info info = {};
  info.struct_size = sizeof info;
  for (int32_t i = 0; i < n; ++i) {
    REQUIRE_OK(llmrt_device_get(nullptr, i, &info));
    CHECK(std::string(info.id) != "");
  }
  REQUIRE_OK(llmrt_device_get(nullptr, 0, &info));
  CHECK(std::string(info.id) == "cpu");
  CHECK(std::string(info.driver) != "");
  CHECK(info.memory_free > 0);
  CHECK(info.memory_budget >= info.memory_free);
  CHECK(info.memory_total >= info.memory_budget);
  CHECK(llmrt_device_get(nullptr, n, &info) == LLMRT_ERR_NOT_FOUND);
  CHECK(llmrt_device_get(nullptr, -1, &info) == LLMRT_ERR_NOT_FOUND);
}
