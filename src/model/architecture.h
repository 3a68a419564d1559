// What a model architecture must say, and how a file becomes a Program.
//
// A new architecture is one file model/arch/<name>.cpp that reads its metadata keys, names its tensors and emits its forward pass
// with Builder, plus one line in model/arch/registry.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "formats/weight_source.h"
#include "graph/program.h"

namespace llmrt {

// Numbers every decoder has, checked against each other and against limits (no allocation is driven by an unchecked number).
struct Hparams {
  std::string arch;
  uint32_t n_vocab = 0, n_ctx_train = 0, n_embd = 0, n_layer = 0, n_ff = 0;
  uint32_t n_head = 0, n_kv_head = 0, d_k = 0, d_v = 0;
  uint32_t d_rot = 0;
  float norm_eps = 1e-5f;
  double rope_base = 10000.0;
  uint32_t window = 0;  // 0: none
  // 0: dense; n_ff_expert: of one expert
  uint32_t n_expert = 0, n_expert_used = 0, n_ff_expert = 0;
};

// A model file understood: what to load (program.weights) and what to run. Plain data, no weights.
struct ModelDef {
  Hparams hparams;
  Program program;
  std::string name;   // general.name
  std::string quant;  // "Q4_K_M", or the commonest tensor type
  int64_t n_params = 0;
};

// model/model_builder.h: metadata access, tensor table and Builder, handed to an architecture
class ModelBuilder;

struct Architecture {
  const char* name;  // general.architecture
  // reads keys into m.hparams(), emits the forward pass into m.program()
  Status (*build)(ModelBuilder& m);
};

std::span<const Architecture> all_architectures();  // model/arch/registry.cpp

// Error: unsupported architecture (lists the known ones), missing or misshapen tensor, bad key.
Result<ModelDef> define_model(const WeightSource& source);

}  // namespace llmrt
