// Blocks that decoders share, over Builder. Each names its tensors in the current layer and gives the value it makes.
#pragma once

#include "model/model_builder.h"

namespace llmrt {

struct AttentionSpec {
  uint32_t rope_table = 0;
  float scale = 0;       // of q.k, before softmax
  float softcap = 0;     // 0: none
  bool qk_norm = false;  // RMS norm of each head of q and k, before rope: attn_q_norm, attn_k_norm
};

// attn_q, attn_k, attn_v, attn_output, with biases where the file has them.
//   out = Wo attention(rope(norm(Wq x)), K, V) + bo,  K = rope(norm(Wk x)), V = Wv x
ValueId attention_block(ModelBuilder& m, ValueId x, const AttentionSpec& spec);

// ffn_gate, ffn_up, ffn_down:  out = Wd (act(Wg x) * Wu x)
ValueId gated_mlp(ModelBuilder& m, ValueId x, Activation act);

// Experts: ffn_gate_inp, ffn_gate_exps, ffn_up_exps, ffn_down_exps. renormalise: weights of the chosen add up to 1.
//   out = sum_r w_r Wd_e (act(Wg_e x) * Wu_e x),  e = e_r of route(Wr x)
ValueId expert_mlp(ModelBuilder& m, ValueId x, Activation act, bool renormalise);

// RMS norm over the whole row by a vector of the current layer.
ValueId layer_norm(ModelBuilder& m, ValueId x, const char* name);

// token_embd.
ValueId token_embedding(ModelBuilder& m);

// Wanted rows, output_norm, then output.weight or the token embedding; finishes the model.
Status output_head(ModelBuilder& m, ValueId x, float softcap = 0);

// 1 / sqrt(d_k)
float default_attention_scale(const Hparams& h);

}  // namespace llmrt
