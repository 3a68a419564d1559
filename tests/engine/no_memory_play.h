// Schedules of several requests on the toy model with a tokenizer, played while allocations fail: no_memory_main.cpp says how.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../support/toy_backend.h"
#include "engine/engine.h"

namespace llmrt::test {

struct PlannedRequest {
  std::vector<Token> prompt;
  GenParams params;
  int at_step = 0;
};

struct Schedule {
  const char* name = "";
  EngineOptions options;
  std::vector<PlannedRequest> requests;
  bool is_read = true;        // events are read after each step, not at the end only
  bool first_sample = false;  // all is cancelled when sample 0 of the first request is done
};

inline GenParams params_for(int32_t n_tokens, int64_t seed) {
  GenParams params;
  params.max_tokens = n_tokens;
  params.seed = seed;
  params.ignore_eos = true;
  return params;
}

inline std::vector<Token> prompt_of(size_t n, int32_t salt) {
  std::vector<Token> prompt(n);
  for (size_t i = 0; i < n; ++i) prompt[i] = static_cast<Token>((i * 7 + 13u * salt) % 250);
  return prompt;
}

class NoMemoryBench {
 public:
  NoMemoryBench();
  // Every k-th allocation of steps, in every mode. False: something was wrong, and said.
  bool survives(const Schedule& plan);
  std::unique_ptr<Engine> engine(const EngineOptions& options) const;
  // Of all engines of survives().
  const EngineCounters& events() const { return events_; }
  bool has_said(const std::string& words) const;  // in the sentence of an end

 private:
  ToyModel model_;
  EngineCounters events_;
  std::set<std::string> sentences_;
};

}  // namespace llmrt::test
