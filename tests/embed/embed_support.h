// What the embedding tests share: the public header only, as an application would use it.
#pragma once

#include <llmrt.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace embed {

// The smallest model of the repository: random weights, 512 tokens, 2 layers.
inline std::string tiny_model() {
  return std::string(LLMRT_TESTS_DIR) + "/data/models/qwen2/qwen2.f16.gguf";
}

// A real model by name, "" if LLMRT_TEST_MODELS does not have it.
inline std::string real_model(const char* name) {
  const char* folder = std::getenv("LLMRT_TEST_MODELS");
  if (!folder) return "";
  const std::string path = std::string(folder) + "/" + name + ".gguf";
  return std::ifstream(path) ? path : "";
}

inline double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline int64_t rss_bytes() {
  long long total = 0, resident = 0;
  std::ifstream in("/proc/self/statm");
  in >> total >> resident;
  return resident * 4096;
}

inline double percentile(std::vector<double> v, double p) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return v[std::min(v.size() - 1, static_cast<size_t>(p * static_cast<double>(v.size())))];
}

inline std::vector<int32_t> some_tokens(size_t n, int32_t n_vocab, uint32_t seed = 1) {
  std::vector<int32_t> ids(n);
  uint32_t x = seed * 2654435761u + 1;
  for (auto& id : ids) {
    x = x * 1664525u + 1013904223u;
    id = static_cast<int32_t>(20 + (x >> 8) % static_cast<uint32_t>(std::min(n_vocab - 40, 20000)));
  }
  return ids;
}

inline llmrt_gen_options greedy(int32_t max_tokens) {
  llmrt_gen_options o;
  llmrt_gen_options_init(&o, sizeof o);
  o.temperature = 0;
  o.max_tokens = max_tokens;
  o.ignore_eos = 1;
  return o;
}

inline int32_t vocabulary_of(llmrt_model* model) {
  llmrt_model_info info;
  info.struct_size = sizeof info;
  return llmrt_model_get_info(model, &info) == LLMRT_OK ? info.n_vocab : 0;
}

}  // namespace embed
