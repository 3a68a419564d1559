// A tiny llama as GGUF bytes whose keys and tensors a test may change before it is written.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "formats/weight_source.h"
#include "model/architecture.h"
#include "tests/support/gguf_writer.h"

namespace llmrt::test {

struct TinyTensor {
  std::vector<uint64_t> dims;  // row length first
  uint32_t type = 0;
  size_t bytes = 0;  // 0: F32 of the dims
};

// n_embd 32, 4 heads on 2 KV heads of 8, n_ff 48, 2 layers, 40 tokens; output tied.
struct TinyModel {
  std::string arch = "llama";
  std::map<std::string, uint32_t> counts;
  std::map<std::string, float> numbers;
  std::map<std::string, std::string> texts;
  std::map<std::string, TinyTensor> tensors;
  std::map<std::string, std::vector<float>> values;  // of F32 tensors; others are zero

  explicit TinyModel(std::string arch_name = "llama") : arch(std::move(arch_name)) {
    counts = {{arch + ".block_count", 2},          {arch + ".context_length", 64},
              {arch + ".embedding_length", 32},    {arch + ".feed_forward_length", 48},
              {arch + ".attention.head_count", 4}, {arch + ".attention.head_count_kv", 2}};
    numbers = {{arch + ".attention.layer_norm_rms_epsilon", 1e-5f}};
    tensors = {{"token_embd.weight", {{32, 40}}}, {"output_norm.weight", {{32}}}};
    for (const char* layer : {"blk.0.", "blk.1."}) {
      const std::string l = layer;
      tensors[l + "attn_norm.weight"] = tensors[l + "ffn_norm.weight"] = {{32}};
      tensors[l + "attn_q.weight"] = tensors[l + "attn_output.weight"] = {{32, 32}};
      tensors[l + "attn_k.weight"] = tensors[l + "attn_v.weight"] = {{32, 16}};
      tensors[l + "ffn_gate.weight"] = tensors[l + "ffn_up.weight"] = {{32, 48}};
      tensors[l + "ffn_down.weight"] = {{48, 32}};
    }
  }

  std::unique_ptr<WeightSource> source() const {
    GgufWriter w;
    w.add_string("general.architecture", arch);
    for (const auto& [key, value] : counts) w.add_u32(key, value);
    for (const auto& [key, value] : numbers) w.add_f32(key, value);
    for (const auto& [key, value] : texts) w.add_string(key, value);
    for (const auto& [name, t] : tensors) {
      size_t n = 1;
      for (uint64_t d : t.dims) n *= d;
      std::vector<uint8_t> data(t.bytes ? t.bytes : 4 * n);
      if (const auto found = values.find(name); found != values.end())
        std::copy_n(reinterpret_cast<const uint8_t*>(found->second.data()), data.size(),
                    data.data());
      w.add_tensor(name, t.type, t.dims, data);
    }
    const std::vector<uint8_t> bytes = w.bytes();
    auto opened = open_weights(
        source_from_memory(bytes.data(), bytes.size(), nullptr, nullptr).value(), {}, "");
    if (!opened.ok()) FAIL(std::string(opened.status().message()));
    return std::move(opened).value();
  }

  Result<ModelDef> define() const { return define_model(*source()); }

  std::string failure() const {
    auto def = define();
    REQUIRE(!def.ok());
    REQUIRE(def.status().failed());
    return std::string(def.status().message());
  }
};

}  // namespace llmrt::test
