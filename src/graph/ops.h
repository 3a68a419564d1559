// The op vocabulary: what a model is made of. Each op has an equation here, a shape rule (shape_check.cpp) and a naive
// reference (reference.cpp: the meaning of the language). Rare on purpose: fusing is a backend's business, not an op's.
//
// Every value is a matrix [rows, width] of float32. rows is symbolic: `tokens` (all rows of the batch) or `wanted` (out_rows).
// T = tokens, H = query heads, G = KV heads, d = head width. W is stored as in the file: N rows of K.
//
//   embed           out[t, :] = W[id_t, :]
//   norm            out[t, g*w + i] = in[t, g*w + i] / sqrt(mean_i in[t, g*w + i]^2 + eps) * weight[i]     w = params.group width (0: whole row)
//   linear          out[t, n] = sum_k W[n, k] * in[t, k]  (+ bias[n])
//   rope            pairs of each head rotated by angle pos_t * inv_freq[j], times mscale; lanes beyond d_rot unchanged
//   kv_append       stores in0 = K[t, G*d_k] and in1 = V[t, G*d_v] of row t at write_slot of the layer's group (no value out)
//   paged_attention out[t, h*d_v + j] = sum_p softmax_p(softcap(scale * q[t, h] . K[p, h/(H/G)])) * V[p, h/(H/G), j]
//                   over stored p <= pos_t, and p > pos_t - window when window > 0; reads only what was stored
//   glu             out = act(in0) * in1
//   add             out = in0 + in1
//   scale           out = in0 * params.scalar
//   softcap         out = c * tanh(in0 / c), c = params.scalar
//   gather_rows     out[i, :] = in[out_rows[i], :]                       tokens -> wanted
//   route           e_0, e_1, ...: the n_used greatest of in[t, :], greatest first, the lowest index first of equal ones, NaN above all
//                   out[t, r] = e_r,  out[t, n_used + r] = w_r = exp(in[t, e_r] - in[t, e_0]) / sum_i exp(in[t, i] - in[t, e_0])
//                   i: the chosen in the order of r (renormalise), or all ascending; the sum is from +0
//   expert_linear   out[t, r*N + n] = sum_k W[e_r][n, k] * in0[t, k]     in1 = route; W: n_expert matrices; class as linear's
//                   in0 n_used*K wide: in0[t, r*K + k] in its place
//   expert_sum      out[t, n] = sum_r w_r * in0[t, r*N + n]              in1 = route; from +0, one fma for each r, ascending
#pragma once

#include <cstdint>

namespace llmrt {

enum class OpKind : uint8_t {
  embed,
  norm,
  linear,
  rope,
  kv_append,
  paged_attention,
  glu,
  add,
  scale,
  softcap,
  gather_rows,
  route,
  expert_linear,
  expert_sum
};
enum class Activation : uint8_t { silu, gelu_tanh };
enum class RopePairs : uint8_t {
  interleaved /* (2j, 2j+1): GGUF "norm" */,
  halves /* (j, j + d_rot/2): "neox" */
};
enum class RowSpace : uint8_t { tokens, wanted };

const char* name_of(OpKind kind);

// The parameters of all ops in one POD; each op reads only its own.
struct OpParams {
  float eps = 0;                      // norm
  uint32_t group_width = 0;           // norm: 0 = whole row
  uint32_t n_head = 0;                // rope, paged_attention
  uint32_t n_kv_head = 0;             // kv_append, paged_attention
  uint32_t d_k = 0, d_v = 0;          // head widths (rope: d_k)
  uint32_t rope_table = 0;            // index into Program::rope_tables
  uint32_t kv_layer = 0;              // index into Program::kv_layers
  uint32_t window = 0;                // paged_attention: 0 = all
  float attn_scale = 0;               // paged_attention
  float attn_softcap = 0;             // paged_attention: 0 = none
  float scalar = 0;                   // scale, softcap
  Activation act = Activation::silu;  // glu
  uint32_t n_expert = 0, n_used = 0;  // route, expert_linear, expert_sum
  bool renormalise = true;            // route
  bool operator==(const OpParams&) const = default;
};

}  // namespace llmrt
