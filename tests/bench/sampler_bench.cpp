// Time of one draw from the logits of a whole vocabulary, on one thread.
//   sampler_bench --benchmark_filter=262144/off
//
//   VOCABULARY/CHAIN/ROW/maxima    the backend told the maxima of blocks of 16 logits, as the CPU backend does
//   VOCABULARY/CHAIN/ROW/scan      it did not, and the row is read once
//
// CHAIN: greedy, default, or top_k 0 with min_p alone, top_p alone, all cuts off. ROW: logits are normal with a deviation of 3 (flat);
// five of 14 to 20 are those of a model that is sure of what comes next (sure). Each draw has a position of its own. Time is the thread's CPU time, which a neighbour distorts least.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "graph/logit_blocks.h"
#include "sampling/chain.h"

using namespace llmrt;

namespace {

struct Row {
  std::vector<float> logits, maxima;
  Row(size_t n_vocab, bool sure) : logits(n_vocab) {
    std::mt19937 rng(1);
    std::normal_distribution<float> normal(0, 3);
    for (float& l : logits) l = normal(rng);
    for (int i = 0; sure && i < 5; ++i)
      logits[rng() % n_vocab] = 20.0f - 1.5f * static_cast<float>(i);
    for (size_t at = 0; at < n_vocab; at += kLogitBlock)
      maxima.push_back(
          max_or_infinity(logits.data() + at, std::min<size_t>(kLogitBlock, n_vocab - at)));
  }
};

SamplingParams chain_of(const std::string& name) {
  SamplingParams p;
  if (name == "default") return p;
  if (name == "greedy") {
    p.temperature = 0;
    return p;
  }
  p.top_k = 0;
  p.top_p = name == "top_p" ? 0.95f : 1.0f;
  p.min_p = name == "min_p" ? 0.05f : 0.0f;
  return p;
}

void sample(benchmark::State& state, const Row& row, const SamplingParams& params, bool told) {
  auto chain = Chain::make(params, static_cast<uint32_t>(row.logits.size()), {});
  if (!chain.ok()) {
    state.SkipWithError(std::string(chain.status().message()).c_str());
    return;
  }
  const std::span<const float> maxima =
      told ? std::span<const float>(row.maxima) : std::span<const float>();
  uint32_t position = 0;
  for (auto _ : state) {
    auto pick = (*chain)->sample(row.logits, {{}, 1, position++}, row.logits, maxima);
    benchmark::DoNotOptimize(pick);
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (const size_t n_vocab : {size_t{32'000}, size_t{151'936}, size_t{262'144}})
    for (const bool sure : {false, true}) {
      const auto row = std::make_shared<const Row>(n_vocab, sure);
      for (const char* chain : {"greedy", "default", "min_p", "top_p", "off"})
        for (const bool told : {true, false}) {
          const std::string name = std::to_string(n_vocab) + "/" + chain +
                                   (sure ? "/sure" : "/flat") + (told ? "/maxima" : "/scan");
          const auto body = [row, params = chain_of(chain), told](benchmark::State& state) {
            sample(state, *row, params, told);
          };
          benchmark::RegisterBenchmark(name.c_str(), body)
              ->MinTime(0.2)
              ->Unit(benchmark::kMicrosecond);
        }
    }
  benchmark::RunSpecifiedBenchmarks();
}
