// Llama: pre-norm, grouped-query attention, gated SiLU MLP. Mistral is this with a sliding window in every layer, Mixtral with experts
// in place of the MLP: files call both llama.
#include "model/blocks.h"
#include "model/hparams.h"

namespace llmrt {

Status build_llama(ModelBuilder& m) {
  Hparams& h = m.hparams();
  m.read_hparams(Experts::some);
  h.window = m.keys().count_or("attention.sliding_window", 0, 0, kMaxContext);
  const RopeScaling scaling = read_rope_scaling(m.keys(), h.n_ctx_train);
  if (!m.ok()) return m.status();

  m.deal_kv(std::vector<uint32_t>(h.n_layer, h.window));
  const AttentionSpec attention{
      .rope_table = m.rope_table(RopePairs::interleaved, h.rope_base, scaling),
      .scale = default_attention_scale(h)};

  Builder& b = m.graph();
  ValueId x = token_embedding(m);
  for (uint32_t i = 0; i < h.n_layer; ++i) {
    m.begin_layer(i);
    x = b.add(x, attention_block(m, layer_norm(m, x, "attn_norm.weight"), attention));
    const ValueId y = layer_norm(m, x, "ffn_norm.weight");
    x = b.add(x, h.n_expert ? expert_mlp(m, y, Activation::silu, true)
                            : gated_mlp(m, y, Activation::silu));
  }
  return output_head(m, x);
}

}  // namespace llmrt
