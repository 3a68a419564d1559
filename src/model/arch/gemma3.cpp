// Gemma 3 (text): norms before and after each block, q/k norm, GELU, five sliding-window layers to one full layer with a rotary base
// each, embeddings scaled by sqrt(n_embd). GGUF stores the norm weights with their 1 already added.
#include <cmath>

#include "model/blocks.h"
#include "model/hparams.h"

namespace llmrt {
namespace {

// The last layer of every period sees all keys, the others a window.
bool is_full(uint32_t layer, uint32_t period) { return layer % period == period - 1; }

}  // namespace

Status build_gemma3(ModelBuilder& m) {
  Hparams& h = m.hparams();
  m.read_hparams();
  const KeyReader& keys = m.keys();
  h.window = keys.count_or("attention.sliding_window", 0, 0, kMaxContext);
  const uint32_t period = keys.count_or("attention.sliding_window_pattern", 6, 1, kMaxLayers);
  const double local_base = keys.number_or("rope.freq_base_swa", 10000, 1.001, 1e12);
  const auto attn_softcap = static_cast<float>(keys.number_or("attn_logit_softcapping", 0, 0, 1e6));
  const auto final_softcap =
      static_cast<float>(keys.number_or("final_logit_softcapping", 0, 0, 1e6));
  const RopeScaling scaling = read_rope_scaling(keys, h.n_ctx_train);
  if (!m.ok()) return m.status();

  std::vector<uint32_t> windows(h.n_layer);
  for (uint32_t i = 0; i < h.n_layer; ++i) windows[i] = is_full(i, period) ? 0 : h.window;
  m.deal_kv(windows);
  AttentionSpec full{.rope_table = m.rope_table(RopePairs::halves, h.rope_base, scaling),
                     .scale = default_attention_scale(h),
                     .softcap = attn_softcap,
                     .qk_norm = true};
  // No key says query_pre_attn_scalar; the 27B model (62 layers) is the one whose scalar is not d_k.
  if (h.n_layer == 62)
    full.scale = 1.0f / std::sqrt(static_cast<float>(h.n_embd) / static_cast<float>(h.n_head));
  AttentionSpec local = full;
  local.rope_table = m.rope_table(RopePairs::halves, local_base, RopeScaling());

  Builder& b = m.graph();
  ValueId x = b.scale(token_embedding(m), std::sqrt(static_cast<float>(h.n_embd)));
  for (uint32_t i = 0; i < h.n_layer; ++i) {
    m.begin_layer(i);
    const AttentionSpec& attention = is_full(i, period) ? full : local;
    ValueId y = attention_block(m, layer_norm(m, x, "attn_norm.weight"), attention);
    x = b.add(x, layer_norm(m, y, "post_attention_norm.weight"));
    y = gated_mlp(m, layer_norm(m, x, "ffn_norm.weight"), Activation::gelu_tanh);
    x = b.add(x, layer_norm(m, y, "post_ffw_norm.weight"));
  }
  return output_head(m, x, final_softcap);
}

}  // namespace llmrt
