#include "base/status.h"

#include <doctest/doctest.h>

using namespace llmrt;

namespace {
Result<int> half_of(int n) {
  if (n % 2) return error(Code::invalid_argument, "n: %d is odd", n);
  return n / 2;
}
Result<int> quarter_of(int n) {
  LLMRT_ASSIGN(const int half, half_of(n));
  return half_of(half);
}
}  // namespace

TEST_CASE("status: a failure keeps code, sentence and place through copies and moves") {
  Status s = error(Code::format, "%s: version %d", "a.gguf", 9).at("a.gguf").sys(5).at_line(3, 7);
  const Status copy = s;
  const Status moved = std::move(s);
  for (const Status* t : {&copy, &moved}) {
    CHECK(t->code() == Code::format);
    CHECK(t->message() == "a.gguf: version 9");
    CHECK(t->detail()->where == "a.gguf");
    CHECK(t->detail()->sys_code == 5);
    CHECK(t->detail()->line == 3);
    CHECK(t->detail()->column == 7);
  }
}

TEST_CASE("status: a sentence that is too long loses its middle between two code points") {
  const std::string fits(kMostMessage, 'x');
  CHECK(Status(Code::io, fits).message() == fits);
  for (size_t shift = 0; shift < 4; ++shift) {
    std::string name(shift, 'x');
    while (name.size() < 5000) name += "\xf0\x9f\xa6\x99";
    const Status s = error(Code::io, "%s: no such file", name.c_str());
    const std::string message(s.message());
    CHECK(message.size() <= kMostMessage);
    CHECK(message.size() > kMostMessage - 8);
    CHECK(message.ends_with("\x99: no such file"));
    const size_t gap = message.find("\x99 ... \xf0");
    REQUIRE(gap != std::string::npos);
    CHECK((gap + 1 - shift) % 4 == 0);
  }
}

TEST_CASE("result: LLMRT_ASSIGN hands a failure on and a value over") {
  CHECK(*quarter_of(8) == 2);
  auto bad = quarter_of(6);
  CHECK_FALSE(bad.ok());
  CHECK(bad.status().message() == "n: 3 is odd");
}
