#include "base/in_quotes.h"

#include <doctest/doctest.h>

using namespace llmrt;

TEST_CASE("in quotes: text is shown as printable ASCII") {
  CHECK(in_quotes("") == "\"\"");
  CHECK(in_quotes("a b") == "\"a b\"");
  CHECK(in_quotes("a\"b\\") == "\"a\\\"b\\\\\"");
  CHECK(in_quotes("\n\xc3\xa9\x7f") == "\"\\x0a\\xc3\\xa9\\x7f\"");
}

TEST_CASE("in quotes: long text is cut between two characters, escapes counted") {
  CHECK(in_quotes("abcd", 4) == "\"abcd\"");
  CHECK(in_quotes("abcde", 4) == "\"abcd...\"");
  CHECK(in_quotes("a\n", 5) == "\"a\\x0a\"");
  CHECK(in_quotes("ab\n", 5) == "\"ab...\"");
  CHECK(in_quotes(std::string(5000, '\xff')) == "\"" + [] {
    std::string twenty;
    for (int i = 0; i < 20; ++i) twenty += "\\xff";
    return twenty;
  }() + "...\"");
}
