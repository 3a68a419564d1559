#include "backends/cpu/cpu_backend.h"

#include "backends/cpu/cpu_features.h"
#include "base/in_quotes.h"

namespace llmrt::cpu {
namespace {

// " isa=avx2 isa=scalar", what can run here
std::string table_names(const char* before_each) {
  std::string names;
  for (const KernelTable* t : available_kernel_tables()) names.append(before_each).append(t->name);
  return names;
}

}  // namespace

DeviceInfo CpuBackend::info() const {
  DeviceInfo d;
  d.kind = DeviceKind::cpu;
  d.id = "cpu";
  d.name = detect_cpu_features().processor;
  d.backend = "cpu";
  d.driver = table_.name;
  d.memory = platform::memory_figures();
  return d;
}

Result<WeightId> CpuBackend::add_weight(const WeightDesc& desc, const WeightReader& reader,
                                        JobProgress* progress) {
  const std::lock_guard lock(packing_);
  LLMRT_ASSIGN(PackedWeight weight, pack_weight(desc, reader, host_->pool(), file_rows_, progress));
  return weights_.add(std::make_unique<PackedWeight>(std::move(weight)));
}

Result<WeightId> CpuBackend::adopt_weight(const WeightDesc& desc, WeightForm form,
                                          std::span<const uint8_t> bytes) {
  LLMRT_ASSIGN(PackedWeight weight, borrow_weight(desc, form, bytes));
  return weights_.add(std::make_unique<PackedWeight>(std::move(weight)));
}

std::span<const uint8_t> CpuBackend::packed_data(WeightId id) const {
  const PackedWeight& w = weights_[id];
  return {w.owned.data(), w.owned.size()};
}

Result<KvId> CpuBackend::kv_create(std::span<const KvGroup> groups, const KvConfig& config) {
  LLMRT_ASSIGN(std::unique_ptr<KvSlabs> kv, KvSlabs::create(groups, config));
  return kv_.add(std::move(kv));
}

Result<ExeId> CpuBackend::compile(const Program& program, std::span<const WeightId> weights,
                                  const CompileOptions& options) {
  KvSlabs* kv = kv_.find(options.kv);
  if (!kv) return error(Code::internal, "compile: KV store %u does not exist", options.kv);
  if (weights.size() != program.weights.size())
    return error(Code::internal, "compile: %zu weights for a program with %zu", weights.size(),
                 program.weights.size());
  std::vector<const PackedWeight*> bound;
  bound.reserve(weights.size());
  for (WeightId id : weights) {
    const PackedWeight* weight = weights_.find(id);
    if (!weight) return error(Code::internal, "compile: weight %u does not exist", id);
    bound.push_back(weight);
  }
  {
    const std::lock_guard lock(packing_);
    file_rows_.give_back();
  }
  LLMRT_ASSIGN(std::unique_ptr<CompiledPass> pass,
               CompiledPass::create(program, options, bound, *kv, table_, host_->pool()));
  return programs_.add(std::move(pass));
}

int32_t cpu_device_count() { return 1; }

Result<std::unique_ptr<Backend>> create_cpu_backend(std::shared_ptr<Host> host, int32_t device,
                                                    std::string_view options) {
  if (device != 0)
    return error(Code::not_found, "device cpu:%d does not exist; there is cpu:0", device);
  const KernelTable* table = &default_kernel_table();
  const char* wanted = wanted_kernel_table();
  if (wanted && *wanted && !find_kernel_table(wanted))
    host->log(
        LogLevel::warn,
        "LLMRT_CPU_ISA=%.40s is unknown or cannot run here, and ignored: using %s; allowed here:%s",
        wanted, table->name, table_names(" ").c_str());
  if (!options.empty()) {
    const std::string name(options.substr(0, 4) == "isa=" ? options.substr(4) : "");
    table = find_kernel_table(name.c_str());
    if (!table)
      return error(Code::invalid_argument, "CPU option %s is unknown; allowed here:%s",
                   in_quotes(options, 40).c_str(), table_names(" isa=").c_str());
  }
  return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(std::move(host), *table));
}

}  // namespace llmrt::cpu
