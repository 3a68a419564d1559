#include "engine/sequence.h"

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

}  // namespace llmrt
