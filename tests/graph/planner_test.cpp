#include "graph/planner.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/program_kit.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

uint32_t pick(Rng& rng, uint32_t n) { return static_cast<uint32_t>(rng() % n); }

// Random ops over values of a few widths. Not a model: only what the planner looks at is right.
Program random_program(Rng& rng) {
  constexpr uint32_t kWidths[] = {1, 16, 17, 48, 64, 200};
  constexpr OpKind kKinds[] = {
      OpKind::norm,  OpKind::linear,          OpKind::rope,      OpKind::add,        OpKind::glu,
      OpKind::scale, OpKind::paged_attention, OpKind::kv_append, OpKind::gather_rows};
  Program p;
  p.values.push_back({RowSpace::tokens, kWidths[pick(rng, 6)]});
  p.ops.push_back({.kind = OpKind::embed, .out = 0});
  const uint32_t n_ops = 1 + pick(rng, 60);
  for (uint32_t i = 0; i < n_ops; ++i) {
    Op op{.kind = kKinds[pick(rng, 9)]};
    const auto n_values = static_cast<uint32_t>(p.values.size());
    op.in[0] = pick(rng, n_values);
    const bool two =
        op.kind == OpKind::add || op.kind == OpKind::glu || op.kind == OpKind::kv_append;
    if (two) op.in[1] = pick(rng, n_values);
    if (op.kind != OpKind::kv_append) {
      Value out = p.values[op.in[0]];
      if (op.kind == OpKind::linear || pick(rng, 4) == 0) out.width = kWidths[pick(rng, 6)];
      if (op.kind == OpKind::gather_rows) out.rows = RowSpace::wanted;
      op.out = n_values;
      p.values.push_back(out);
    }
    p.ops.push_back(op);
  }
  p.logits = pick(rng, static_cast<uint32_t>(p.values.size()));
  return p;
}

struct Life {
  uint32_t first, last;  // phases
};

std::vector<Life> lifetimes(const Program& p, const std::vector<uint32_t>& phase) {
  std::vector<Life> lives(p.values.size(), {UINT32_MAX, 0});
  for (size_t i = 0; i < p.ops.size(); ++i) {
    for (ValueId v : {p.ops[i].in[0], p.ops[i].in[1], p.ops[i].out}) {
      if (v == kNone) continue;
      lives[v].first = std::min(lives[v].first, phase[i]);
      lives[v].last = std::max(lives[v].last, phase[i]);
    }
  }
  lives[p.logits].last = UINT32_MAX;
  return lives;
}

bool row_local(OpKind kind) {
  return kind == OpKind::norm || kind == OpKind::rope || kind == OpKind::glu ||
         kind == OpKind::add || kind == OpKind::scale || kind == OpKind::softcap;
}

// b is made in place of a, allowed only by the rule in planner.h.
bool allowed_in_place(const Program& p, const std::vector<uint32_t>& phase,
                      const std::vector<Life>& lives, ValueId a, ValueId b) {
  for (size_t i = 0; i < p.ops.size(); ++i) {
    const Op& op = p.ops[i];
    if (op.out != b || !row_local(op.kind) || (op.in[0] != a && op.in[1] != a)) continue;
    return lives[a].last == phase[i] && std::count(phase.begin(), phase.end(), phase[i]) == 1 &&
           p.values[a].width == p.values[b].width;
  }
  return false;
}

void check_plan(const Program& p, const std::vector<uint32_t>& phase, const Plan& plan,
                bool in_place) {
  const auto lives = lifetimes(p, phase);
  for (ValueId b = 0; b < p.values.size(); ++b) {
    REQUIRE(plan.offset[b] != kNone);
    REQUIRE(plan.offset[b] % 16 == 0);
    REQUIRE(plan.offset[b] + p.values[b].width <=
            plan.row_floats[static_cast<size_t>(p.values[b].rows)]);
    for (ValueId a = 0; a < b; ++a) {
      if (p.values[a].rows != p.values[b].rows) continue;
      const bool live_together = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
      const bool places_meet = plan.offset[a] < plan.offset[b] + p.values[b].width &&
                               plan.offset[b] < plan.offset[a] + p.values[a].width;
      if (!live_together || !places_meet) continue;
      REQUIRE(in_place);
      REQUIRE(plan.offset[a] == plan.offset[b]);
      REQUIRE(allowed_in_place(p, phase, lives, a, b));
    }
  }
}

}  // namespace

TEST_CASE("no two live values share memory, over 3000 random programs") {
  Rng rng(7);
  for (int round = 0; round < 3000; ++round) {
    const Program p = random_program(rng);
    std::vector<uint32_t> phase(p.ops.size());
    const bool fused = round % 3 == 0;
    for (uint32_t i = 1; i < phase.size(); ++i)
      phase[i] = phase[i - 1] + (fused && pick(rng, 2) ? 0 : 1);
    const bool in_place = round % 2 == 0;
    const Plan plan = make_plan(
        p, {.phase_of_op = fused ? std::span<const uint32_t>(phase) : std::span<const uint32_t>(),
            .in_place = in_place});
    check_plan(p, phase, plan, in_place);
  }
}

TEST_CASE("a chain of row-local ops needs one place, and without in-place two") {
  Program p;
  p.values.assign(6, {RowSpace::tokens, 64});
  p.ops.push_back({.kind = OpKind::embed, .out = 0});
  for (uint32_t i = 0; i < 5; ++i)
    p.ops.push_back({.kind = OpKind::scale, .out = i + 1, .in = {i, kNone}});
  p.logits = 5;
  CHECK(make_plan(p).row_floats[0] == 64);
  CHECK(make_plan(p, {.phase_of_op = {}, .in_place = false}).row_floats[0] == 128);
  CHECK(make_plan(p).arena_floats(10, 3) == 640);
}

TEST_CASE("places grow with the number of layers only as far as one layer is wide") {
  const auto width_of = [](uint32_t n_layers) {
    Program p;
    p.values.push_back({RowSpace::tokens, 64});
    p.ops.push_back({.kind = OpKind::embed, .out = 0});
    ValueId x = 0;
    const auto push = [&](OpKind kind, ValueId a, ValueId b, uint32_t width) {
      p.values.push_back({RowSpace::tokens, width});
      p.ops.push_back(
          {.kind = kind, .out = static_cast<ValueId>(p.values.size() - 1), .in = {a, b}});
      return p.ops.back().out;
    };
    for (uint32_t i = 0; i < n_layers; ++i) {
      const ValueId h = push(OpKind::norm, x, kNone, 64);
      const ValueId gate = push(OpKind::linear, h, kNone, 192),
                    up = push(OpKind::linear, h, kNone, 192);
      x = push(OpKind::add, x, push(OpKind::linear, push(OpKind::glu, gate, up, 192), kNone, 64),
               64);
    }
    p.logits = x;
    return make_plan(p).row_floats[0];
  };
  CHECK(width_of(1) == 64 + 64 + 192 + 192);
  CHECK(width_of(40) == width_of(1));
}
