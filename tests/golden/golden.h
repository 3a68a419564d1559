// Golden models: expected logits and greedy tokens by transformers in float32 (tests/data/models, tests/data/gguf_quant).
#pragma once

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "support/simple_runner.h"
#include "support/test_data.h"
#include "support/worse.h"

namespace llmrt::test {

struct GoldenPrompt {
  std::vector<int32_t> ids, greedy;
  std::vector<float> logits;  // [ids, n_vocab]
  // Positions where a choice of experts hangs on less than rounding K and V to bf16 moves a score: left out where they are rounded.
  std::vector<size_t> near_ties = {};
};

struct GoldenModel {
  std::string name, path, overrides;
  std::vector<GoldenPrompt> prompts;
};

inline nlohmann::json read_json(const std::string& path) {
  auto json = nlohmann::json::parse(read_text(path), nullptr, false);
  REQUIRE_MESSAGE(!json.is_discarded(), path);
  return json;
}

// The models of the architectures there are. The GGUF of mistral does not carry its window.
inline std::vector<GoldenModel> golden_models() {
  std::vector<GoldenModel> models;
  for (const char* name : {"llama_rope31", "llama_mha", "llama_mqa", "mistral", "qwen2",
                           "qwen2_yarn", "qwen3", "gemma3", "mixtral", "qwen3_moe"}) {
    const std::string folder = repo_data(std::string("models/") + name + "/");
    GoldenModel model{name, folder + name + ".f16.gguf", "", {}};
    if (model.name == "mistral") model.overrides = R"({"llama.attention.sliding_window": 24})";
    const auto json = read_json(folder + "expected.json");
    for (const auto& p : json["prompts"])
      model.prompts.push_back({p["ids"].get<std::vector<int32_t>>(),
                               p["greedy"].get<std::vector<int32_t>>(),
                               read_array<float>(folder + p["logits"]["file"].get<std::string>())});
    // The scores of the second and third expert are 0.007 apart; of all other choices the nearest are 0.035 apart.
    if (model.name == "mixtral") model.prompts[1].near_ties = {30};
    models.push_back(std::move(model));
  }
  return models;
}

// llama_gqa in quantized types.
inline std::vector<GoldenModel> golden_quantized() {
  std::vector<GoldenModel> models;
  const std::string folder = repo_data("gguf_quant/");
  const auto json = read_json(folder + "expected.json");
  for (const auto& file : json["files"]) {
    const auto name = file["ftype"].get<std::string>();
    GoldenModel model{name, folder + file["file"].get<std::string>(), "", {}};
    for (size_t i = 0; i < json["prompts"].size(); ++i)
      model.prompts.push_back(
          {json["prompts"][i].get<std::vector<int32_t>>(),
           file["greedy"][i].get<std::vector<int32_t>>(),
           read_array<float>(folder + file["logits"][i]["file"].get<std::string>())});
    models.push_back(std::move(model));
  }
  return models;
}

inline double max_abs_diff(std::span<const float> a, std::span<const float> b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    worst = worse(worst, d);
  }
  return worst;
}

// RMS of the difference over the standard deviation of the expected values.
inline double relative_rms(std::span<const float> got, std::span<const float> want) {
  REQUIRE(got.size() == want.size());
  double mean = 0, variance = 0, square = 0;
  for (float w : want) mean += w;
  mean /= static_cast<double>(want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    variance += (want[i] - mean) * (want[i] - mean);
    square += (double{got[i]} - double{want[i]}) * (double{got[i]} - double{want[i]});
  }
  return std::sqrt(square / variance);
}

// Of logits that were computed with K and V as bf16.
inline double bf16_kv_rms(std::vector<float> got, const GoldenPrompt& prompt) {
  REQUIRE(got.size() == prompt.logits.size());
  const size_t n_vocab = got.size() / prompt.ids.size();
  for (size_t row : prompt.near_ties)
    std::copy_n(prompt.logits.begin() + static_cast<std::ptrdiff_t>(row * n_vocab), n_vocab,
                got.begin() + static_cast<std::ptrdiff_t>(row * n_vocab));
  return relative_rms(got, prompt.logits);
}

}  // namespace llmrt::test
