// Rotary tables: inverse frequencies with a file's scaling applied, in double precision.
//
//   plain   f_j = base^(-2j / d_rot)
//   linear  f_j / factor                                            (positions divided by factor)
//   llama3  f_j / rope_freqs[j]                                     (the converter computed the tensor; combines with the others)
//   yarn    f_j (1 - m_j) / factor + f_j m_j,  m_j = ext_factor (1 - ramp_j);  cos and sin times attn_factor (1 + 0.1 ln factor), or
//           times attn_factor alone where ext_factor = 0 (every pair is divided: linear scaling) or factor <= 1
//           ramp_j = clamp((j - low) / (high - low), 0, 1); low and high are the pairs that turn beta_fast and beta_slow times
//           within the original context, rounded down and up                (arXiv 2309.00071)
#pragma once

#include <span>

#include "graph/program.h"
#include "model/key_reader.h"

namespace llmrt {

struct RopeScaling {
  enum class Kind : uint8_t { none, linear, yarn };
  Kind kind = Kind::none;
  double factor = 1;
  double n_ctx_orig = 0;  // yarn, as the ones below
  double beta_fast = 32, beta_slow = 1, ext_factor = 1, attn_factor = 1;
};

// Reads <arch>.rope.scaling.*; the old key rope.scale_linear means linear scaling too. Longrope and unknown words: unsupported.
RopeScaling read_rope_scaling(const KeyReader& keys, uint32_t n_ctx_train);

// divisors: rope_freqs, [d_rot / 2] or empty.
RopeTable make_rope_table(RopePairs pairs, uint32_t d_rot, double base, const RopeScaling& scaling,
                          std::span<const float> divisors);

}  // namespace llmrt
