// The numbers every decoder has, read from <arch>.* keys and checked against each other.
//
//   n_head % n_kv_head == 0,  d_rot even and <= d_k,  d_k = key_length or n_embd / n_head
//   n_expert_used <= n_expert,  n_expert_used * (n_embd or n_ff_expert) <= kMaxFf: the widths of what experts make
#pragma once

#include "model/architecture.h"
#include "model/key_reader.h"

namespace llmrt {

// Generous for every published model, small enough that no product of them overflows 64 bits and no loop runs away.
inline constexpr uint32_t kMaxLayers = 1024;
inline constexpr uint32_t kMaxEmbd = 1u << 17;
inline constexpr uint32_t kMaxFf = 1u << 20;
inline constexpr uint32_t kMaxHeads = 1024;
inline constexpr uint32_t kMaxExperts = 1024;
inline constexpr uint32_t kMaxVocab = 1u << 22;
inline constexpr uint32_t kMaxContext = 1u << 30;

// Whether an architecture's MLP is split into experts: never, where expert_count is not 0, always.
enum class Experts : uint8_t { none, some, all };

// All but n_vocab and window. Errors go to keys.first_error().
void read_hparams(const KeyReader& keys, Experts experts, Hparams& h);

}  // namespace llmrt
