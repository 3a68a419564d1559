// A model file loaded in some mode, what the log said meanwhile, and its logits.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/loaded_model.h"
#include "support/simple_runner.h"
#include "support/test_data.h"

namespace llmrt::test {

class Log {
 public:
  static void write(void* self, int32_t level, const char* message) {
    auto& log = *static_cast<Log*>(self);
    const std::lock_guard lock(log.mutex_);
    log.lines_.emplace_back(static_cast<LogLevel>(level), message);
  }
  std::vector<std::string> lines(LogLevel level) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const auto& [at, text] : lines_)
      if (at == level) out.push_back(text);
    return out;
  }
  std::vector<std::string> warnings() const { return lines(LogLevel::warn); }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<LogLevel, std::string>> lines_;
};

inline std::shared_ptr<Host> logging_host(Log& log, uint32_t n_workers = 2) {
  ThreadPoolOptions options;
  options.n_workers = n_workers;
  return std::make_shared<Host>(LogSink{LogLevel::info, Log::write, &log},
                                take(ThreadPool::create(options)));
}

inline ModelOptions on_cpu(LoadMode mode = LoadMode::automatic, const std::string& cache_dir = "") {
  ModelOptions options;
  options.devices = "cpu";
  options.load_mode = mode;
  options.cache_dir = cache_dir;
  return options;
}

using ModelPtr = std::shared_ptr<LoadedModel>;

// The log outlives the model.
inline Result<ModelPtr> try_load(const std::string& path, const ModelOptions& options, Log& log,
                                 JobProgress* progress = nullptr) {
  return load_model(logging_host(log), {take(source_from_path(path))}, options, progress);
}
inline ModelPtr load(const std::string& path, const ModelOptions& options, Log& log) {
  return take(try_load(path, options, log));
}
// Nobody listens.
inline ModelPtr load(const std::string& path, const ModelOptions& options) {
  return take(load_model(make_host(), {take(source_from_path(path))}, options, nullptr));
}

// Of 40 tokens at once, then of 3 one by one.
inline std::vector<float> logits_of(const LoadedModel& model, Backend& backend) {
  SimpleRunner runner(backend, model.def.program, model.weights,
                      {.kv_type = "bf16", .raw_weights = model.raw_weights});
  std::vector<int32_t> prompt;
  for (int32_t i = 0; i < 40; ++i) prompt.push_back((i * 37 + 11) % 400);
  std::vector<float> all = runner.run(prompt);
  for (const int32_t token : {5, 99, 300}) {
    const std::vector<float> row = runner.run(std::span(&token, 1));
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}
inline std::vector<float> logits_of(const LoadedModel& model) {
  return logits_of(model, *model.backend);
}

// Names in a folder, sorted.
inline std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace llmrt::test
