#include "engine/stop.h"

#include <doctest/doctest.h>

#include <random>

using namespace llmrt;

TEST_CASE("stop: a stop string across pieces leaves no trace") {
  StopFilter filter({"</end>", "STOP"});
  std::string out;
  CHECK_FALSE(filter.push("Hello <", out));
  CHECK(out == "Hello ");
  CHECK_FALSE(filter.push("/e", out));
  CHECK_FALSE(filter.push("n", out));
  CHECK(out == "Hello ");
  CHECK(filter.push("d> more", out));
  CHECK(out == "Hello ");
  CHECK(filter.push("ignored", out));
  filter.flush(out);
  CHECK(out == "Hello ");
}

TEST_CASE("stop: text that only looked like a stop string comes out at once it cannot be one") {
  StopFilter filter({"</end>"});
  std::string out;
  CHECK_FALSE(filter.push("a </e", out));
  CHECK_FALSE(filter.push("x", out));
  CHECK(out == "a </ex");
  CHECK_FALSE(filter.push("</", out));
  filter.flush(out);
  CHECK(out == "a </ex</");
}

TEST_CASE(
    "stop: any cutting of a text gives what cutting the whole text at the first stop string "
    "gives") {
  std::mt19937 random(7);
  const std::vector<std::string> stops = {"aba", "bb", "abcab"};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (size_t i = 0, n = random() % 20; i < n; ++i) text += static_cast<char>('a' + random() % 3);
    // the stop string that is complete first ends the text
    size_t cut = std::string::npos, end = std::string::npos;
    for (size_t e = 1; e <= text.size() && end == std::string::npos; ++e) {
      for (const std::string& stop : stops) {
        if (e >= stop.size() && text.compare(e - stop.size(), stop.size(), stop) == 0) {
          end = e;
          cut = std::min(cut, e - stop.size());
        }
      }
    }
    StopFilter filter(stops);
    std::string out;
    bool stopped = false;
    for (size_t at = 0; at < text.size() && !stopped;) {
      const size_t n = 1;
      stopped = filter.push(text.substr(at, n), out);
      at += n;
    }
    if (!stopped) filter.flush(out);
    CHECK(stopped == (end != std::string::npos));
    CHECK(out == text.substr(0, std::min(cut, text.size())));
  }
}
