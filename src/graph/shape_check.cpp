// One shape rule per op. Input before use, every index in range, each value made once.
#include <vector>

#include "graph/program.h"

namespace llmrt {
namespace {

class Checker {
 public:
  explicit Checker(const Program& program) : p_(program), made_(program.values.size(), nullptr) {}

  Status run() {
    LLMRT_TRY(check_tables());
    for (index_ = 0; index_ < p_.ops.size(); ++index_) LLMRT_TRY(check_op(p_.ops[index_]));
    if (p_.logits >= p_.values.size() || !made_[p_.logits])
      return error(Code::internal, "program: no op makes the logits value");
    const Value& logits = p_.values[p_.logits];
    if (logits.rows != RowSpace::wanted || logits.width != p_.n_vocab)
      return error(Code::internal, "program: logits are %u wide, the vocabulary has %u entries",
                   logits.width, p_.n_vocab);
    return Status();
  }

 private:
  Status check_tables() const {
    for (size_t i = 0; i < p_.kv_layers.size(); ++i) {
      const KvLayer& layer = p_.kv_layers[i];
      if (layer.group >= p_.kv_groups.size() ||
          layer.index_in_group >= p_.kv_groups[layer.group].n_layers)
        return error(Code::internal, "program: KV layer %zu is outside its group", i);
    }
    for (const WeightDesc& w : p_.weights) {
      const QuantFormat& format = format_of(w.type);
      if (w.n == 0 || w.k == 0 || w.k % format.block != 0)
        return error(Code::format, "%s: rows of %u elements, %s needs a multiple of %u",
                     w.name.c_str(), w.k, format.name, format.block)
            .at(w.name);
    }
    return Status();
  }

  Status fail(const Op& op, const char* what, uint32_t found, uint32_t wanted) const {
    const char* weight = op.weight < p_.weights.size() ? p_.weights[op.weight].name.c_str() : "";
    return error(Code::internal, "op %zu (%s%s%s): %s is %u, want %u", index_, name_of(op.kind),
                 *weight ? " " : "", weight, what, found, wanted);
  }

  Status equal(const Op& op, const char* what, uint32_t found, uint32_t wanted) const {
    return found == wanted ? Status() : fail(op, what, found, wanted);
  }

  Status below(const Op& op, const char* what, uint32_t index, size_t count) const {
    return index < count ? Status() : fail(op, what, index, static_cast<uint32_t>(count));
  }

  const Value& in(const Op& op, size_t i) const { return p_.values[op.in[i]]; }
  const Value& out(const Op& op) const { return p_.values[op.out]; }

  // Inputs exist and were made; the output was not, and has the row space `rows` of the first input.
  Status operands(const Op& op, size_t n_in, bool has_out) {
    for (size_t i = 0; i < 2; ++i) {
      if (i >= n_in) {
        LLMRT_TRY(equal(op, "unused input", op.in[i], kNone));
        continue;
      }
      if (op.in[i] >= p_.values.size() || !made_[op.in[i]])
        return fail(op, "input not made before use", op.in[i], 0);
    }
    if (!has_out) return equal(op, "output", op.out, kNone);
    if (op.out >= p_.values.size() || made_[op.out])
      return fail(op, "output missing or made twice", op.out, 0);
    if (out(op).width == 0) return fail(op, "output width", 0, 1);
    if (n_in > 0 && op.kind != OpKind::gather_rows && out(op).rows != in(op, 0).rows)
      return fail(op, "output row space", static_cast<uint32_t>(out(op).rows),
                  static_cast<uint32_t>(in(op, 0).rows));
    made_[op.out] = &op;
    return Status();
  }

  Status weight(const Op& op, uint32_t n, uint32_t k, uint32_t n_expert = 1) const {
    LLMRT_TRY(below(op, "weight index", op.weight, p_.weights.size()));
    LLMRT_TRY(equal(op, "weight matrices", p_.weights[op.weight].n_expert, n_expert));
    LLMRT_TRY(equal(op, "weight rows", p_.weights[op.weight].n, n));
    return equal(op, "weight row length", p_.weights[op.weight].k, k);
  }

  // The second input is a route for the rows of the first one.
  Status routed(const Op& op) const {
    const Op& route = *made_[op.in[1]];
    if (route.kind != OpKind::route) return fail(op, "input that is no route", op.in[1], kNone);
    LLMRT_TRY(equal(op, "experts used", op.params.n_used, route.params.n_used));
    return equal(op, "row space", static_cast<uint32_t>(in(op, 1).rows),
                 static_cast<uint32_t>(in(op, 0).rows));
  }

  Status same_width(const Op& op, size_t n_in) const {
    for (size_t i = 0; i < n_in; ++i)
      LLMRT_TRY(equal(op, "input width", in(op, i).width, out(op).width));
    return Status();
  }

  Status kv_heads(const Op& op) const {
    const OpParams& q = op.params;
    LLMRT_TRY(below(op, "KV layer", q.kv_layer, p_.kv_layers.size()));
    const KvGroup& group = p_.kv_groups[p_.kv_layers[q.kv_layer].group];
    LLMRT_TRY(equal(op, "KV heads", q.n_kv_head, group.n_kv_head));
    LLMRT_TRY(equal(op, "d_k", q.d_k, group.d_k));
    return equal(op, "d_v", q.d_v, group.d_v);
  }

  Status check_op(const Op& op) {
    const OpParams& q = op.params;
    switch (op.kind) {
      case OpKind::embed:
        LLMRT_TRY(operands(op, 0, true));
        if (out(op).rows != RowSpace::tokens) return fail(op, "output row space", 1, 0);
        return weight(op, p_.n_vocab, out(op).width);
      case OpKind::norm: {
        LLMRT_TRY(operands(op, 1, true));
        LLMRT_TRY(same_width(op, 1));
        const uint32_t group = q.group_width ? q.group_width : out(op).width;
        LLMRT_TRY(equal(op, "rest of width by group", out(op).width % group, 0));
        return weight(op, 1, group);
      }
      case OpKind::linear:
        LLMRT_TRY(operands(op, 1, true));
        LLMRT_TRY(weight(op, out(op).width, in(op, 0).width));
        if (op.bias == kNone) return Status();
        LLMRT_TRY(below(op, "bias index", op.bias, p_.weights.size()));
        LLMRT_TRY(equal(op, "bias rows", p_.weights[op.bias].n, 1));
        return equal(op, "bias length", p_.weights[op.bias].k, out(op).width);
      case OpKind::rope: {
        LLMRT_TRY(operands(op, 1, true));
        LLMRT_TRY(same_width(op, 1));
        LLMRT_TRY(equal(op, "width", out(op).width, q.n_head * q.d_k));
        LLMRT_TRY(below(op, "rope table", q.rope_table, p_.rope_tables.size()));
        const size_t d_rot = 2 * p_.rope_tables[q.rope_table].inv_freq.size();
        return d_rot <= q.d_k ? Status() : fail(op, "d_rot", static_cast<uint32_t>(d_rot), q.d_k);
      }
      case OpKind::kv_append:
        LLMRT_TRY(operands(op, 2, false));
        LLMRT_TRY(kv_heads(op));
        if (in(op, 0).rows != RowSpace::tokens || in(op, 1).rows != RowSpace::tokens)
          return fail(op, "input row space", 1, 0);
        LLMRT_TRY(equal(op, "K width", in(op, 0).width, q.n_kv_head * q.d_k));
        return equal(op, "V width", in(op, 1).width, q.n_kv_head * q.d_v);
      case OpKind::paged_attention:
        LLMRT_TRY(operands(op, 1, true));
        LLMRT_TRY(kv_heads(op));
        if (out(op).rows != RowSpace::tokens) return fail(op, "row space", 1, 0);
        LLMRT_TRY(equal(op, "rest of heads by KV heads", q.n_head % q.n_kv_head, 0));
        LLMRT_TRY(equal(op, "Q width", in(op, 0).width, q.n_head * q.d_k));
        LLMRT_TRY(
            equal(op, "window", q.window, p_.kv_groups[p_.kv_layers[q.kv_layer].group].window));
        return equal(op, "output width", out(op).width, q.n_head * q.d_v);
      case OpKind::glu:
      case OpKind::add:
        LLMRT_TRY(operands(op, 2, true));
        LLMRT_TRY(same_width(op, 2));
        return equal(op, "row space", static_cast<uint32_t>(in(op, 1).rows),
                     static_cast<uint32_t>(in(op, 0).rows));
      case OpKind::scale:
      case OpKind::softcap:
        LLMRT_TRY(operands(op, 1, true));
        return same_width(op, 1);
      case OpKind::gather_rows:
        LLMRT_TRY(operands(op, 1, true));
        if (in(op, 0).rows != RowSpace::tokens || out(op).rows != RowSpace::wanted)
          return fail(op, "row space", 0, 1);
        return same_width(op, 1);
      case OpKind::route:
        LLMRT_TRY(operands(op, 1, true));
        LLMRT_TRY(equal(op, "input width", in(op, 0).width, q.n_expert));
        if (q.n_used == 0 || q.n_used > q.n_expert)
          return fail(op, "experts used", q.n_used, q.n_expert);
        return equal(op, "output width", out(op).width, 2 * q.n_used);
      case OpKind::expert_linear: {
        LLMRT_TRY(operands(op, 2, true));
        LLMRT_TRY(routed(op));
        LLMRT_TRY(below(op, "weight index", op.weight, p_.weights.size()));
        LLMRT_TRY(equal(op, "experts", q.n_expert, made_[op.in[1]]->params.n_expert));
        LLMRT_TRY(equal(op, "rest of width by experts used", out(op).width % q.n_used, 0));
        const bool own = in(op, 0).width != p_.weights[op.weight].k;
        LLMRT_TRY(equal(op, "rest of input width by experts used",
                        own ? in(op, 0).width % q.n_used : 0, 0));
        return weight(op, out(op).width / q.n_used, in(op, 0).width / (own ? q.n_used : 1),
                      q.n_expert);
      }
      case OpKind::expert_sum:
        LLMRT_TRY(operands(op, 2, true));
        LLMRT_TRY(routed(op));
        return equal(op, "input width", in(op, 0).width, q.n_used * out(op).width);
    }
    return error(Code::internal, "op %zu: unknown kind %u", index_, static_cast<uint32_t>(op.kind));
  }

  const Program& p_;
  std::vector<const Op*> made_;  // [values] the op that made it
  size_t index_ = 0;
};

}  // namespace

Status check_shapes(const Program& program) { return Checker(program).run(); }

}  // namespace llmrt
