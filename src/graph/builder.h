// Builder: typed helpers that append ops to a Program, so that a forward pass reads like its paper.
//
//   x = b.embed(token_embd);  h = b.norm(x, w, eps);  q = b.linear(h, wq, bq);  ...  b.set_logits(b.linear(h, head));
//
// Widths of outputs follow from inputs and weights. kNone in (a tensor that was not found, model/tensor_table.h) gives kNone
// out and appends nothing, so a failed look-up travels to the end of the pass and is reported once. check_shapes() judges the
// finished program.
#pragma once

#include "graph/program.h"

namespace llmrt {

class Builder {
 public:
  explicit Builder(Program& program) : p_(program) {}

  void set_layer(uint32_t layer) { layer_ = layer; }  // ops that follow belong to it; kNone: none

  ValueId embed(WeightIndex table);  // -> [tokens, K]
  ValueId norm(ValueId x, WeightIndex w, float eps, uint32_t group_width = 0);
  ValueId linear(ValueId x, WeightIndex w, WeightIndex bias = kNone);  // -> [rows of x, N]
  ValueId rope(ValueId x, uint32_t n_head, uint32_t d_k, uint32_t table);
  void kv_append(ValueId k, ValueId v, uint32_t kv_layer);
  ValueId paged_attention(ValueId q, uint32_t n_head, uint32_t kv_layer, float scale,
                          float softcap = 0);
  ValueId glu(ValueId gate, ValueId up, Activation act);
  ValueId add(ValueId a, ValueId b);
  ValueId scale(ValueId x, float factor);
  ValueId softcap(ValueId x, float cap);
  ValueId gather_rows(ValueId x);  // tokens -> wanted
  // scores: one for each expert
  ValueId route(ValueId scores, uint32_t n_used, bool renormalise);
  ValueId expert_linear(ValueId x, ValueId route, WeightIndex w);  // -> [rows of x, n_used * N]
  ValueId expert_sum(ValueId y, ValueId route);                    // -> [rows of y, N]
  void set_logits(ValueId x);

  uint32_t rope_table(RopeTable table);  // equal tables are stored once

 private:
  ValueId push(Op op, RowSpace rows, uint32_t width);
  ValueId unary(OpKind kind, ValueId x, const OpParams& params);
  Program& p_;
  uint32_t layer_ = kNone;
};

}  // namespace llmrt
