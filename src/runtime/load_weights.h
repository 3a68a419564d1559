// How a model's weights come to its backend, the first of these that can be:
//
//   cached   mapped from a file of packed weights (packed_cache.h), where the options name a folder for it
//   raw      matrices stay rows of the model's own mapped file and are packed at each use: load_mode raw, or automatic and packed ones
//            do not fit into what the machine has left
//   packed   read, or mapped and read once, and packed; then written to the file of packed weights, where there is to be one
#pragma once

#include <cstdint>

#include "base/host.h"
#include "base/status.h"
#include "graph/backend.h"
#include "runtime/loaded_model.h"

namespace llmrt {

// JobProgress::stage while the model is there and its packed weights are written for the next load; the last stage.
inline constexpr const char* kKeepingStage = "cache";

// A raw model's matrix; its vectors are loaded as ever.
inline bool stays_in_file(const WeightDesc& desc) { return desc.n > 1 || desc.n_expert > 1; }

// Bytes of memory that add_weight() will take for a program: what the plan tells. raw: of what does not stay in the file.
int64_t kept_weight_bytes(const Backend& backend, const Program& program, bool raw);

// Fills weights, weight_bytes, mapped_bytes, packed_file and raw_weights of a model that has a source and a backend.
Status load_weights(const ModelOptions& options, JobProgress* progress, LoadedModel& model);

}  // namespace llmrt
