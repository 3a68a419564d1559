#include "graph/builder.h"

#include <algorithm>

namespace llmrt {

ValueId Builder::push(Op op, RowSpace rows, uint32_t width) {
  op.out = static_cast<ValueId>(p_.values.size());
  op.layer = layer_;
  p_.values.push_back({rows, width});
  p_.ops.push_back(op);
  return op.out;
}

ValueId Builder::unary(OpKind kind, ValueId x, const OpParams& params) {
  if (x == kNone) return kNone;
  const Value in = p_.values[x];
  return push({.kind = kind, .in = {x, kNone}, .params = params}, in.rows, in.width);
}

ValueId Builder::embed(WeightIndex table) {
  if (table == kNone) return kNone;
  return push({.kind = OpKind::embed, .weight = table}, RowSpace::tokens, p_.weights[table].k);
}

ValueId Builder::norm(ValueId x, WeightIndex w, float eps, uint32_t group_width) {
  if (x == kNone || w == kNone) return kNone;
  const Value in = p_.values[x];
  OpParams params{.eps = eps, .group_width = group_width};
  return push({.kind = OpKind::norm, .in = {x, kNone}, .weight = w, .params = params}, in.rows,
              in.width);
}

ValueId Builder::linear(ValueId x, WeightIndex w, WeightIndex bias) {
  if (x == kNone || w == kNone) return kNone;
  return push({.kind = OpKind::linear, .in = {x, kNone}, .weight = w, .bias = bias},
              p_.values[x].rows, p_.weights[w].n);
}

ValueId Builder::rope(ValueId x, uint32_t n_head, uint32_t d_k, uint32_t table) {
  OpParams params;
  params.n_head = n_head;
  params.d_k = d_k;
  params.rope_table = table;
  return unary(OpKind::rope, x, params);
}

void Builder::kv_append(ValueId k, ValueId v, uint32_t kv_layer) {
  if (k == kNone || v == kNone) return;
  const KvGroup& group = p_.kv_groups[p_.kv_layers[kv_layer].group];
  Op op{.kind = OpKind::kv_append, .in = {k, v}, .layer = layer_};
  op.params.kv_layer = kv_layer;
  op.params.n_kv_head = group.n_kv_head;
  op.params.d_k = group.d_k;
  op.params.d_v = group.d_v;
  p_.ops.push_back(op);
}

ValueId Builder::paged_attention(ValueId q, uint32_t n_head, uint32_t kv_layer, float scale,
                                 float softcap) {
  if (q == kNone) return kNone;
  const KvGroup& group = p_.kv_groups[p_.kv_layers[kv_layer].group];
  OpParams params;
  params.n_head = n_head;
  params.n_kv_head = group.n_kv_head;
  params.d_k = group.d_k;
  params.d_v = group.d_v;
  params.kv_layer = kv_layer;
  params.window = group.window;
  params.attn_scale = scale;
  params.attn_softcap = softcap;
  return push({.kind = OpKind::paged_attention, .in = {q, kNone}, .params = params},
              p_.values[q].rows, n_head * group.d_v);
}

ValueId Builder::glu(ValueId gate, ValueId up, Activation act) {
  if (gate == kNone || up == kNone) return kNone;
  const Value in = p_.values[gate];
  OpParams params;
  params.act = act;
  return push({.kind = OpKind::glu, .in = {gate, up}, .params = params}, in.rows, in.width);
}

ValueId Builder::add(ValueId a, ValueId b) {
  if (a == kNone || b == kNone) return kNone;
  const Value in = p_.values[a];
  return push({.kind = OpKind::add, .in = {a, b}}, in.rows, in.width);
}

ValueId Builder::scale(ValueId x, float factor) {
  OpParams params;
  params.scalar = factor;
  return unary(OpKind::scale, x, params);
}

ValueId Builder::softcap(ValueId x, float cap) {
  OpParams params;
  params.scalar = cap;
  return unary(OpKind::softcap, x, params);
}

ValueId Builder::gather_rows(ValueId x) {
  if (x == kNone) return kNone;
  const uint32_t width = p_.values[x].width;
  return push({.kind = OpKind::gather_rows, .in = {x, kNone}}, RowSpace::wanted, width);
}

ValueId Builder::route(ValueId scores, uint32_t n_used, bool renormalise) {
  if (scores == kNone) return kNone;
  OpParams params;
  params.n_expert = p_.values[scores].width;
  params.n_used = n_used;
  params.renormalise = renormalise;
  return push({.kind = OpKind::route, .in = {scores, kNone}, .params = params},
              p_.values[scores].rows, 2 * n_used);
}

ValueId Builder::expert_linear(ValueId x, ValueId route, WeightIndex w) {
  if (x == kNone || route == kNone || w == kNone) return kNone;
  OpParams params;
  params.n_expert = p_.weights[w].n_expert;
  params.n_used = p_.values[route].width / 2;
  return push({.kind = OpKind::expert_linear, .in = {x, route}, .weight = w, .params = params},
              p_.values[x].rows, params.n_used * p_.weights[w].n);
}

ValueId Builder::expert_sum(ValueId y, ValueId route) {
  if (y == kNone || route == kNone) return kNone;
  OpParams params;
  params.n_used = p_.values[route].width / 2;
  return push({.kind = OpKind::expert_sum, .in = {y, route}, .params = params}, p_.values[y].rows,
              p_.values[y].width / params.n_used);
}

void Builder::set_logits(ValueId x) { p_.logits = x; }

uint32_t Builder::rope_table(RopeTable table) {
  const auto found = std::find(p_.rope_tables.begin(), p_.rope_tables.end(), table);
  if (found != p_.rope_tables.end()) return static_cast<uint32_t>(found - p_.rope_tables.begin());
  p_.rope_tables.push_back(std::move(table));
  return static_cast<uint32_t>(p_.rope_tables.size() - 1);
}

}  // namespace llmrt
