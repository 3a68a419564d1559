#include "runtime/load_weights.h"

#include <string>
#include <vector>

#include "runtime/packed_cache.h"
#include "runtime/source_reader.h"

namespace llmrt {
namespace {

using ll = long long;  // for printf

class WeightLoader {
 public:
  WeightLoader(const ModelOptions& options, JobProgress* progress, LoadedModel& model)
      : options_(options), progress_(progress), model_(model) {}

  Status load() {
    const bool raw = options_.load_mode == LoadMode::raw;
    if (raw && !adopts())
      return error(Code::unsupported, "load_mode is 3; allowed for the device %s: 0 to 2",
                   model_.backend->info().id.c_str())
          .at("load_mode");
    needed_ = kept_weight_bytes(*model_.backend, model_.def.program, raw);
    LLMRT_TRY(check_limit());
    begin("weights");
    model_.weights.reserve(weights().size());
    if (raw) return load_raw();
    if (options_.cache_dir.empty() || !adopts()) return load_from_source();
    const PackedCache cache(*model_.host, *model_.backend, model_.def.program, model_.hash,
                            options_.cache_dir);
    LLMRT_ASSIGN(model_.packed_file, cache.open(progress_));
    if (model_.packed_file) return adopt_packed(cache);
    packed_.reserve(weights().size());  // now: a model that is there must not fail for it
    LLMRT_TRY(load_from_source());
    return model_.raw_weights ? Status() : keep_packed(cache);
  }

 private:
  const std::vector<WeightDesc>& weights() const { return model_.def.program.weights; }
  const char* name() const { return model_.source->name().c_str(); }
  bool adopts() const { return model_.backend->packed_layout() != 0; }

  Status check_limit() const {
    const int64_t limit = options_.host_memory_limit;
    if (limit <= 0 || needed_ <= limit) return Status();
    return error(Code::memory_budget, "%s: weights need %lld bytes, host_memory_limit allows %lld",
                 name(), ll{needed_}, ll{limit});
  }
  void begin(const char* stage) {
    if (!progress_) return;
    progress_->total.store(needed_);
    progress_->stage.store(stage);
  }
  Result<const TensorInfo*> tensor_of(const WeightDesc& desc) const {
    const TensorInfo* tensor = model_.source->find(desc.name);
    if (tensor) return tensor;
    return error(Code::format, "%s: tensor %s is missing", name(), desc.name.c_str()).at(desc.name);
  }
  void loaded(WeightId id, uint64_t bytes, uint64_t mapped) {
    model_.weights.push_back(id);
    model_.weight_bytes += static_cast<int64_t>(bytes);
    model_.mapped_bytes += static_cast<int64_t>(mapped);
    if (progress_) progress_->done.fetch_add(static_cast<int64_t>(bytes - mapped));
  }

  Status adopt_packed(const PackedCache& cache) {
    for (size_t i = 0; i < weights().size(); ++i) {
      const std::span<const uint8_t> bytes = cache.weight(*model_.packed_file, i);
      LLMRT_ASSIGN(const WeightId id,
                   model_.backend->adopt_weight(weights()[i], WeightForm::packed, bytes));
      loaded(id, bytes.size(), bytes.size());
    }
    return finish();
  }

  // Whatever its bytes are then counted as, all of it is there.
  Status finish() {
    if (progress_) progress_->done.store(needed_);
    return Status();
  }

  Status load_from_source() {
    LLMRT_ASSIGN(const bool too_large, is_too_large());
    if (too_large) return load_raw();
    if (options_.load_mode == LoadMode::mapped) LLMRT_TRY(model_.source->map(true));
    LLMRT_TRY(add_all());
    model_.source->unmap();  // nothing reads a tensor of a packed model again
    return Status();
  }

  // The model is mapped already if the answer is yes.
  Result<bool> is_too_large() {
    if (options_.load_mode != LoadMode::automatic || !adopts()) return false;
    const int64_t free = model_.backend->info().memory.free;
    if (free < 0 || needed_ <= free) return false;
    LLMRT_TRY(model_.source->map(false));
    for (const WeightDesc& desc : weights()) {
      LLMRT_ASSIGN(const TensorInfo* tensor, tensor_of(desc));
      if (!model_.source->bytes(*tensor).empty()) continue;
      model_.source->unmap();  // it comes from callbacks: there is nothing but to try
      return false;
    }
    model_.host->log(LogLevel::info,
                     "%s: packed weights need %lld bytes, %lld are free: they stay in the mapped "
                     "file and are packed at each use",
                     name(), ll{needed_}, ll{free});
    return true;
  }

  Status add_all() {
    // Where the file's pages and the packed weights fit in side by side, the pages stay for the next load.
    const int64_t free = model_.backend->info().memory.free;
    const bool drops = options_.load_mode == LoadMode::mapped || free < 0 || free / 2 < needed_;
    for (const WeightDesc& desc : weights()) LLMRT_TRY(add(desc, drops));
    return Status();
  }

  Status add(const WeightDesc& desc, bool drops) {
    LLMRT_TRY(check_cancel(progress_, name()));
    LLMRT_ASSIGN(const TensorInfo* tensor, tensor_of(desc));
    const SourceReader reader(*model_.source, *tensor, drops);
    LLMRT_ASSIGN(const WeightId id, model_.backend->add_weight(desc, reader, progress_));
    loaded(id, model_.backend->weight_bytes(desc), 0);
    return Status();
  }

  Status load_raw() {
    LLMRT_TRY(model_.source->map(false));
    model_.raw_weights = true;
    for (const WeightDesc& desc : weights()) {
      if (!stays_in_file(desc)) {
        LLMRT_TRY(add(desc, false));
        continue;
      }
      LLMRT_ASSIGN(const TensorInfo* tensor, tensor_of(desc));
      const std::span<const uint8_t> rows = model_.source->bytes(*tensor);
      if (rows.empty())
        return error(Code::unsupported,
                     "load_mode is 3; allowed where weights come from callbacks: 0 to 2")
            .at("load_mode");
      LLMRT_ASSIGN(const WeightId id,
                   model_.backend->adopt_weight(desc, WeightForm::file_rows, rows));
      loaded(id, rows.size(), rows.size());
    }
    return finish();
  }

  Status keep_packed(const PackedCache& cache) {
    if (progress_) progress_->stage.store(kKeepingStage);
    for (const WeightId id : model_.weights) packed_.push_back(model_.backend->packed_data(id));
    return cache.write(packed_, progress_);
  }

  const ModelOptions& options_;
  JobProgress* progress_;
  LoadedModel& model_;
  std::vector<std::span<const uint8_t>> packed_;  // [weights], if they are written to a file
  int64_t needed_ = 0;                            // of memory; packed, unless load_mode is raw
};

}  // namespace

int64_t kept_weight_bytes(const Backend& backend, const Program& program, bool raw) {
  int64_t bytes = 0;
  for (const WeightDesc& desc : program.weights)
    if (!raw || !stays_in_file(desc)) bytes += static_cast<int64_t>(backend.weight_bytes(desc));
  return bytes;
}

Status load_weights(const ModelOptions& options, JobProgress* progress, LoadedModel& model) {
  return WeightLoader(options, progress, model).load();
}

}  // namespace llmrt
