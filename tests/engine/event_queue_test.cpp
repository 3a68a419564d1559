#include "engine/event_queue.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/sequence.h"

using namespace llmrt;

namespace {

QueuedEvent text_of(int32_t sample, std::string& text, const std::string& piece) {
  QueuedEvent event;
  event.type = EventType::text;
  event.sample = sample;
  event.n_tokens = 1;
  event.text_begin = text.size();
  event.text_size = piece.size();
  text += piece;
  return event;
}

}  // namespace

TEST_CASE("event_queue: a lagging reader finds text merged and nothing lost") {
  EventQueue queue(2);
  std::string texts[2], read[2];
  int n_tokens = 0;
  for (int i = 0; i < 1000; ++i) {
    QueuedEvent event = text_of(i % 2, texts[i % 2], std::to_string(i) + ",");
    event.token = i;
    queue.push(event);
    CHECK(queue.size() <= EventQueue::kMergeFrom + 2);
    if (i % 300 != 299) continue;
    for (int j = 0; j < 10; ++j) {  // a reader that comes now and then
      const QueuedEvent& front = queue.front();
      read[front.sample] += texts[front.sample].substr(front.text_begin, front.text_size);
      n_tokens += front.n_tokens;
      queue.pop();
    }
  }
  while (!queue.empty()) {
    const QueuedEvent& front = queue.front();
    read[front.sample] += texts[front.sample].substr(front.text_begin, front.text_size);
    n_tokens += front.n_tokens;
    CHECK((front.n_tokens == 1) == (front.token >= 0));
    queue.pop();
  }
  CHECK(n_tokens == 1000);
  CHECK(read[0] == texts[0]);
  CHECK(read[1] == texts[1]);
}

TEST_CASE(
    "event_queue: progress replaces progress and text never jumps over another event of its "
    "sample") {
  EventQueue queue;
  QueuedEvent progress;
  progress.type = EventType::progress;
  for (int i = 1; i <= 100; ++i) {
    progress.done = i;
    queue.push(progress);
  }
  CHECK(queue.size() == 1);
  CHECK(queue.front().done == 100);
  std::string text;
  for (int i = 0; i < 40; ++i) queue.push(text_of(0, text, "a"));
  QueuedEvent done;
  done.type = EventType::sample_done;
  queue.push(done);
  queue.push(text_of(0, text, "b"));
  std::vector<EventType> types;
  for (; !queue.empty(); queue.pop()) types.push_back(queue.front().type);
  CHECK(types.front() == EventType::progress);
  CHECK(types[types.size() - 2] == EventType::sample_done);
  CHECK(types.back() == EventType::text);
}

TEST_CASE(
    "event_queue: behind a reader that never comes the newest progress is kept in one place") {
  EventQueue queue(2);
  std::string texts[2];
  QueuedEvent progress;
  progress.type = EventType::progress;
  for (int i = 0; i < 1000; ++i) {
    queue.push(text_of(i % 2, texts[i % 2], "a"));
    progress.done = i;
    queue.push(progress);
    CHECK(queue.size() <= EventQueue::kMergeFrom + 4);
  }
  int64_t newest = 0;
  size_t n_text = 0;
  for (; !queue.empty(); queue.pop()) {
    const QueuedEvent& front = queue.front();
    if (front.type == EventType::progress) newest = std::max(newest, front.done);
    n_text += front.text_size;
  }
  CHECK(newest == 999);
  CHECK(n_text == 1000);
}

TEST_CASE("event_queue: without its text all other events are left") {
  EventQueue queue;
  std::string text;
  QueuedEvent progress;
  progress.type = EventType::progress;
  queue.push(text_of(0, text, "gone"));
  queue.push(progress);
  queue.pop();
  queue.push(text_of(0, text, "dropped"));
  QueuedEvent done;
  done.type = EventType::sample_done;
  queue.push(done);
  queue.drop_text();
  REQUIRE(queue.size() == 2);
  CHECK(queue.front().type == EventType::progress);
  queue.pop();
  CHECK(queue.front().type == EventType::sample_done);
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
