#include "engine/sequence.h"

#include <algorithm>

#include "base/check.h"

namespace llmrt {
namespace {

//                                              to: following queued running preempted done
constexpr bool kLegalMoves[5][5] = {
    /* following */ {false, true, true, false, true},
    /* queued    */ {false, false, true, false, true},
    /* running   */ {false, false, false, true, true},
    /* preempted */ {false, false, true, false, true},
    /* done      */ {false, false, false, false, false},
};

}  // namespace

const char* name_of(SeqState state) {
  constexpr const char* kNames[] = {"following", "queued", "running", "preempted", "done"};
  return kNames[static_cast<int>(state)];
}

bool is_legal_move(SeqState from, SeqState to) {
  return kLegalMoves[static_cast<int>(from)][static_cast<int>(to)];
}

void Sequence::move_to(SeqState next) {
  LLMRT_ASSERT(is_legal_move(state, next));
  state = next;
}

void insert_by_rank(std::vector<Sequence*>& list, Sequence& sequence) {
  const auto behind =
      std::upper_bound(list.begin(), list.end(), &sequence,
                       [](const Sequence* a, const Sequence* b) { return goes_first(*a, *b); });
  list.insert(behind, &sequence);
}

}  // namespace llmrt
