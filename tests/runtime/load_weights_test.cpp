// However weights come to the backend, they give the same bits.
#include "runtime/load_weights.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernel_table.h"
#include "base/memory.h"
#include "graph/backend_registry.h"
#include "load_kit.h"
#include "quant/panel.h"
#include "support/scratch_dir.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

// Packed forms of all kinds, types without one, experts, float vectors in quantized files, tied and separate outputs.
std::vector<std::string> model_paths() {
  std::vector<std::string> paths;
  for (const char* type :
       {"Q4_0", "Q4_K_M", "Q5_K_M", "Q6_K", "Q8_0", "Q2_K", "IQ4_XS", "IQ3_S", "TQ2_0"})
    paths.push_back(repo_data("gguf_quant/llama_gqa.") + type + ".gguf");
  for (const char* name : {"qwen3", "gemma3", "qwen3_moe", "mixtral"})
    paths.push_back(repo_data("models/") + name + "/" + name + ".f16.gguf");
  return paths;
}

bool is_mapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  return text.find(path) != std::string::npos;
}

// The CPU backend on a machine whose memory is nearly taken.
class TightBackend final : public Backend {
 public:
  TightBackend(std::shared_ptr<Host> host, int64_t free)
      : cpu_(take(make_backend(std::move(host), "cpu", ""))), free_(free) {}
  DeviceInfo info() const override {
    DeviceInfo info = cpu_->info();
    info.memory.free = free_;
    return info;
  }
  uint64_t weight_bytes(const WeightDesc& d) const override { return cpu_->weight_bytes(d); }
  const char* packed_as(const WeightDesc& d) const override { return cpu_->packed_as(d); }
  Result<WeightId> add_weight(const WeightDesc& d, const WeightReader& reader,
                              JobProgress* progress) override {
    return cpu_->add_weight(d, reader, progress);
  }
  void remove_weight(WeightId id) override { cpu_->remove_weight(id); }
  uint32_t packed_layout() const override { return cpu_->packed_layout(); }
  Result<WeightId> adopt_weight(const WeightDesc& d, WeightForm form,
                                std::span<const uint8_t> bytes) override {
    return cpu_->adopt_weight(d, form, bytes);
  }
  std::span<const uint8_t> packed_data(WeightId id) const override { return cpu_->packed_data(id); }
  KvGeometry kv_geometry(const KvGroup& group, const KvConfig& config) const override {
    return cpu_->kv_geometry(group, config);
  }
  Result<KvId> kv_create(std::span<const KvGroup> groups, const KvConfig& config) override {
    return cpu_->kv_create(groups, config);
  }
  void kv_destroy(KvId id) override { cpu_->kv_destroy(id); }
  Status kv_commit(KvId id, BlockId block) override { return cpu_->kv_commit(id, block); }
  void kv_release(KvId id, std::span<const BlockId> blocks) override {
    cpu_->kv_release(id, blocks);
  }
  Status kv_copy(KvId id, BlockId from, BlockId to) override { return cpu_->kv_copy(id, from, to); }
  int64_t kv_bytes(KvId id) const override { return cpu_->kv_bytes(id); }
  uint64_t compute_bytes(const Program& program, const CompileOptions& options) const override {
    return cpu_->compute_bytes(program, options);
  }
  Result<ExeId> compile(const Program& program, std::span<const WeightId> weights,
                        const CompileOptions& options) override {
    return cpu_->compile(program, weights, options);
  }
  void remove_program(ExeId id) override { cpu_->remove_program(id); }
  Result<Progress> advance(Execution& execution, Deadline deadline) override {
    return cpu_->advance(execution, deadline);
  }
  void abandon(Execution& execution) override { cpu_->abandon(execution); }
  std::span<const float> logits(ExeId exe) const override { return cpu_->logits(exe); }

 private:
  std::unique_ptr<Backend> cpu_;
  int64_t free_;
};

// A model understood, its weights not loaded yet.
ModelPtr unloaded(const std::string& path, Log& log, int64_t free) {
  ModelOptions options = on_cpu();
  options.metadata_only = true;
  ModelPtr model = load(path, options, log);
  model->metadata_only = false;
  model->backend = std::make_unique<TightBackend>(model->host, free);
  return model;
}

}  // namespace

TEST_CASE("weights give the same logits packed, mapped, read, cached and raw") {
  for (const std::string& path : model_paths()) {
    CAPTURE(path);
    const ScratchDir dir;
    const ModelPtr packed = load(path, on_cpu());
    const auto want = logits_of(*packed);
    CHECK(packed->mapped_bytes == 0);
    for (const LoadMode mode : {LoadMode::mapped, LoadMode::read})
      CHECK(logits_of(*load(path, on_cpu(mode))) == want);
    const ModelPtr writes = load(path, on_cpu(LoadMode::mapped, dir.path()));
    const ModelPtr cached = load(path, on_cpu(LoadMode::mapped, dir.path()));
    CHECK(writes->mapped_bytes == 0);
    CHECK(cached->mapped_bytes == cached->weight_bytes);
    CHECK(cached->weight_bytes == packed->weight_bytes);
    CHECK(logits_of(*writes) == want);
    CHECK(logits_of(*cached) == want);
    const ModelPtr raw = load(path, on_cpu(LoadMode::raw));
    CHECK(raw->raw_weights);
    CHECK(raw->mapped_bytes > 0);
    CHECK(logits_of(*raw) == want);
  }
}

TEST_CASE("every kernel table gives the same logits for raw weights as for packed ones") {
  for (const cpu::KernelTable* table : cpu::available_kernel_tables())
    for (const std::string& path : {repo_data("gguf_quant/llama_gqa.Q5_K_M.gguf"),
                                    repo_data("gguf_quant/llama_gqa.IQ3_S.gguf"),
                                    repo_data("models/qwen3_moe/qwen3_moe.f16.gguf")}) {
      CAPTURE(table->name);
      CAPTURE(path);
      ModelOptions packed = on_cpu(), raw = on_cpu(LoadMode::raw);
      packed.backend_options = raw.backend_options = std::string("isa=") + table->name;
      CHECK(logits_of(*load(path, raw)) == logits_of(*load(path, packed)));
    }
}

TEST_CASE("a program with raw weights says so") {
  const ModelPtr raw = load(repo_data("models/qwen3/qwen3.f16.gguf"), on_cpu(LoadMode::raw));
  KvConfig config;
  config.n_blocks = 8;
  CompileOptions options;
  options.kv = take(raw->backend->kv_create(raw->def.program.kv_groups, config));
  const auto refused = raw->backend->compile(raw->def.program, raw->weights, options);
  CHECK(refused.status().code() == Code::internal);
  options.raw_weights = true;
  CHECK(raw->backend->compile(raw->def.program, raw->weights, options).ok());
}

TEST_CASE("the plan of a program with raw weights has room to pack two panels") {
  const ModelPtr raw = load(repo_data("models/qwen3/qwen3.f16.gguf"), on_cpu(LoadMode::raw));
  constexpr uint32_t kLong = 1 << 16;  // a row that needs more scratch than attention does
  Program program = raw->def.program;
  for (WeightDesc& weight : program.weights)
    if (weight.n > 1) weight.k = kLong;
  CompileOptions options;
  const uint64_t packed = raw->backend->compute_bytes(program, options);
  options.raw_weights = true;
  CHECK(raw->backend->compute_bytes(program, options) >=
        packed + 2 * panel_bytes(DType::f16, kLong));
}

TEST_CASE("raw weights take no memory, and the file stays mapped as long as the model") {
  const ScratchDir dir;
  const auto bytes = read_text(repo_data("gguf_quant/llama_gqa.Q8_0.gguf"));
  const std::string path = dir.write("llmrt_raw_weights.gguf", bytes);
  const int64_t before = allocated_bytes();
  ModelPtr raw = load(path, on_cpu(LoadMode::raw));
  CHECK(is_mapped(path));
  const int64_t in_memory = raw->weight_bytes - raw->mapped_bytes;
  CHECK(in_memory == kept_weight_bytes(*raw->backend, raw->def.program, true));
  CHECK(in_memory < raw->mapped_bytes / 20);
  // what the rest of a loaded model takes: metadata, tokenizer, tables
  CHECK(allocated_bytes() - before < raw->mapped_bytes);
  for (size_t i = 0; i < raw->weights.size(); ++i)
    CHECK(raw->backend->packed_data(raw->weights[i]).empty() ==
          stays_in_file(raw->def.program.weights[i]));
  raw.reset();
  CHECK(!is_mapped(path));
}

TEST_CASE("a file in memory can stay there, one behind callbacks cannot") {
  const std::string path = repo_data("models/qwen3/qwen3.f16.gguf");
  const auto want = logits_of(*load(path, on_cpu()));
  const auto bytes = read_file(path);
  const auto from_memory = take(load_model(
      make_host(), {take(source_from_memory(bytes.data(), bytes.size(), nullptr, nullptr))},
      on_cpu(LoadMode::raw), nullptr));
  CHECK(logits_of(*from_memory) == want);

  const auto read = [](void* user, int64_t offset, void* dst, int64_t n) {
    const auto& all = *static_cast<const std::vector<uint8_t>*>(user);
    std::memcpy(dst, all.data() + offset, static_cast<size_t>(n));
    return n;
  };
  const auto callbacks = [&] {
    return take(source_from_callbacks(bytes.size(), read, nullptr,
                                      const_cast<std::vector<uint8_t>*>(&bytes)));
  };
  const auto refused = load_model(make_host(), {callbacks()}, on_cpu(LoadMode::raw), nullptr);
  CHECK(refused.status().code() == Code::unsupported);
  CHECK(refused.status().message() ==
        "load_mode is 3; allowed where weights come from callbacks: 0 to 2");
  CHECK(logits_of(*take(load_model(make_host(), {callbacks()}, on_cpu(), nullptr))) == want);
}

TEST_CASE("the reference interpreter refuses raw weights") {
  ModelOptions options = on_cpu(LoadMode::raw);
  options.devices = "reference";
  Log log;
  const auto refused = try_load(repo_data("models/qwen3/qwen3.f16.gguf"), options, log);
  CHECK(refused.status().code() == Code::unsupported);
  CHECK(refused.status().message() == "load_mode is 3; allowed for the device reference: 0 to 2");
}

TEST_CASE("weights that do not fit into memory stay in the file, and the log says so") {
  const std::string path = repo_data("gguf_quant/llama_gqa.Q4_K_M.gguf");
  const ModelPtr packed = load(path, on_cpu());
  const auto want = logits_of(*packed);
  const int64_t needed = packed->weight_bytes;
  struct Case {
    int64_t free;
    LoadMode mode;
    bool raw;
  };
  for (const Case& c :
       {Case{needed - 1, LoadMode::automatic, true}, Case{needed, LoadMode::automatic, false},
        Case{-1, LoadMode::automatic, false}, Case{1, LoadMode::read, false},
        Case{1, LoadMode::mapped, false}, Case{INT64_MAX, LoadMode::raw, true}}) {
    CAPTURE(c.free);
    Log log;
    const ModelPtr model = unloaded(path, log, c.free);
    REQUIRE(load_weights(on_cpu(c.mode), nullptr, *model).ok());
    CHECK(model->raw_weights == c.raw);
    CHECK((model->mapped_bytes > 0) == c.raw);
    const auto lines = log.lines(LogLevel::info);
    const bool told = std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find("they stay in the mapped file") != std::string::npos;
    });
    CHECK(told == (c.raw && c.mode == LoadMode::automatic));
    CHECK(log.warnings().empty());
    CHECK(logits_of(*model) == want);
  }
}

TEST_CASE("weights that do not fit into memory are written to no cache, but come from one") {
  const std::string path = repo_data("gguf_quant/llama_gqa.Q4_K_M.gguf");
  const ScratchDir dir;
  const ModelOptions options = on_cpu(LoadMode::automatic, dir.path());
  Log log;
  {
    const ModelPtr model = unloaded(path, log, 1);
    REQUIRE(load_weights(options, nullptr, *model).ok());
    CHECK(model->raw_weights);
    CHECK(files_in(dir.path()).empty());
  }
  const auto want = logits_of(*load(path, options));
  const ModelPtr model = unloaded(path, log, 1);
  REQUIRE(load_weights(options, nullptr, *model).ok());
  CHECK(!model->raw_weights);
  CHECK(model->mapped_bytes == model->weight_bytes);
  CHECK(logits_of(*model) == want);
}

TEST_CASE("the limit on memory is one on packed weights, and on what raw ones keep") {
  const std::string path = repo_data("gguf_quant/llama_gqa.Q8_0.gguf");
  const ModelPtr packed = load(path, on_cpu());
  const ModelPtr raw = load(path, on_cpu(LoadMode::raw));
  Log log;
  ModelOptions options = on_cpu();
  options.host_memory_limit = packed->weight_bytes - 1;
  CHECK(try_load(path, options, log).status().code() == Code::memory_budget);
  options.load_mode = LoadMode::raw;
  CHECK(try_load(path, options, log).ok());
  options.host_memory_limit = raw->weight_bytes - raw->mapped_bytes;
  CHECK(try_load(path, options, log).ok());
  --options.host_memory_limit;
  CHECK(try_load(path, options, log).status().code() == Code::memory_budget);
}

TEST_CASE("progress reaches its total in every mode") {
  const std::string path = repo_data("gguf_quant/llama_gqa.Q8_0.gguf");
  const ScratchDir dir;
  Log log;
  for (const ModelOptions& options :
       {on_cpu(), on_cpu(LoadMode::raw), on_cpu(LoadMode::automatic, dir.path()),
        on_cpu(LoadMode::automatic, dir.path())}) {
    JobProgress progress;
    const auto model = try_load(path, options, log, &progress);
    REQUIRE(model.ok());
    CHECK(progress.total.load() > 0);
    CHECK(progress.done.load() == progress.total.load());
  }
}
