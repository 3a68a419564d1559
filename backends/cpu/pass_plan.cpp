#include "backends/cpu/pass_plan.h"

#include <algorithm>
#include <tuple>

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/packed_weight.h"
#include "backends/cpu/pass_scratch.h"
#include "graph/logit_blocks.h"

namespace llmrt::cpu {
namespace {

// A piece of the arena, live over a range of phases.
struct Piece {
  Place* place;
  uint64_t bytes = 0;
  uint32_t first = UINT32_MAX, last = 0;
};

class Planner {
 public:
  Planner(const Program& program, const CompileOptions& options, const KernelTable& table)
      : p_(program), o_(options), table_(table) {
    readers_.resize(p_.values.size(), 0);
    for (const Op& op : p_.ops)
      for (ValueId v : op.in)
        if (v != kNone) ++readers_[v];
    if (p_.logits != kNone) ++readers_[p_.logits];
    made_.resize(p_.values.size());
    linear_of_.resize(p_.values.size(), kNone);
    route_op_.resize(p_.values.size(), kNone);
    appended_.resize(p_.kv_layers.size(), 0);
    angle_made_.resize(p_.rope_tables.size(), false);
    plan_.values.resize(p_.values.size());
    plan_.angles.resize(p_.rope_tables.size());
  }

  PassPlan run() {
    for (uint32_t i = 0; i < p_.ops.size(); ++i) add_op(i);
    make_phases();
    place_values();
    size_buffers();
    return std::move(plan_);
  }

 private:
  // When a value is there: made by the row steps of level `level`, or by the linear or attend phase of that level.
  struct Made {
    uint32_t level = 0;
    bool by_rows = false;
  };
  struct Node {
    PhaseKind kind;
    RowSpace rows;
    uint32_t level;
    RowStep step;
    LinearJob job;
    uint32_t attend_op = kNone;
    bool dead = false;  // its work went into another node
    uint32_t route_op = kNone;
  };

  uint32_t after(ValueId v, RowSpace rows) const {  // level of a row step that reads v
    const bool together = made_[v].by_rows && p_.values[v].rows == rows;
    return made_[v].level + (together ? 0 : 1);
  }

  void add_step(RowSpace rows, uint32_t level, const RowStep& step) {
    nodes_.push_back({PhaseKind::rows, rows, level, step, {}, kNone, false, kNone});
  }

  void add_op(uint32_t i) {
    const Op& op = p_.ops[i];
    switch (op.kind) {
      case OpKind::linear:
        add_linear(i);
        return;
      case OpKind::expert_linear:
        add_experts(i);
        return;
      case OpKind::paged_attention:
        add_attention(i);
        return;
      case OpKind::glu:
        if (fuse_glu(op)) return;
        break;
      case OpKind::add:
        if (fuse_residual(op)) return;
        break;
      default:
        break;
    }
    const RowSpace rows = op.out != kNone ? p_.values[op.out].rows : RowSpace::tokens;
    uint32_t level = 0;
    for (ValueId v : op.in)
      if (v != kNone) level = std::max(level, after(v, rows));
    if (op.kind == OpKind::rope && !angle_made_[op.params.rope_table]) {
      angle_made_[op.params.rope_table] = true;
      add_step(RowSpace::tokens, 0,
               {StepKind::rope_angles, kNone, kNone, op.params.rope_table, kNone});
    }
    add_step(rows, level, {StepKind::op, i, kNone, kNone, kNone});
    if (op.out != kNone) made_[op.out] = {level, true};
    if (op.kind == OpKind::route) route_op_[op.out] = i;
    if (op.kind == OpKind::kv_append) appended_[op.params.kv_layer] = level;
  }

  // 0: as floats.
  uint32_t input_group(const WeightDesc& w) const {
    return keeps_floats(w) ? 0 : table_.input_group(format_of(w.type));
  }

  // The input of linear op i, rounded if the weight's class asks for it; level: when it is there.
  uint32_t prepare_input(const Op& op, uint32_t& rounded) {
    const ValueId x = op.in[0];
    const uint32_t group = input_group(p_.weights[op.weight]);
    if (group == 0) return made_[x].level;
    for (uint32_t r = 0; r < plan_.rounded.size(); ++r)
      if (plan_.rounded[r].value == x && plan_.rounded[r].form.group == group) {
        rounded = r;
        return rounded_level_[r];
      }
    rounded = static_cast<uint32_t>(plan_.rounded.size());
    const uint32_t level = after(x, p_.values[x].rows);
    plan_.rounded.push_back({x, activation_form(p_.values[x].width, group), {}});
    rounded_level_.push_back(level);
    add_step(p_.values[x].rows, level, {StepKind::round, kNone, rounded, kNone, kNone});
    return level;
  }

  void add_linear(uint32_t i) {
    const Op& op = p_.ops[i];
    LinearJob job;
    job.op[0] = i;
    const uint32_t level = prepare_input(op, job.rounded[0]) + 1;
    job.out = op.out;
    linear_of_[op.out] = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back(
        {PhaseKind::linear, p_.values[op.out].rows, level, {}, job, kNone, false, kNone});
    made_[op.out] = {level, false};
  }

  // The input of expert_linear op i, dealt to the experts; level: when it is there. Every row's route must be there before one is dealt.
  uint32_t deal_input(const Op& op, uint32_t& dealt) {
    const ValueId x = op.in[0];
    const uint32_t route_op = route_op_[op.in[1]];
    const WeightDesc& w = p_.weights[op.weight];
    const uint32_t group = input_group(w);
    for (dealt = 0; dealt < plan_.dealt.size(); ++dealt) {
      const DealtValue& d = plan_.dealt[dealt];
      if (d.value == x && d.route_op == route_op && d.k == w.k && d.form.group == group)
        return dealt_level_[dealt];
    }
    const uint32_t level = std::max(made_[x].level, made_[op.in[1]].level) + 1;
    const bool own = p_.values[x].width != w.k;
    plan_.dealt.push_back({x,
                           route_op,
                           w.k,
                           op.params.n_used,
                           own,
                           group ? activation_form(w.k, group) : ActivationForm{},
                           {}});
    dealt_level_.push_back(level);
    add_step(p_.values[x].rows, level, {StepKind::deal, kNone, kNone, kNone, dealt});
    nodes_.back().route_op = route_op;
    return level;
  }

  void add_experts(uint32_t i) {
    const Op& op = p_.ops[i];
    LinearJob job;
    job.op[0] = i;
    const uint32_t level = deal_input(op, job.dealt[0]) + 1;
    job.out = op.out;
    linear_of_[op.out] = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back({PhaseKind::experts,
                      p_.values[op.out].rows,
                      level,
                      {},
                      job,
                      kNone,
                      false,
                      route_op_[op.in[1]]});
    made_[op.out] = {level, false};
  }

  // The node of a linear whose output only this reader wants, else nullptr.
  Node* private_linear(ValueId v) {
    if (v == kNone || linear_of_[v] == kNone || readers_[v] != 1) return nullptr;
    Node& node = nodes_[linear_of_[v]];
    return node.job.out == v && node.job.residual == kNone ? &node : nullptr;
  }

  bool fuse_glu(const Op& op) {
    Node* gate = private_linear(op.in[0]);
    Node* up = private_linear(op.in[1]);
    if (!gate || !up || gate == up || gate->kind != up->kind || gate->route_op != up->route_op ||
        gate->level != up->level || gate->rows != up->rows || gate->job.n_parts != 1 ||
        up->job.n_parts != 1)
      return false;
    gate->job.n_parts = 2;
    gate->job.op[1] = up->job.op[0];
    gate->job.rounded[1] = up->job.rounded[0];
    gate->job.dealt[1] = up->job.dealt[0];
    gate->job.act = op.params.act;
    gate->job.out = op.out;
    up->dead = true;
    made_[op.out] = {gate->level, false};
    linear_of_[op.out] = linear_of_[op.in[0]];
    return true;
  }

  bool fuse_residual(const Op& op) {
    for (uint32_t side = 0; side < 2; ++side) {
      const ValueId other = op.in[1 - side];
      Node* node = private_linear(op.in[side]);
      if (!node || node->kind != PhaseKind::linear || op.in[0] == op.in[1] ||
          node->job.n_parts != 1)
        continue;
      if (made_[other].level >= node->level || p_.values[other].rows != node->rows) continue;
      node->job.residual = other;
      node->job.out = op.out;
      made_[op.out] = {node->level, false};
      linear_of_[op.out] = linear_of_[op.in[side]];
      return true;
    }
    return false;
  }

  void add_attention(uint32_t i) {
    const Op& op = p_.ops[i];
    // All layers share the parts: one attention begins after the join of the one before it.
    const uint32_t level = std::max(
        {made_[op.in[0]].level + 1, appended_[op.params.kv_layer] + 1, next_attend_level_});
    next_attend_level_ = level + 2;
    nodes_.push_back({PhaseKind::attend, RowSpace::tokens, level, {}, {}, i, false, kNone});
    add_step(RowSpace::tokens, level + 1, {StepKind::join_attention, i, kNone, kNone, kNone});
    made_[op.out] = {level + 1, true};
  }

  void make_phases() {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < nodes_.size(); ++i)
      if (!nodes_[i].dead) order.push_back(i);
    const auto key = [this](uint32_t i) {
      const Node& n = nodes_[i];
      return std::tuple(n.level, n.kind, n.rows, n.route_op,
                        n.kind == PhaseKind::attend ? n.attend_op : 0u);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    for (size_t at = 0; at < order.size(); ++at) {
      const Node& n = nodes_[order[at]];
      if (at == 0 || key(order[at]) != key(order[at - 1]))
        plan_.phases.push_back({n.kind, n.rows, n.level, {}, {}, n.attend_op, n.route_op});
      Phase& phase = plan_.phases.back();
      if (n.kind == PhaseKind::rows) phase.steps.push_back(n.step);
      if (n.kind == PhaseKind::linear || n.kind == PhaseKind::experts) phase.jobs.push_back(n.job);
    }
  }

  void place_values() {
    std::vector<Piece> pieces;
    const auto n_rows = [this](RowSpace rows) {
      return uint64_t{rows == RowSpace::tokens ? o_.max_rows : o_.max_out};
    };
    const auto add_piece = [&](Place& place, uint32_t row_bytes, RowSpace rows,
                               uint32_t n_used = 1) {
      place.row_bytes = row_bytes;
      pieces.push_back({&place, whole_lines(row_bytes * n_rows(rows) * n_used)});
    };
    for (ValueId v = 0; v < p_.values.size(); ++v) {
      const uint32_t bytes = static_cast<uint32_t>(whole_lines(uint64_t{p_.values[v].width} * 4));
      add_piece(plan_.values[v], bytes, p_.values[v].rows);
    }
    for (RoundedValue& r : plan_.rounded)
      add_piece(r.place, r.form.row_bytes, p_.values[r.value].rows);
    for (size_t t = 0; t < p_.rope_tables.size(); ++t)
      add_piece(plan_.angles[t],
                static_cast<uint32_t>(whole_lines(p_.rope_tables[t].inv_freq.size() * 8)),
                RowSpace::tokens);
    for (DealtValue& d : plan_.dealt)
      add_piece(
          d.place,
          d.form.group ? d.form.row_bytes : static_cast<uint32_t>(whole_lines(uint64_t{d.k} * 4)),
          p_.values[d.value].rows, d.n_used);
    const size_t first_rounded = p_.values.size();
    const size_t first_angles = first_rounded + plan_.rounded.size();
    const size_t first_dealt = first_angles + plan_.angles.size();

    uint32_t phase = 0;
    const auto touch = [&](size_t piece) {
      pieces[piece].first = std::min(pieces[piece].first, phase);
      pieces[piece].last = std::max(pieces[piece].last, phase);
    };
    const auto touch_value = [&](ValueId v) {
      if (v != kNone) touch(v);
    };
    for (; phase < plan_.phases.size(); ++phase) {
      const Phase& ph = plan_.phases[phase];
      for (const RowStep& s : ph.steps) {
        if (s.kind == StepKind::rope_angles) {
          touch(first_angles + s.table);
        } else if (s.kind == StepKind::round) {
          touch(plan_.rounded[s.rounded].value);
          touch(first_rounded + s.rounded);
        } else if (s.kind == StepKind::deal) {
          touch(plan_.dealt[s.dealt].value);
          touch(first_dealt + s.dealt);
        } else if (s.kind == StepKind::join_attention) {
          touch_value(p_.ops[s.op].out);
        } else {
          const Op& op = p_.ops[s.op];
          touch_value(op.out);
          for (ValueId v : op.in) touch_value(v);
          if (op.kind == OpKind::rope) touch(first_angles + op.params.rope_table);
        }
      }
      for (const LinearJob& job : ph.jobs) {
        for (uint32_t i = 0; i < job.n_parts; ++i) {
          if (job.dealt[i] != kNone)
            touch(first_dealt + job.dealt[i]);
          else if (job.rounded[i] != kNone)
            touch(first_rounded + job.rounded[i]);
          else
            touch_value(p_.ops[job.op[i]].in[0]);
        }
        touch_value(job.residual);
        touch_value(job.out);
      }
      if (ph.kind == PhaseKind::attend) touch_value(p_.ops[ph.attend_op].in[0]);
      if (ph.route_op != kNone) touch_value(p_.ops[ph.route_op].out);
    }
    if (p_.logits != kNone) pieces[p_.logits].first = UINT32_MAX;  // has its own buffer
    assign_offsets(pieces);
  }

  // First fit, by the phase a piece begins in.
  void assign_offsets(std::vector<Piece>& pieces) {
    std::vector<Piece*> todo, live;
    for (Piece& piece : pieces)
      if (piece.first != UINT32_MAX && piece.bytes) todo.push_back(&piece);
    std::stable_sort(todo.begin(), todo.end(),
                     [](const Piece* a, const Piece* b) { return a->first < b->first; });
    for (Piece* piece : todo) {
      std::erase_if(live, [&](const Piece* l) { return l->last < piece->first; });
      uint64_t at = 0;
      size_t index = 0;
      for (; index < live.size(); ++index) {  // ascending offsets
        if (at + piece->bytes <= live[index]->place->offset) break;
        at = live[index]->place->offset + live[index]->bytes;
      }
      piece->place->offset = at;
      live.insert(live.begin() + static_cast<std::ptrdiff_t>(index), piece);
      plan_.arena_bytes = std::max(plan_.arena_bytes, at + piece->bytes);
    }
  }

  void size_buffers() {
    WorkerNeeds needs;
    for (const Op& op : p_.ops) {
      if (op.kind == OpKind::linear || op.kind == OpKind::expert_linear) {
        const WeightDesc& w = p_.weights[op.weight];
        needs.linear_k = std::max(needs.linear_k, w.k);
        if (o_.raw_weights)
          needs.panel_bytes = std::max(needs.panel_bytes, panel_bytes(w.type, w.k));
      }
      if (op.kind == OpKind::embed)
        needs.embed_k = std::max(needs.embed_k, p_.weights[op.weight].k);
      if (op.kind != OpKind::paged_attention) continue;
      needs.attend_d_k = std::max(needs.attend_d_k, op.params.d_k);
      needs.attend_d_v = std::max(needs.attend_d_v, op.params.d_v);
      needs.part_floats = std::max(needs.part_floats, part_floats(op.params.d_v));
      plan_.parts_bytes =
          std::max(plan_.parts_bytes, uint64_t{o_.max_rows} * op.params.n_head *
                                          part_floats(op.params.d_v) * sizeof(float));
    }
    plan_.worker_bytes = worker_bytes(needs);
    plan_.panel_at = panel_scratch_at(needs);
    if (p_.logits != kNone) {
      plan_.values[p_.logits].row_bytes = p_.n_vocab * 4;
      plan_.logits_bytes = uint64_t{o_.max_out} * p_.n_vocab * 4;
      if (linear_writes_logits())
        plan_.maxima_bytes = uint64_t{o_.max_out} * n_logit_blocks(p_.n_vocab) * 4;
    }
  }

  bool linear_writes_logits() const {
    for (const Phase& phase : plan_.phases) {
      if (phase.kind != PhaseKind::linear) continue;
      for (const LinearJob& job : phase.jobs)
        if (job.out == p_.logits) return true;
    }
    return false;
  }

  const Program& p_;
  const CompileOptions& o_;
  const KernelTable& table_;
  PassPlan plan_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> readers_;    // [values] ops that read it
  std::vector<Made> made_;           // [values]
  std::vector<uint32_t> linear_of_;  // [values] node that makes it as a linear
  std::vector<uint32_t> route_op_;   // [values] op that makes it, of routes
  std::vector<uint32_t> appended_;   // [kv_layers] level of its kv_append
  uint32_t next_attend_level_ = 0;
  std::vector<bool> angle_made_;         // [rope_tables]
  std::vector<uint32_t> rounded_level_;  // [plan_.rounded]
  std::vector<uint32_t> dealt_level_;    // [plan_.dealt]
};

}  // namespace

PassPlan make_pass_plan(const Program& program, const CompileOptions& options,
                        const KernelTable& table) {
  return Planner(program, options, table).run();
}

}  // namespace llmrt::cpu
