#include "model/blocks.h"

#include <cmath>

namespace llmrt {

ValueId layer_norm(ModelBuilder& m, ValueId x, const char* name) {
  const Hparams& h = m.hparams();
  return m.graph().norm(x, m.vector(name, h.n_embd), h.norm_eps);
}

ValueId attention_block(ModelBuilder& m, ValueId x, const AttentionSpec& spec) {
  Builder& b = m.graph();
  const Hparams& h = m.hparams();
  const uint32_t q_width = h.n_head * h.d_k, k_width = h.n_kv_head * h.d_k,
                 v_width = h.n_kv_head * h.d_v, o_width = h.n_head * h.d_v;

  ValueId q = b.linear(x, m.matrix("attn_q.weight", q_width, h.n_embd),
                       m.vector_if("attn_q.bias", q_width));
  ValueId k = b.linear(x, m.matrix("attn_k.weight", k_width, h.n_embd),
                       m.vector_if("attn_k.bias", k_width));
  const ValueId v = b.linear(x, m.matrix("attn_v.weight", v_width, h.n_embd),
                             m.vector_if("attn_v.bias", v_width));
  if (spec.qk_norm) {
    q = b.norm(q, m.vector("attn_q_norm.weight", h.d_k), h.norm_eps, h.d_k);
    k = b.norm(k, m.vector("attn_k_norm.weight", h.d_k), h.norm_eps, h.d_k);
  }
  q = b.rope(q, h.n_head, h.d_k, spec.rope_table);
  k = b.rope(k, h.n_kv_head, h.d_k, spec.rope_table);
  b.kv_append(k, v, m.layer());
  const ValueId attended = b.paged_attention(q, h.n_head, m.layer(), spec.scale, spec.softcap);
  return b.linear(attended, m.matrix("attn_output.weight", h.n_embd, o_width),
                  m.vector_if("attn_output.bias", h.n_embd));
}

ValueId gated_mlp(ModelBuilder& m, ValueId x, Activation act) {
  Builder& b = m.graph();
  const Hparams& h = m.hparams();
  const ValueId gate = b.linear(x, m.matrix("ffn_gate.weight", h.n_ff, h.n_embd),
                                m.vector_if("ffn_gate.bias", h.n_ff));
  const ValueId up =
      b.linear(x, m.matrix("ffn_up.weight", h.n_ff, h.n_embd), m.vector_if("ffn_up.bias", h.n_ff));
  return b.linear(b.glu(gate, up, act), m.matrix("ffn_down.weight", h.n_embd, h.n_ff),
                  m.vector_if("ffn_down.bias", h.n_embd));
}

ValueId expert_mlp(ModelBuilder& m, ValueId x, Activation act, bool renormalise) {
  Builder& b = m.graph();
  const Hparams& h = m.hparams();
  const ValueId route = b.route(b.linear(x, m.matrix("ffn_gate_inp.weight", h.n_expert, h.n_embd)),
                                h.n_expert_used, renormalise);
  const ValueId gate =
      b.expert_linear(x, route, m.experts("ffn_gate_exps.weight", h.n_ff_expert, h.n_embd));
  const ValueId up =
      b.expert_linear(x, route, m.experts("ffn_up_exps.weight", h.n_ff_expert, h.n_embd));
  const ValueId down = b.expert_linear(b.glu(gate, up, act), route,
                                       m.experts("ffn_down_exps.weight", h.n_embd, h.n_ff_expert));
  return b.expert_sum(down, route);
}

ValueId token_embedding(ModelBuilder& m) {
  const Hparams& h = m.hparams();
  return m.graph().embed(m.tensors().matrix("token_embd.weight", h.n_vocab, h.n_embd));
}

Status output_head(ModelBuilder& m, ValueId x, float softcap) {
  Builder& b = m.graph();
  const Hparams& h = m.hparams();
  m.end_layers();
  x = b.norm(b.gather_rows(x), m.tensors().vector("output_norm.weight", h.n_embd), h.norm_eps);
  const char* head = m.tensors().has("output.weight") ? "output.weight" : "token_embd.weight";
  ValueId logits = b.linear(x, m.tensors().matrix(head, h.n_vocab, h.n_embd));
  if (softcap > 0) logits = b.softcap(logits, softcap);
  return m.finish(logits);
}

float default_attention_scale(const Hparams& h) {
  return 1.0f / std::sqrt(static_cast<float>(h.d_k));
}

}  // namespace llmrt
