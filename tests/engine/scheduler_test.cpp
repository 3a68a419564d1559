#include "engine/scheduler.h"

#include <doctest/doctest.h>

#include <random>
#include <set>

#include "../kv/kv_fuzz.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {
SequenceView prefill(uint32_t n_tokens, uint32_t computed = 0) {
  SequenceView s;
  s.n_tokens = n_tokens;
  s.computed = computed;
  s.n_entries = (computed + 15) / 16;
  s.n_held = s.n_entries;
  return s;
}
SequenceView decode(uint32_t n_tokens) { return prefill(n_tokens, n_tokens - 1); }

struct Case {
  KvLayout layout = test_layout({0}, 16, 1000);
  std::vector<SequenceView> running, waiting;
  PlanView view;
  StepPlan plan;
  const StepPlan& make() {
    view.layout = &layout;
    view.running = running;
    view.waiting = waiting;
    make_plan(view, plan);
    return plan;
  }
  Case() {
    view.free_blocks = 900;
    view.max_rows = 512;
    view.max_prompt_rows_mixed = 63;
  }
};
}  // namespace

TEST_CASE(
    "scheduler: without decodes a prompt gets the whole row budget and with one what fits the pass "
    "time") {
  Case c;
  c.running = {prefill(2000)};
  CHECK(c.make().runs[0].count == 512);
  CHECK(c.plan.runs[0].want == RowWant::none);
  c.running = {prefill(2000), decode(100)};
  CHECK(c.make().n_rows <= 64);
  CHECK(c.plan.runs.size() == 2);
  CHECK(c.plan.runs[1].want == RowWant::last);
}

TEST_CASE("scheduler: every decode gets its row whatever prompts wait") {
  Case c;
  for (int i = 0; i < 10; ++i) c.running.push_back(decode(50));
  c.waiting = {prefill(4000)};
  c.make();
  CHECK(c.plan.runs.size() == 11);
  CHECK(c.plan.n_rows <= 64);
  CHECK(c.plan.runs.back().admit);
}

TEST_CASE(
    "scheduler: the first in rank gets at least half of what prompts share and short prompts pass "
    "long ones behind it") {
  Case c;
  c.running = {prefill(5000), prefill(3000), prefill(40)};
  c.running[0].wait_rows = c.running[1].wait_rows = c.running[2].wait_rows = 1000;
  c.make();
  uint32_t rows[3] = {};
  for (const PlanRun& run : c.plan.runs) rows[run.index] = run.count;
  CHECK(rows[0] >= 256);
  CHECK(rows[2] == 40);
  CHECK(rows[1] > 0);
}

TEST_CASE("scheduler: the first in rank takes memory from the last, others wait a step") {
  Case c;
  c.view.free_blocks = 0;
  c.running = {decode(17), decode(17), decode(33)};
  for (SequenceView& s : c.running) s.n_entries = (s.n_tokens - 1) / 16;  // each needs a block now
  CHECK(c.make().victim == 2);
  c.running[0].n_entries = 2;  // the first needs nothing
  CHECK(c.make().victim == kNoSequence);
  CHECK(c.plan.runs.size() == 1);
  c.running = {c.running[1]};
  CHECK(c.make().stuck == 0);
}

TEST_CASE(
    "scheduler: admission counts what the running are expected to need and never passes one that "
    "does not fit") {
  Case c;
  c.view.free_blocks = 20;
  c.running = {decode(33)};
  c.running[0].left = 160;  // ten blocks more
  c.waiting = {prefill(16 * 12), prefill(16)};
  c.make();
  for (const PlanRun& run : c.plan.runs) CHECK_FALSE(run.admit);
  c.running[0].left = 16;
  c.make();
  CHECK(c.plan.runs.size() == 3);
  c.view.admit = false;
  CHECK(c.make().runs.size() == 1);
}

TEST_CASE(
    "scheduler: rows of an evaluation stop at the wanted rows' budget and at the first wanted "
    "position") {
  Case c;
  c.view.max_out = 32;
  c.running = {prefill(200)};
  c.running[0].want_from = 50;
  CHECK(c.make().runs[0].count == 50);
  CHECK(c.plan.runs[0].want == RowWant::none);
  c.running = {prefill(200, 50)};
  c.running[0].want_from = 50;
  CHECK(c.make().runs[0].count == 32);
  CHECK(c.plan.runs[0].want == RowWant::all);
}

TEST_CASE("scheduler: any plan keeps the budgets for rows, wanted rows, sequences and blocks") {
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    Case c;
    c.layout = random() % 2 ? test_layout({0}, 16, 1000) : test_layout({0, 20, 0}, 16, 1000);
    c.view.free_blocks = random() % 60;
    c.view.max_rows = 16 + random() % 100;
    c.view.max_prompt_rows_mixed = 8 + random() % 40;
    c.view.prefill_chunk = random() % 3 ? 0 : 1 + random() % 30;
    c.view.max_running = 1 + random() % 8;
    c.view.max_out = c.view.max_running + random() % 20;
    const auto any = [&] {
      SequenceView s = random() % 2 ? prefill(1 + random() % 300) : decode(2 + random() % 200);
      if (random() % 4 == 0) s = prefill(200, random() % 200);
      s.tail_copies = s.computed % 16 ? random() % 2 : 0;
      s.left = random() % 50;
      s.wait_rows = random() % 5000;
      if (random() % 6 == 0) s.want_from = random() % s.n_tokens;
      return s;
    };
    for (uint32_t i = 0, n = random() % (c.view.max_running + 1); i < n; ++i)
      c.running.push_back(any());
    for (uint32_t i = 0, n = random() % 4; i < n; ++i) {
      SequenceView s = any();
      s.tail_copies = 0;
      s.computed = s.n_entries * 16 < s.n_tokens ? s.n_entries * 16 : 0;
      s.n_entries = s.computed / 16;
      s.n_held = 0;
      if (s.want_from < s.computed) s.want_from = s.computed;
      c.waiting.push_back(s);
    }
    if (c.waiting.size() > c.view.max_running - c.running.size())
      c.waiting.resize(c.view.max_running - c.running.size());
    c.make();
    uint32_t rows = 0, out = 0, admitted = 0;
    uint64_t blocks = 0;
    std::set<std::pair<bool, uint32_t>> seen;
    for (const PlanRun& run : c.plan.runs) {
      const SequenceView& s = run.admit ? c.waiting[run.index] : c.running[run.index];
      CHECK(seen.insert({run.admit, run.index}).second);
      CHECK(run.count > 0);
      CHECK(run.first == s.computed);
      CHECK(run.first + run.count <= s.n_tokens);
      if (c.view.prefill_chunk > 0) CHECK(run.count <= c.view.prefill_chunk);
      rows += run.count;
      admitted += run.admit;
      out += run.want == RowWant::all ? run.count : run.want == RowWant::last ? 1 : 0;
      const uint32_t entries = c.layout.blocks_for(run.first + run.count);
      blocks += uint64_t{entries > s.n_entries ? entries - s.n_entries : 0} * c.layout.n_groups() +
                s.tail_copies;
    }
    CHECK(rows == c.plan.n_rows);
    CHECK(rows <= c.view.max_rows);
    CHECK(out <= c.view.max_out);
    CHECK(blocks <= c.view.free_blocks);
    CHECK(c.running.size() + admitted <= c.view.max_running);
    if (!c.running.empty()) {
      const bool first_served =
          !c.plan.runs.empty() && !c.plan.runs[0].admit && c.plan.runs[0].index == 0;
      CHECK((first_served || c.plan.victim != kNoSequence || c.plan.stuck != kNoSequence));
    }
  }
}
