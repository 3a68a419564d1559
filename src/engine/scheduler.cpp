#include "engine/scheduler.h"

#include <algorithm>

#include "base/check.h"

namespace llmrt {
namespace {

class Planner {
 public:
  Planner(const PlanView& view, StepPlan& plan)
      : view_(view),
        layout_(*view.layout),
        plan_(plan),
        blocks_(view.free_blocks),
        out_(view.max_out) {}

  void run() {
    plan_.runs.clear();
    plan_.n_rows = 0;
    plan_.victim = plan_.stuck = plan_.stuck_waiting = kNoSequence;
    const uint32_t decodes = n_decodes();
    rows_ = decodes > 0 ? std::min(view_.max_rows, view_.max_prompt_rows_mixed + decodes)
                        : view_.max_rows;
    if (!view_.running.empty() && !serve_first()) return;
    for (uint32_t i = 1; i < view_.running.size(); ++i) {
      if (is_decode(view_.running[i])) add(i, false, 1);
    }
    // what the first in rank left for the others of prompts that are being computed and of those that enter now
    if (view_.admit) admit();
    share_among_prefills();
    give_rest_to_first();
    if (plan_.runs.empty() && view_.running.empty() && view_.admit && !view_.waiting.empty() &&
        view_.max_running > 0)
      plan_.stuck_waiting = 0;
  }

 private:
  static bool is_decode(const SequenceView& s) {
    return s.n_tokens - s.computed == 1 && s.want_from == UINT32_MAX;
  }
  uint32_t n_decodes() const {
    return static_cast<uint32_t>(std::count_if(view_.running.begin(), view_.running.end(),
                                               [](const SequenceView& s) { return is_decode(s); }));
  }

  uint64_t new_blocks(const SequenceView& s, uint32_t count) const {
    const uint32_t entries = layout_.blocks_for(s.computed + count);
    const uint64_t more = entries > s.n_entries ? entries - s.n_entries : 0;
    return more * layout_.n_groups() + s.tail_copies;
  }

  // Rows s may have now, at most `limit`.
  uint32_t rows_that_fit(const SequenceView& s, uint32_t limit) const {
    uint32_t count = std::min({limit, rows_, s.n_tokens - s.computed});
    if (view_.prefill_chunk > 0) count = std::min(count, view_.prefill_chunk);
    if (s.want_from != UINT32_MAX)
      count = s.computed < s.want_from ? std::min(count, s.want_from - s.computed)
                                       : std::min(count, out_);
    if (s.tail_copies > blocks_) return 0;
    const uint64_t entries = std::max<uint64_t>(s.n_entries, layout_.blocks_for(s.computed)) +
                             (blocks_ - s.tail_copies) / layout_.n_groups();
    const uint64_t fit = entries * layout_.block_tokens - s.computed;
    count = static_cast<uint32_t>(std::min<uint64_t>(count, fit));
    const bool ends = s.computed + count == s.n_tokens;
    if (ends && s.want_from == UINT32_MAX && out_ == 0) return 0;
    // chunks end on block edges where that costs nothing: full blocks are published earlier and chunk borders repeat
    const uint32_t past_edge = (s.computed + count) % layout_.block_tokens;
    if (!ends && s.want_from == UINT32_MAX && count > layout_.block_tokens) count -= past_edge;
    return count;
  }

  uint32_t add(uint32_t index, bool admit, uint32_t limit) {
    const SequenceView& s = admit ? view_.waiting[index] : view_.running[index];
    const uint32_t count = rows_that_fit(s, limit);
    if (count == 0) return 0;
    PlanRun run{index, admit, s.computed, count, RowWant::none};
    if (s.want_from != UINT32_MAX) {
      if (s.computed >= s.want_from) run.want = RowWant::all;
    } else if (s.computed + count == s.n_tokens) {
      run.want = RowWant::last;
    }
    out_ -= run.want == RowWant::all ? count : run.want == RowWant::last ? 1 : 0;
    blocks_ -= new_blocks(s, count);
    rows_ -= count;
    plan_.n_rows += count;
    plan_.runs.push_back(run);
    return count;
  }

  bool serve_first() {
    const SequenceView& first = view_.running[0];
    const uint32_t work = first.n_tokens - first.computed;
    const bool alone = view_.running.size() == 1 && (!view_.admit || view_.waiting.empty());
    const uint32_t share =
        alone || is_decode(first) ? work : std::max(1u, (rows_ - std::min(rows_, n_decodes())) / 2);
    if (add(0, false, share) > 0) return true;
    if (view_.running.size() > 1)
      plan_.victim = static_cast<uint32_t>(view_.running.size()) - 1;
    else
      plan_.stuck = 0;
    return false;
  }

  void admit() {
    // what the running will need, beyond what they hold and this plan gives them
    uint64_t expected = 0;
    for (const SequenceView& s : view_.running) {
      const uint64_t at_end = layout_.worst_blocks(s.n_tokens + s.left, 1);
      expected += at_end > s.n_held ? at_end - s.n_held : 0;
    }
    uint64_t available = view_.free_blocks;
    uint32_t n_running = static_cast<uint32_t>(view_.running.size());
    for (uint32_t i = 0; i < view_.waiting.size() && n_running < view_.max_running && rows_ > 0;
         ++i) {
      const SequenceView& s = view_.waiting[i];
      const uint64_t mine = layout_.worst_blocks(s.n_tokens, 1);
      const uint64_t needed = mine > s.n_held ? mine - s.n_held : 0;
      const bool first_of_all = n_running == 0;  // its worst case fits an empty pool
      if (!first_of_all && needed + expected > available) break;
      // blocks of the hit that nobody holds leave the evictable ones by attaching
      const uint64_t hit_blocks = hit_size(s);
      const uint64_t taken = hit_blocks > s.n_held ? hit_blocks - s.n_held : 0;
      if (taken > blocks_) break;
      blocks_ -= taken;
      available -= std::min(available, needed);
      const uint64_t at_end = layout_.worst_blocks(s.n_tokens + s.left, 1);
      expected += at_end > mine ? at_end - mine : 0;
      ++n_running;
      ++n_admitted_;
    }
  }

  // Blocks a sequence holds right after attaching its hit.
  uint64_t hit_size(const SequenceView& s) const {
    uint64_t sum = 0;
    for (uint32_t g = 0; g < layout_.n_groups(); ++g)
      sum += s.n_entries - std::min(s.n_entries, layout_.live_from(g, s.computed));
    return sum;
  }

  // Highest response ratio first, (wait + work) / work. Few sequences: repeated maximum.
  void share_among_prefills() {
    const uint32_t n_running = static_cast<uint32_t>(view_.running.size());
    const uint32_t n = n_running + n_admitted_;
    plan_.served.assign(n, 0);
    for (uint32_t i = 0; i < n_running; ++i)
      plan_.served[i] = i == 0 || is_decode(view_.running[i]);
    const auto at = [&](uint32_t i) -> const SequenceView& {
      return i < n_running ? view_.running[i] : view_.waiting[i - n_running];
    };
    while (rows_ > 0) {
      uint32_t best = kNoSequence;
      for (uint32_t i = 0; i < n; ++i) {
        if (!plan_.served[i] && (best == kNoSequence || goes_before(at(i), at(best)))) best = i;
      }
      if (best == kNoSequence) return;
      plan_.served[best] = 1;
      add(best < n_running ? best : best - n_running, best >= n_running, UINT32_MAX);
    }
  }
  static bool goes_before(const SequenceView& a, const SequenceView& b) {
    const double work_a = a.n_tokens - a.computed, work_b = b.n_tokens - b.computed;
    const double left =
        (static_cast<double>(a.wait_rows) + work_a) * work_b;  // compared without division
    const double right = (static_cast<double>(b.wait_rows) + work_b) * work_a;
    return left != right ? left > right : a.order < b.order;
  }

  void give_rest_to_first() {
    if (rows_ == 0 || view_.running.empty() || plan_.runs.empty() || plan_.runs[0].admit ||
        plan_.runs[0].index != 0)
      return;
    const SequenceView& first = view_.running[0];
    if (is_decode(first) || first.want_from != UINT32_MAX) return;
    PlanRun& run = plan_.runs[0];
    const uint32_t had = run.count;
    if (run.want == RowWant::last) return;
    // take it back and serve it again with all that is left
    rows_ += had;
    blocks_ += new_blocks(first, had);
    plan_.n_rows -= had;
    const uint32_t count = std::max(had, rows_that_fit(first, UINT32_MAX));
    run.count = count;
    if (first.computed + count == first.n_tokens) {
      run.want = RowWant::last;
      --out_;
    }
    rows_ -= count;
    blocks_ -= new_blocks(first, count);
    plan_.n_rows += count;
  }

  const PlanView& view_;
  const KvLayout& layout_;
  StepPlan& plan_;
  uint64_t blocks_;
  uint32_t out_;
  uint32_t rows_ = 0;
  uint32_t n_admitted_ = 0;
};

}  // namespace

void make_plan(const PlanView& view, StepPlan& plan) { Planner(view, plan).run(); }

}  // namespace llmrt
