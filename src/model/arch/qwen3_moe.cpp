// Qwen3 with experts: Qwen3's attention (qwen3.cpp), and in every layer experts in place of the MLP.
#include "model/blocks.h"

namespace llmrt {

Status build_qwen3_moe(ModelBuilder& m) {
  Hparams& h = m.hparams();
  m.read_hparams(Experts::all);
  const RopeScaling scaling = read_rope_scaling(m.keys(), h.n_ctx_train);
  // Files of this architecture seldom say it; its models do renormalise.
  const bool renormalise = m.keys().flag_or("expert_weights_norm", true);
  if (!m.ok()) return m.status();

  m.deal_kv(std::vector<uint32_t>(h.n_layer, 0));
  const AttentionSpec attention{.rope_table = m.rope_table(RopePairs::halves, h.rope_base, scaling),
                                .scale = default_attention_scale(h),
                                .qk_norm = true};

  Builder& b = m.graph();
  ValueId x = token_embedding(m);
  for (uint32_t i = 0; i < h.n_layer; ++i) {
    m.begin_layer(i);
    x = b.add(x, attention_block(m, layer_norm(m, x, "attn_norm.weight"), attention));
    const ValueId y = layer_norm(m, x, "ffn_norm.weight");
    x = b.add(x, expert_mlp(m, y, Activation::silu, renormalise));
  }
  return output_head(m, x);
}

}  // namespace llmrt
