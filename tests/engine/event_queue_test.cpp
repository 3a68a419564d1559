#include "engine/event_queue.h"

#include <doctest/doctest.h>

#include "engine/sequence.h"

using namespace llmrt;

TEST_CASE("event_queue: a lagging reader finds text merged and nothing lost") {
  EventQueue queue;
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    Event event;
    event.type = EventType::text;
    event.sample = i % 2;
    event.token = i;
    event.n_tokens = 1;
    event.text = std::to_string(i) + ",";
    queue.push(std::move(event));
  }
  CHECK(queue.size() <= EventQueue::kMergeFrom + 2);
  std::string text[2];
  int n_tokens = 0;
  Event event;
  while (queue.pop(event)) {
    text[event.sample] += event.text;
    n_tokens += event.n_tokens;
    if (event.n_tokens > 1) CHECK(event.token == -1);
  }
  CHECK(n_tokens == 1000);
  std::string want[2];
  for (int i = 0; i < 1000; ++i) want[i % 2] += std::to_string(i) + ",";
  CHECK(text[0] == want[0]);
  CHECK(text[1] == want[1]);
}

TEST_CASE(
    "event_queue: progress replaces progress and text never jumps over another event of its "
    "sample") {
  EventQueue queue;
  Event progress;
  progress.type = EventType::progress;
  for (int i = 1; i <= 100; ++i) {
    progress.done = i;
    queue.push(progress);
  }
  CHECK(queue.size() == 1);
  Event text;
  text.type = EventType::text;
  text.text = "a";
  for (int i = 0; i < 40; ++i) queue.push(text);
  Event done;
  done.type = EventType::sample_done;
  queue.push(done);
  queue.push(text);
  Event event;
  std::vector<EventType> types;
  while (queue.pop(event)) types.push_back(event.type);
  CHECK(types.front() == EventType::progress);
  CHECK(types[types.size() - 2] == EventType::sample_done);
  CHECK(types.back() == EventType::text);
}

TEST_CASE("sequence: the table of legal moves has no way back from done and none into following") {
  for (int from = 0; from < 5; ++from) {
    CHECK_FALSE(is_legal_move(static_cast<SeqState>(from), SeqState::following));
    CHECK_FALSE(is_legal_move(SeqState::done, static_cast<SeqState>(from)));
    if (static_cast<SeqState>(from) != SeqState::done)
      CHECK(is_legal_move(static_cast<SeqState>(from), SeqState::done));
  }
  CHECK(is_legal_move(SeqState::running, SeqState::preempted));
  CHECK_FALSE(is_legal_move(SeqState::queued, SeqState::preempted));
}
