#include "graph/planner.h"

#include <algorithm>

#include "base/check.h"

namespace llmrt {
namespace {

constexpr uint32_t kAlign = 16;  // floats

uint32_t padded(uint32_t width) { return (width + kAlign - 1) / kAlign * kAlign; }

bool is_row_local(OpKind kind) {
  switch (kind) {
    case OpKind::norm:
    case OpKind::rope:
    case OpKind::glu:
    case OpKind::add:
    case OpKind::scale:
    case OpKind::softcap:
      return true;
    case OpKind::embed:
    case OpKind::linear:
    case OpKind::kv_append:
    case OpKind::paged_attention:
    case OpKind::gather_rows:
    case OpKind::route:
    case OpKind::expert_linear:
    case OpKind::expert_sum:
      return false;
  }
  return false;
}

struct Run {
  uint32_t begin, size;
};

// Free runs of one arena, ascending and never adjacent. First fit: the arena stays close to the widest moment because a layer's
// values repeat with the same widths.
class FreeList {
 public:
  uint32_t take(uint32_t size) {
    for (auto run = runs_.begin(); run != runs_.end(); ++run) {
      if (run->size < size) continue;
      const uint32_t begin = run->begin;
      run->begin += size;
      run->size -= size;
      if (run->size == 0) runs_.erase(run);
      return begin;
    }
    // A free run at the very end grows; otherwise the arena does.
    uint32_t begin = end_;
    if (!runs_.empty() && runs_.back().begin + runs_.back().size == end_) {
      begin = runs_.back().begin;
      runs_.pop_back();
    }
    end_ = begin + size;
    return begin;
  }

  void give(uint32_t begin, uint32_t size) {
    auto next = std::lower_bound(runs_.begin(), runs_.end(), begin,
                                 [](const Run& run, uint32_t at) { return run.begin < at; });
    next = runs_.insert(next, {begin, size});
    if (auto after = next + 1; after != runs_.end() && next->begin + next->size == after->begin) {
      next->size += after->size;
      runs_.erase(after);
    }
    if (next != runs_.begin()) {
      auto before = next - 1;
      if (before->begin + before->size == next->begin) {
        before->size += next->size;
        runs_.erase(next);
      }
    }
  }

  uint32_t end() const { return end_; }

 private:
  std::vector<Run> runs_;
  uint32_t end_ = 0;
};

}  // namespace

Plan make_plan(const Program& program, const PlanOptions& options) {
  const auto n_ops = static_cast<uint32_t>(program.ops.size());
  const auto n_values = static_cast<uint32_t>(program.values.size());
  const auto phase_of = [&](uint32_t op) {
    return options.phase_of_op.empty() ? op : options.phase_of_op[op];
  };

  constexpr uint32_t kForever = UINT32_MAX;
  std::vector<uint32_t> last_op(n_values, 0), last_phase(n_values, 0);
  for (uint32_t i = 0; i < n_ops; ++i) {
    const Op& op = program.ops[i];
    for (ValueId v : {op.in[0], op.in[1], op.out}) {
      if (v == kNone) continue;
      last_op[v] = i;
      last_phase[v] = phase_of(i);
    }
  }
  if (program.logits != kNone) last_op[program.logits] = last_phase[program.logits] = kForever;

  Plan plan;
  plan.offset.assign(n_values, kNone);
  std::array<FreeList, 2> arenas;
  std::vector<ValueId> live;
  // its place belongs to a value made in place of it
  std::vector<bool> taken_over(n_values, false);

  for (uint32_t i = 0; i < n_ops; ++i) {
    const Op& op = program.ops[i];
    const bool phase_begins = i == 0 || phase_of(i) != phase_of(i - 1);
    if (phase_begins) {
      std::erase_if(live, [&](ValueId v) {
        if (last_phase[v] >= phase_of(i)) return false;
        if (!taken_over[v]) {
          const Value& value = program.values[v];
          arenas[static_cast<size_t>(value.rows)].give(plan.offset[v], padded(value.width));
        }
        return true;
      });
    }
    if (op.out == kNone) continue;
    const Value& out = program.values[op.out];
    const bool alone_in_phase = phase_begins && (i + 1 == n_ops || phase_of(i + 1) != phase_of(i));
    if (options.in_place && alone_in_phase && is_row_local(op.kind)) {
      for (ValueId v : op.in) {
        if (v == kNone || last_op[v] != i || taken_over[v]) continue;
        if (program.values[v].width != out.width || program.values[v].rows != out.rows) continue;
        plan.offset[op.out] = plan.offset[v];
        taken_over[v] = true;
        break;
      }
    }
    if (plan.offset[op.out] == kNone)
      plan.offset[op.out] = arenas[static_cast<size_t>(out.rows)].take(padded(out.width));
    live.push_back(op.out);
  }
  for (size_t space = 0; space < 2; ++space) plan.row_floats[space] = arenas[space].end();
  return plan;
}

}  // namespace llmrt
