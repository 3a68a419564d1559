#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

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

// What a log callback was told.
struct Log {
  std::mutex mutex;
  std::vector<std::pair<int32_t, std::string>> lines;
  // Released when a request's end is told.
  std::atomic<llmrt_request*> request{nullptr};
  std::atomic<llmrt_engine*> engine{nullptr};

  static void write(void* user, int32_t level, const char* message) {
    auto& log = *static_cast<Log*>(user);
    const std::string line = message;
    {
      const std::lock_guard lock(log.mutex);
      log.lines.emplace_back(level, line);
    }
    if (line.find("request ended") == 0) log.release();
  }
  void release() {
    llmrt_request_release(request.exchange(nullptr));
    llmrt_engine_release(engine.exchange(nullptr));
  }
  // Lines of a level that begin so.
  int count(int32_t level, const std::string& begin) {
    const std::lock_guard lock(mutex);
    int n = 0;
    for (const auto& [l, line] : lines) n += l == level && line.find(begin) == 0;
    return n;
  }
  bool waits_for(int32_t level, const std::string& begin) {
    for (int i = 0; i < 5000 && count(level, begin) == 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return count(level, begin) > 0;
  }
};

Owned<llmrt_runtime> logging_runtime(Log& log, int32_t level) {
  llmrt_runtime_options o = runtime_options();
  o.log_level = level;
  o.log = Log::write;
  o.user = &log;
  o.worker_threads = 1;
  llmrt_runtime* runtime = nullptr;
  REQUIRE_OK(llmrt_runtime_create(&o, &runtime));
  return Owned<llmrt_runtime>(runtime);
}

Owned<llmrt_model> load_table_in(llmrt_runtime* runtime) {
  llmrt_model* model = nullptr;
  REQUIRE_OK(llmrt_model_load(runtime, table_path().c_str(), nullptr, &model));
  return Owned<llmrt_model>(model);
}

// Ids of the engines' own threads in this process.
std::set<pid_t> engine_threads() {
  std::set<pid_t> ids;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    if (name == "llmrt-engine") ids.insert(std::stoi(task.path().filename().string()));
  }
  return ids;
}

int nice_of(pid_t thread) { return getpriority(PRIO_PROCESS, static_cast<id_t>(thread)); }

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

TEST_CASE("runtime: a mask of one CPU makes one worker, and holds an engine's own thread") {
  cpu_set_t host, mine;
  REQUIRE(sched_getaffinity(0, sizeof host, &host) == 0);
  int cpu = 0;
  while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &host)) ++cpu;
  if (cpu >= 63) return;
  const int nice = nice_of(0);
  llmrt_runtime_options o = runtime_options();
  o.cpu_mask = int64_t{1} << cpu;
  o.thread_priority = 2;
  llmrt_runtime* made = nullptr;
  REQUIRE_OK(llmrt_runtime_create(&o, &made));
  const Owned<llmrt_runtime> runtime(made);
  CHECK(llmrt_runtime_workers(made) == 1);
  CHECK_OK(llmrt_runtime_set_workers(made, 2));
  CHECK_OK(llmrt_runtime_set_workers(made, 0));
  CHECK(llmrt_runtime_workers(made) == 1);
  const auto model = load_table_in(made);

  const auto stepped = make_engine(model.get(), 1);
  const auto own = submit(stepped.get(), "4", greedy(3));
  REQUIRE(llmrt_request_wait(own.get(), -1) == LLMRT_OK);
  REQUIRE(sched_getaffinity(0, sizeof mine, &mine) == 0);
  CHECK(CPU_EQUAL(&mine, &host));
  CHECK(nice_of(0) == nice);

  const std::set<pid_t> before = engine_threads();
  const auto engine = make_engine(model.get());
  const auto request = submit(engine.get(), "4", greedy(3));
  REQUIRE(llmrt_request_wait(request.get(), -1) == LLMRT_OK);  // its thread has begun
  std::set<pid_t> added = engine_threads();
  for (const pid_t id : before) added.erase(id);
  REQUIRE(added.size() == 1);
  const pid_t thread = *added.begin();
  REQUIRE(sched_getaffinity(thread, sizeof mine, &mine) == 0);
  CHECK(CPU_COUNT(&mine) == 1);
  CHECK(CPU_ISSET(cpu, &mine));
  CHECK(nice_of(thread) == std::min(nice + 2, 19));
  CHECK_OK(llmrt_runtime_set_priority(made, 6));
  CHECK(nice_of(thread) == std::min(nice + 6, 19));
  CHECK(nice_of(0) == nice);
}

TEST_CASE("runtime: a priority out of range is refused, and a lower one where it takes a right") {
  llmrt_runtime_options o = runtime_options();
  o.worker_threads = 2;
  llmrt_runtime* runtime = nullptr;
  REQUIRE_OK(llmrt_runtime_create(&o, &runtime));
  for (const int32_t wrong : {-1, 20}) {
    CHECK(llmrt_runtime_set_priority(runtime, wrong) == LLMRT_ERR_INVALID_ARGUMENT);
    CHECK(last_error() == "thread_priority is " + std::to_string(wrong) + "; allowed: 0 to 19");
    CHECK(last_where() == "thread_priority");
  }
  CHECK_OK(llmrt_runtime_set_priority(runtime, 7));
  CHECK_OK(llmrt_runtime_set_priority(runtime, 7));
  const llmrt_status lowered = llmrt_runtime_set_priority(runtime, 0);
  if (lowered != LLMRT_OK) {
    CHECK(lowered == LLMRT_ERR_UNSUPPORTED);
    CHECK(last_error().find("thread_priority is 0: the system does not permit to lower") == 0);
    CHECK(last_where() == "thread_priority");
  }
  llmrt_runtime_release(runtime);
  CHECK(llmrt_runtime_set_priority(runtime, 7) == LLMRT_ERR_CLOSED);
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

TEST_CASE("runtime: the log tells models, engines and the ends of requests, by level") {
  for (const int32_t level : {2, 3, 4}) {
    Log log;
    {
      const auto runtime = logging_runtime(log, level);
      const auto model = load_table_in(runtime.get());
      const auto engine = make_engine(model.get());
      const auto request = submit(engine.get(), "4", greedy(3));
      REQUIRE(llmrt_request_wait(request.get(), -1) == LLMRT_OK);
      if (level == 4) CHECK(log.waits_for(4, "request ended: length; "));
    }
    CHECK(log.count(3, "model loaded: ") == (level >= 3));
    CHECK(log.count(3, "engine created: ctx_tokens 512,") == (level >= 3));
    if (level < 4) CHECK(log.count(4, "") == 0);
    CHECK(log.count(2, "") == 0);
  }
}

TEST_CASE("runtime: a context beyond the one that was trained is warned of") {
  Log log;
  const auto runtime = logging_runtime(log, 2);
  const auto model = load_table_in(runtime.get());
  llmrt_engine_options o = engine_options();
  o.ctx_tokens = 512;
  make_engine(model.get(), o);
  CHECK(log.count(2, "ctx_tokens is ") == 0);
  o.ctx_tokens = 513;
  make_engine(model.get(), o);
  CHECK(log.count(2, "ctx_tokens is 513, the model was trained for 512") == 1);
}

TEST_CASE("runtime: the log of a request's end may release request and engine") {
  Log log;
  const auto runtime = logging_runtime(log, 4);
  auto model = load_table_in(runtime.get());
  llmrt_engine* engine = make_engine(model.get()).release();
  model.reset();
  log.request = submit(engine, "a", greedy(400)).release();
  log.engine = engine;
  CHECK(log.waits_for(4, "request ended: length"));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // another thread ends the engine
  log.release();  // it may have ended before its handles were known
  CHECK(llmrt_engine_pause(engine) == LLMRT_ERR_CLOSED);
}

TEST_CASE("runtime: words of the environment that mean nothing are warned of") {
  const char* const names[] = {"LLMRT_LOG", "LLMRT_CPU_ISA"};
  std::string before[2];
  for (int i = 0; i < 2; ++i)
    if (const char* value = getenv(names[i])) before[i] = value;
  setenv("LLMRT_LOG", "banana", 1);
  setenv("LLMRT_CPU_ISA", "foo", 1);
  Log log;
  {
    const auto runtime = logging_runtime(log, 2);
    load_table_in(runtime.get());
  }
  CHECK(log.count(2, "LLMRT_LOG=banana is unknown, taken as debug") == 1);
  const std::string ignored =
      "LLMRT_CPU_ISA=foo is unknown or cannot run here, and ignored: using ";
  CHECK(log.count(2, ignored) == 1);
  for (const auto& [level, line] : log.lines)
    if (line.starts_with(ignored)) {
      CHECK(line.find("; allowed here: ") != std::string::npos);
      CHECK(line.ends_with(" scalar"));
    }
  // The callback may ask for the devices whose making it is told of.
  static std::atomic<llmrt_runtime*> asked{nullptr};
  static std::atomic<int32_t> n_devices{0};
  llmrt_runtime_options o;
  llmrt_runtime_options_init(&o, sizeof o);
  o.log = [](void*, int32_t, const char*) {
    if (llmrt_runtime* runtime = asked.exchange(nullptr)) n_devices = llmrt_device_count(runtime);
  };
  llmrt_runtime* runtime = nullptr;
  REQUIRE_OK(llmrt_runtime_create(&o, &runtime));
  asked = runtime;
  CHECK(llmrt_device_count(runtime) >= 1);
  CHECK(n_devices >= 1);
  llmrt_runtime_release(runtime);
  for (int i = 0; i < 2; ++i) {
    if (before[i].empty())
      unsetenv(names[i]);
    else
      setenv(names[i], before[i].c_str(), 1);
  }
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
