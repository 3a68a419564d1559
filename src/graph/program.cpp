#include "graph/program.h"

#include <cstdarg>
#include <cstdio>

namespace llmrt {
namespace {

void append(std::string& out, const char* format, ...) __attribute__((format(printf, 2, 3)));
void append(std::string& out, const char* format, ...) {
  char buffer[256];
  va_list args;
  va_start(args, format);
  const int n = std::vsnprintf(buffer, sizeof buffer, format, args);
  va_end(args);
  if (n > 0) out.append(buffer, std::min(static_cast<size_t>(n), sizeof buffer - 1));
}

void append_value(std::string& out, const Program& p, ValueId id) {
  const Value& v = p.values[id];
  append(out, "%%%u:%s[%u]", id, v.rows == RowSpace::tokens ? "t" : "w", v.width);
}

void append_weight(std::string& out, const Program& p, WeightIndex index) {
  const WeightDesc& w = p.weights[index];
  out += ' ';
  out += w.name;  // appended whole: names come from files and may be long
  out += " [";
  if (w.n_expert > 1) append(out, "%u,", w.n_expert);
  append(out, "%u,%u] %s", w.n, w.k, format_of(w.type).name);
}

void append_params(std::string& out, const Op& op) {
  const OpParams& p = op.params;
  switch (op.kind) {
    case OpKind::norm:
      append(out, " eps=%g", static_cast<double>(p.eps));
      if (p.group_width) append(out, " group=%u", p.group_width);
      break;
    case OpKind::rope:
      append(out, " heads=%u d=%u table=%u", p.n_head, p.d_k, p.rope_table);
      break;
    case OpKind::kv_append:
      append(out, " kv=%u heads=%u d_k=%u d_v=%u", p.kv_layer, p.n_kv_head, p.d_k, p.d_v);
      break;
    case OpKind::paged_attention:
      append(out, " kv=%u heads=%u/%u d_k=%u d_v=%u scale=%.9g", p.kv_layer, p.n_head, p.n_kv_head,
             p.d_k, p.d_v, static_cast<double>(p.attn_scale));
      if (p.window) append(out, " window=%u", p.window);
      if (p.attn_softcap > 0) append(out, " softcap=%g", static_cast<double>(p.attn_softcap));
      break;
    case OpKind::glu:
      out += p.act == Activation::silu ? " silu" : " gelu_tanh";
      break;
    case OpKind::scale:
    case OpKind::softcap:
      append(out, " %.9g", static_cast<double>(p.scalar));
      break;
    case OpKind::route:
      append(out, " experts=%u/%u", p.n_used, p.n_expert);
      if (p.renormalise) out += " renormalise";
      break;
    case OpKind::embed:
    case OpKind::linear:
    case OpKind::add:
    case OpKind::gather_rows:
    case OpKind::expert_linear:
    case OpKind::expert_sum:
      break;
  }
}

}  // namespace

const char* name_of(OpKind kind) {
  switch (kind) {
    case OpKind::embed:
      return "embed";
    case OpKind::norm:
      return "norm";
    case OpKind::linear:
      return "linear";
    case OpKind::rope:
      return "rope";
    case OpKind::kv_append:
      return "kv_append";
    case OpKind::paged_attention:
      return "paged_attention";
    case OpKind::glu:
      return "glu";
    case OpKind::add:
      return "add";
    case OpKind::scale:
      return "scale";
    case OpKind::softcap:
      return "softcap";
    case OpKind::gather_rows:
      return "gather_rows";
    case OpKind::route:
      return "route";
    case OpKind::expert_linear:
      return "expert_linear";
    case OpKind::expert_sum:
      return "expert_sum";
  }
  return "?";
}

std::string Program::dump() const {
  std::string out;
  append(out, "program n_embd=%u n_vocab=%u weights=%zu values=%zu\n", n_embd, n_vocab,
         weights.size(), values.size());
  for (size_t g = 0; g < kv_groups.size(); ++g) {
    const KvGroup& group = kv_groups[g];
    append(out, "kv_group %zu %s layers=%u heads=%u d_k=%u d_v=%u", g,
           group.kind == AttnKind::full ? "full" : "window", group.n_layers, group.n_kv_head,
           group.d_k, group.d_v);
    if (group.window) append(out, " window=%u", group.window);
    out += '\n';
  }
  for (size_t i = 0; i < rope_tables.size(); ++i) {
    const RopeTable& table = rope_tables[i];
    append(out, "rope_table %zu %s d_rot=%zu mscale=%g\n", i,
           table.pairs == RopePairs::interleaved ? "interleaved" : "halves",
           2 * table.inv_freq.size(), static_cast<double>(table.mscale));
  }
  uint32_t layer = kNone;
  for (const Op& op : ops) {
    if (op.layer != layer && op.layer != kNone) append(out, "# layer %u\n", op.layer);
    layer = op.layer;
    if (op.out != kNone) {
      append_value(out, *this, op.out);
      out += " = ";
    }
    out += name_of(op.kind);
    for (ValueId in : op.in) {
      if (in != kNone) append(out, " %%%u", in);
    }
    if (op.weight != kNone) append_weight(out, *this, op.weight);
    if (op.bias != kNone) {
      out += " +";
      append_weight(out, *this, op.bias);
    }
    append_params(out, op);
    out += '\n';
  }
  if (logits != kNone) append(out, "logits %%%u\n", logits);
  return out;
}

}  // namespace llmrt
