#include "engine/pass_times.h"

#include <doctest/doctest.h>

using namespace llmrt;

namespace {
constexpr int64_t kMs = 1'000'000;

// Passes as a machine with these times runs them; what is left after `n` of them with decodes.
PassTimes learned(double decode_ms, double row_ms, int n = 40) {
  PassTimes times;
  times.record(512, 0, static_cast<int64_t>(512 * row_ms * kMs));
  for (int i = 0; i < n; ++i) times.record(1, 1, static_cast<int64_t>(decode_ms * kMs));
  for (int i = 0; i < n; ++i) {
    const uint32_t rows = times.prompt_rows_beside_decodes();
    times.record(1 + rows, 1, static_cast<int64_t>((decode_ms + rows * row_ms) * kMs));
  }
  return times;
}
}  // namespace

TEST_CASE("pass times: a pass with decodes in it takes 25 ms on a fast model") {
  CHECK(learned(5, 0.5).prompt_rows_beside_decodes() == 40);
  CHECK(learned(30, 1).prompt_rows_beside_decodes() == 30);
}

TEST_CASE("pass times: and twice the time of the decodes on a slow one") {
  CHECK(learned(300, 10).prompt_rows_beside_decodes() == 30);
  CHECK(learned(300, 1000).prompt_rows_beside_decodes() == 1);  // prompts never stand still
}

TEST_CASE("pass times: prompts of growing depth get fewer rows") {
  PassTimes times = learned(30, 1);
  for (int i = 0; i < 40; ++i) {
    const uint32_t rows = times.prompt_rows_beside_decodes();
    times.record(1 + rows, 1, static_cast<int64_t>((30 + rows * 2.0) * kMs));
  }
  CHECK(times.prompt_rows_beside_decodes() == 15);
}

TEST_CASE("pass times: nothing known, odd passes") {
  PassTimes times;
  CHECK(times.prompt_rows_beside_decodes() == 16);
  times.record(1, 1, 100 * kMs);
  times.record(17, 1, 50 * kMs);  // faster than its decodes alone: still a row costs something
  CHECK(times.prompt_row_ns() > 0);
  CHECK(times.prompt_rows_beside_decodes() >= 1);
  CHECK(times.prompt_rows_beside_decodes() <= 4096);
}
