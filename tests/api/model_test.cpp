#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "api_kit.h"
#include "support/scratch_dir.h"

using namespace api_test;

namespace {

llmrt_model_options model_options() {
  llmrt_model_options o;
  llmrt_model_options_init(&o, sizeof o);
  return o;
}

std::string qwen3_path() {
  return std::string(LLMRT_TESTS_DIR) + "/data/models/qwen3/qwen3.f16.gguf";
}
Owned<llmrt_model> load_qwen3(llmrt_runtime* runtime, const llmrt_model_options* options) {
  llmrt_model* model = nullptr;
  REQUIRE_OK(llmrt_model_load(runtime, qwen3_path().c_str(), options, &model));
  return Owned<llmrt_model>(model);
}

llmrt_model_info info_of(llmrt_model* model) {
  llmrt_model_info info = {};
  info.struct_size = sizeof info;
  REQUIRE_OK(llmrt_model_get_info(model, &info));
  return info;
}

std::vector<float> logits_of(llmrt_model* model) {
  const auto engine = make_engine(model);
  const int32_t tokens[] = {1, 2, 3};
  std::vector<float> out(3 * static_cast<size_t>(info_of(model).n_vocab));
  size_t n = 0;
  REQUIRE_OK(llmrt_evaluate(engine.get(), tokens, 3, 0, out.data(), out.size(), &n));
  CHECK(n == out.size());
  return out;
}

// Some mapping of this process is of a file with this in its path.
bool is_mapped(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  return text.find(name) != std::string::npos;
}

// An engine that was released lets go of its model on a thread of its own.
bool goes(const std::string& name) {
  for (int i = 0; i < 5000 && is_mapped(name); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return !is_mapped(name);
}

// Reads that wait until they are let through.
struct Gate {
  std::atomic<bool> open{false};
};
// What thread reads, and which signals may interrupt it.
struct Reader {
  char name[16] = {};
  bool all_blocked = false;
};
int64_t note_reader(void* user, int64_t, void*, int64_t) {
  auto& reader = *static_cast<Reader*>(user);
  pthread_getname_np(pthread_self(), reader.name, sizeof reader.name);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  reader.all_blocked = sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGTERM) &&
                       sigismember(&blocked, SIGUSR1) && sigismember(&blocked, SIGALRM);
  return -1;
}
int64_t gated_read(void* user, int64_t, void*, int64_t) {
  while (!static_cast<Gate*>(user)->open.load())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return -1;
}

}  // namespace

TEST_CASE("model: info, metadata and tensors tell what the file says") {
  const auto model = load_table();
  llmrt_model_info info = {};
  info.struct_size = sizeof info;
  REQUIRE_OK(llmrt_model_get_info(model.get(), &info));
  CHECK(std::string(info.arch) == "llama");
  CHECK(info.n_vocab == 258);
  CHECK(info.n_ctx_train == 512);
  CHECK(info.n_layer == 1);
  CHECK(info.caps == 1);
  CHECK(std::string(info.hash).size() == 32);
  CHECK(info.weight_bytes > 0);
  CHECK(std::string(info.isa) != "");

  char* value = nullptr;
  REQUIRE_OK(llmrt_model_metadata(model.get(), "general.architecture", &value));
  CHECK(take(value) == "\"llama\"");
  CHECK(llmrt_model_metadata(model.get(), "no.such.key", &value) == LLMRT_ERR_NOT_FOUND);
  CHECK(last_error().find("no.such.key") != std::string::npos);
  const int32_t n = llmrt_model_metadata_count(model.get());
  CHECK(n > 10);
  char* key = nullptr;
  REQUIRE_OK(llmrt_model_metadata_at(model.get(), 0, &key, &value));
  CHECK(take(key) == "general.architecture");
  CHECK(take(value) == "\"llama\"");
  CHECK(llmrt_model_metadata_at(model.get(), n, &key, &value) == LLMRT_ERR_NOT_FOUND);

  CHECK(llmrt_model_tensor_count(model.get()) == 12);
  llmrt_tensor_info t = {};
  t.struct_size = sizeof t;
  REQUIRE_OK(llmrt_model_tensor_get(model.get(), 0, &t));
  CHECK(std::string(t.name) == "token_embd.weight");
  CHECK(std::string(t.type) == "F32");
  CHECK(std::string(t.device) != "");
  CHECK(t.n_dims == 2);
  CHECK(t.d0 == 288);
  CHECK(t.d1 == 258);
  CHECK(t.bytes == 288 * 258 * 4);
  CHECK(llmrt_model_tensor_get(model.get(), 12, &t) == LLMRT_ERR_NOT_FOUND);
}

TEST_CASE("model: a tensor tells what it is kept as, and nothing where it is not loaded") {
  llmrt_model_options cpu = model_options(), reference = cpu, not_loaded = cpu;
  cpu.devices = "cpu";
  reference.devices = "reference";
  not_loaded.metadata_only = 1;
  for (const llmrt_model_options& o : {cpu, reference, not_loaded}) {
    const auto model = load_table(&o);
    llmrt_tensor_info t = {};
    t.struct_size = sizeof t;
    for (int32_t i = 0; i < 12; ++i) {
      REQUIRE_OK(llmrt_model_tensor_get(model.get(), i, &t));
      INFO(t.name);
      if (o.metadata_only) {
        CHECK(std::string(t.device) == "");
        CHECK(std::string(t.packed_as) == "");
      } else {
        CHECK(std::string(t.device) == o.devices);
        CHECK(std::string(t.packed_as) ==
              (t.n_dims > 1 && std::string(o.devices) == "cpu" ? "P16" : "F32"));
      }
    }
  }
}

TEST_CASE(
    "model: weights give the same logits however they are read, and only raw ones stay mapped") {
  const std::string path = qwen3_path();
  std::vector<float> logits[4];
  for (const int32_t mode : {0, 1, 2, 3}) {
    llmrt_model_options o = model_options();
    o.load_mode = mode;
    {
      const auto model = load_qwen3(nullptr, &o);
      CHECK(is_mapped("qwen3.f16.gguf") == (mode == 3));
      const llmrt_model_info info = info_of(model.get());
      CHECK((info.mapped_bytes > 0) == (mode == 3));
      CHECK(info.mapped_bytes < info.weight_bytes);
      logits[mode] = logits_of(model.get());
    }
    CHECK(goes("qwen3.f16.gguf"));
  }
  CHECK(logits[0] == logits[1]);
  CHECK(logits[0] == logits[2]);
  CHECK(logits[0] == logits[3]);

  llmrt_model_options o = model_options();
  llmrt_model* none = nullptr;
  for (const int32_t mode : {-1, 4}) {
    o.load_mode = mode;
    CHECK(llmrt_model_load(nullptr, path.c_str(), &o, &none) == LLMRT_ERR_INVALID_ARGUMENT);
    CHECK(last_error() == "load_mode is " + std::to_string(mode) + "; allowed: 0 to 3");
  }
  o.load_mode = 3;
  o.devices = "reference";
  CHECK(llmrt_model_load(nullptr, path.c_str(), &o, &none) == LLMRT_ERR_UNSUPPORTED);
  CHECK(last_where() == "load_mode");
}

TEST_CASE("model: raw weights are told apart, and planned as what they take") {
  llmrt_model_options o = model_options();
  o.load_mode = 3;
  const auto model = load_qwen3(nullptr, &o);
  const llmrt_model_info info = info_of(model.get());
  int64_t in_file = 0;
  for (int32_t i = 0; i < llmrt_model_tensor_count(model.get()); ++i) {
    llmrt_tensor_info t = {};
    t.struct_size = sizeof t;
    REQUIRE_OK(llmrt_model_tensor_get(model.get(), i, &t));
    CHECK(std::string(t.packed_as) == (t.n_dims > 1 ? "file" : "F32"));
    if (t.n_dims > 1) in_file += t.bytes;
  }
  CHECK(info.mapped_bytes == in_file);

  llmrt_source* source = nullptr;
  REQUIRE_OK(llmrt_source_from_path(qwen3_path().c_str(), &source));
  const Owned<llmrt_source> source_owner(source);
  const llmrt_engine_options e = engine_options();
  llmrt_plan* plan = nullptr;
  REQUIRE_OK(llmrt_plan_create(nullptr, source, &o, &e, &plan));
  const Owned<llmrt_plan> plan_owner(plan);
  llmrt_plan_info planned = {};
  planned.struct_size = sizeof planned;
  REQUIRE_OK(llmrt_plan_get_info(plan, &planned));
  const auto engine = make_engine(model.get(), e);
  llmrt_metrics metrics = {};
  metrics.struct_size = sizeof metrics;
  REQUIRE_OK(llmrt_engine_metrics(engine.get(), &metrics));
  CHECK(metrics.weight_bytes == info.weight_bytes);
  CHECK(planned.weights == info.weight_bytes - info.mapped_bytes);
  CHECK(planned.compute == metrics.compute_bytes);
  CHECK(planned.host_total == planned.weights + planned.kv + planned.compute);
}

TEST_CASE("model: packed weights are kept in the runtime's folder, when a load asks for it") {
  const llmrt::test::ScratchDir dir;
  llmrt_runtime_options r;
  llmrt_runtime_options_init(&r, sizeof r);
  r.cache_dir = dir.path().c_str();
  llmrt_runtime* made = nullptr;
  REQUIRE_OK(llmrt_runtime_create(&r, &made));
  const Owned<llmrt_runtime> runtime(made);
  const auto n_files = [&] {
    const std::filesystem::directory_iterator files(dir.path());
    return std::distance(begin(files), end(files));
  };
  llmrt_model_options o = model_options();
  const auto want = logits_of(load_qwen3(runtime.get(), &o).get());
  CHECK(n_files() == 0);
  o.packed_cache = 1;
  for (const bool first : {true, false}) {
    const auto model = load_qwen3(runtime.get(), &o);
    CHECK(n_files() == 1);
    const llmrt_model_info info = info_of(model.get());
    CHECK(info.mapped_bytes == (first ? 0 : info.weight_bytes));
    if (!first) CHECK(is_mapped(dir.path()));
    CHECK(logits_of(model.get()) == want);
  }
  CHECK(goes(dir.path()));

  llmrt_model* none = nullptr;
  const std::string path = qwen3_path();
  o.load_mode = 3;
  CHECK(llmrt_model_load(runtime.get(), path.c_str(), &o, &none) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() ==
        "packed_cache is 1; allowed: 0, because load_mode is 3 and nothing is packed");
  o.load_mode = 0;
  CHECK(llmrt_model_load(nullptr, path.c_str(), &o, &none) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() == "packed_cache is 1; allowed: 0, because the runtime has no cache_dir");
  o.packed_cache = 2;
  CHECK(llmrt_model_load(runtime.get(), path.c_str(), &o, &none) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() == "packed_cache is 2; allowed: 0 and 1");
}

TEST_CASE("model: metadata_only answers questions but makes no engine") {
  llmrt_model_options o = model_options();
  o.metadata_only = 1;
  const auto model = load_table(&o);
  llmrt_model_info info = {};
  info.struct_size = sizeof info;
  REQUIRE_OK(llmrt_model_get_info(model.get(), &info));
  CHECK(info.caps == 0);
  CHECK(info.weight_bytes == 0);
  char* prompt = nullptr;
  REQUIRE_OK(llmrt_chat_render(model.get(), R"([{"role":"user","content":"x"}])", nullptr, nullptr,
                               1, &prompt));
  CHECK(take(prompt) == "[user]x>");
  llmrt_engine* engine = nullptr;
  CHECK(llmrt_engine_create(model.get(), nullptr, &engine) == LLMRT_ERR_UNSUPPORTED);
  CHECK(last_error().find("metadata_only") != std::string::npos);
}

TEST_CASE("model: overrides, devices and limits") {
  llmrt_model_options o = model_options();
  o.metadata_overrides = R"({"general.name": "other", "llama.context_length": 128})";
  const auto model = load_table(&o);
  llmrt_model_info info = {};
  info.struct_size = sizeof info;
  REQUIRE_OK(llmrt_model_get_info(model.get(), &info));
  CHECK(std::string(info.name) == "other");
  CHECK(info.n_ctx_train == 128);

  llmrt_model* none = nullptr;
  o = model_options();
  o.devices = "cudo:0";
  CHECK(llmrt_model_load(nullptr, table_path().c_str(), &o, &none) < 0);
  CHECK(last_error().find("cudo:0") != std::string::npos);
  o.metadata_only = 1;
  CHECK(llmrt_model_load(nullptr, table_path().c_str(), &o, &none) == LLMRT_ERR_NOT_FOUND);
  o.devices = "reference";
  CHECK(load_table(&o) != nullptr);
  o = model_options();
  o.chat_template = "chatmi";
  CHECK(llmrt_model_load(nullptr, table_path().c_str(), &o, &none) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() ==
        "chat_template is \"chatmi\"; allowed: template text, chatml, llama3, mistral, gemma, "
        "phi3");
  o.chat_template = "chatml";
  CHECK(load_table(&o) != nullptr);
  o = model_options();
  o.host_memory_limit = 1000;
  CHECK(llmrt_model_load(nullptr, table_path().c_str(), &o, &none) == LLMRT_ERR_MEMORY_BUDGET);
  CHECK(last_error().find("1000") != std::string::npos);
  o = model_options();
  o.metadata_overrides = "{";
  CHECK(llmrt_model_load(nullptr, table_path().c_str(), &o, &none) < 0);
  CHECK(none == nullptr);
}

TEST_CASE("model: the thread of a job has a name and takes no signal") {
  Reader reader;
  llmrt_source* source = nullptr;
  REQUIRE_OK(llmrt_source_from_callbacks(1000, note_reader, nullptr, &reader, &source));
  llmrt_job* job = nullptr;
  REQUIRE_OK(llmrt_model_load_async(nullptr, source, nullptr, &job));
  CHECK(llmrt_job_poll(job, -1, nullptr) == LLMRT_ERR_IO);
  CHECK(std::string(reader.name) == "llmrt-load");
  CHECK(reader.all_blocked);
  llmrt_job_release(job);
  llmrt_source_release(source);
}

TEST_CASE("model: a job loads with progress, and its model is taken once") {
  llmrt_source* source = nullptr;
  REQUIRE_OK(llmrt_source_from_path(table_path().c_str(), &source));
  llmrt_job* job = nullptr;
  REQUIRE_OK(llmrt_model_load_async(nullptr, source, nullptr, &job));
  llmrt_source_release(source);
  llmrt_job_info info = {};
  info.struct_size = sizeof info;
  REQUIRE(llmrt_job_poll(job, 20000, &info) == LLMRT_OK);
  CHECK(info.status == LLMRT_OK);
  CHECK(info.progress == 1.0);
  CHECK(info.done == info.total);
  llmrt_model* model = nullptr;
  REQUIRE_OK(llmrt_job_take_model(job, &model));
  llmrt_model* again = nullptr;
  CHECK(llmrt_job_take_model(job, &again) == LLMRT_ERR_NOT_FOUND);
  llmrt_job_release(job);
  char* text = nullptr;
  CHECK_OK(llmrt_model_ask(model, "hi", nullptr, &text));
  CHECK(take(text) == "123456789");
  llmrt_model_release(model);
}

TEST_CASE("model: a job's failure is the job's, and a hanging read ends in ERR_TIMEOUT") {
  static Gate gate;  // outlives the abandoned read
  llmrt_source* source = nullptr;
  REQUIRE_OK(llmrt_source_from_callbacks(1 << 20, gated_read, nullptr, &gate, &source));
  llmrt_model_options o = model_options();
  llmrt_job* job = nullptr;
  REQUIRE_OK(llmrt_model_load_async(nullptr, source, &o, &job));
  CHECK(llmrt_job_poll(job, 20, nullptr) == LLMRT_PENDING);
  llmrt_error_info error = {};
  error.struct_size = sizeof error;
  REQUIRE_OK(llmrt_job_error(job, &error));
  CHECK(error.status == LLMRT_PENDING);
  llmrt_model* model = nullptr;
  CHECK(llmrt_job_take_model(job, &model) == LLMRT_PENDING);

  o.timeout_ms = 50;
  const auto begin = std::chrono::steady_clock::now();
  CHECK(llmrt_model_load_source(nullptr, source, &o, &model) == LLMRT_ERR_TIMEOUT);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  CHECK(last_error().find("timeout_ms = 50") != std::string::npos);
  llmrt_source_release(source);

  gate.open.store(true);
  CHECK(llmrt_job_poll(job, 20000, nullptr) == LLMRT_ERR_IO);
  REQUIRE_OK(llmrt_job_error(job, &error));
  CHECK(error.status == LLMRT_ERR_IO);
  CHECK(std::string(error.message) != "");
  llmrt_job_release(job);
}

TEST_CASE("model: a plan tells what loading and an engine take, without loading") {
  llmrt_source* source = nullptr;
  REQUIRE_OK(llmrt_source_from_path(table_path().c_str(), &source));
  llmrt_plan* plan = nullptr;
  REQUIRE_OK(llmrt_plan_create(nullptr, source, nullptr, nullptr, &plan));
  llmrt_plan_info info = {};
  info.struct_size = sizeof info;
  REQUIRE_OK(llmrt_plan_get_info(plan, &info));
  CHECK(info.fits == 1);
  CHECK(info.n_devices == 1);
  CHECK(info.ctx_tokens == 512);
  CHECK(info.host_total == info.weights + info.kv + info.compute);
  llmrt_plan_device device = {};
  device.struct_size = sizeof device;
  REQUIRE_OK(llmrt_plan_get_device(plan, 0, &device));
  CHECK(device.weights == info.weights);
  CHECK(llmrt_plan_get_device(plan, 1, &device) == LLMRT_ERR_NOT_FOUND);
  llmrt_plan_release(plan);

  llmrt_model_options o = model_options();
  o.host_memory_limit = 1000;
  REQUIRE_OK(llmrt_plan_create(nullptr, source, &o, nullptr, &plan));
  REQUIRE_OK(llmrt_plan_get_info(plan, &info));
  CHECK(info.fits == 0);
  llmrt_plan_release(plan);
  llmrt_source_release(source);
  const auto model = load_table();
  llmrt_model_info loaded = {};
  loaded.struct_size = sizeof loaded;
  REQUIRE_OK(llmrt_model_get_info(model.get(), &loaded));
  CHECK(loaded.weight_bytes == info.weights);
}

TEST_CASE("model: the plan's figures are the engine's, with a sliding window too") {
  const std::string tests = LLMRT_TESTS_DIR;
  for (const std::string& path : {table_path(), tests + "/data/models/gemma3/gemma3.f16.gguf"}) {
    llmrt_source* source = nullptr;
    REQUIRE_OK(llmrt_source_from_path(path.c_str(), &source));
    llmrt_model* model = nullptr;
    REQUIRE_OK(llmrt_model_load_source(nullptr, source, nullptr, &model));
    const Owned<llmrt_model> model_owner(model);
    int64_t reserved = 0;  // bytes of the two blocks that no request gets
    for (const int64_t budget :
         {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{1} << 20, int64_t{1} << 30, INT64_MAX}) {
      for (const int32_t ctx : {0, 1000, 100000}) {
        INFO(path, " budget ", budget, " ctx ", ctx);
        llmrt_engine_options o = engine_options();
        o.kv_budget = budget;
        o.ctx_tokens = ctx;
        o.max_running = 3;
        llmrt_plan* plan = nullptr;
        REQUIRE_OK(llmrt_plan_create(nullptr, source, nullptr, &o, &plan));
        llmrt_plan_info info = {};
        info.struct_size = sizeof info;
        REQUIRE_OK(llmrt_plan_get_info(plan, &info));
        llmrt_plan_release(plan);
        CHECK(info.host_total == info.weights + info.kv + info.compute);
        llmrt_engine* engine = nullptr;
        const llmrt_status made = llmrt_engine_create(model, &o, &engine);
        const Owned<llmrt_engine> engine_owner(engine);
        if (budget == 0 || budget == 1) {
          CHECK(made == LLMRT_ERR_MEMORY_BUDGET);
          CHECK(info.fits == 0);
          continue;
        }
        REQUIRE_OK(made);
        llmrt_metrics metrics = {};
        metrics.struct_size = sizeof metrics;
        REQUIRE_OK(llmrt_engine_metrics(engine, &metrics));
        if (reserved == 0) reserved = info.kv - metrics.kv_total;
        CHECK(info.kv == metrics.kv_total + reserved);
        CHECK(info.weights == metrics.weight_bytes);
        CHECK(info.compute == metrics.compute_bytes);
        CHECK(info.compute > 0);
        CHECK(info.kv % (reserved / 2) == 0);
        // however much is offered: a million blocks at most, but for what three contexts hold
        CHECK(info.kv <= std::max<int64_t>(int64_t{1} << 20, 100000) * (reserved / 2) + reserved);
      }
    }
    llmrt_source_release(source);
  }
}
