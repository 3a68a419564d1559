#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "formats/metadata.h"

using namespace llmrt;

namespace {

std::string refusal(const std::string& json) {
  Metadata m;
  m.add("kept", {uint64_t{1}, "u32"});
  const Status status = m.apply_overrides(json);
  CHECK(status.code() == Code::invalid_argument);
  CHECK(m.size() == 1);  // all or nothing
  CHECK(*m.get_int("kept").value() == 1);
  return std::string(status.message());
}

}  // namespace

TEST_CASE("overrides: values replace or add, with the type that JSON gives them") {
  Metadata m;
  m.add("a", {uint64_t{1}, "u32"});
  REQUIRE(
      m.apply_overrides(
           R"({"a": 24, "b": -3, "c": 1.5, "d": true, "e": "x\u00e9", "f": [1, 2], "g": [1, -2], "h": [1, 0.5],
                               "i": ["p", ""], "j": [], "k": [false]})")
          .ok());
  CHECK(m.size() == 11);
  CHECK(m.key_at(0) == "a");
  CHECK(*m.get_int("a").value() == 24);
  CHECK(*m.get_int("b").value() == -3);
  CHECK(*m.get_float("c").value() == 1.5);
  CHECK(*m.get_bool("d").value());
  CHECK(*m.get_string("e").value() == "x\xc3\xa9");
  CHECK(*m.get_ints("f").value() == std::vector<int64_t>{1, 2});
  CHECK(*m.get_ints("g").value() == std::vector<int64_t>{1, -2});
  CHECK(*m.get_floats("h").value() == std::vector<double>{1, 0.5});
  CHECK((*m.get_strings("i").value())[0] == "p");
  CHECK(m.get_strings("i").value()->size() == 2);
  CHECK(m.get_strings("j").value()->size() == 0);
  CHECK(m.find("k")->type_name == std::string("arr[bool]"));
  CHECK(m.apply_overrides("{}").ok());
}

TEST_CASE("overrides: each mistake is one sentence and changes nothing") {
  const std::string start = "metadata_overrides: ";
  CHECK(refusal("{\"kept\": 5, \"a\": ") == start + "not valid JSON at byte 18");
  CHECK(refusal("[1]") == start + "a JSON object {\"key\": value} is needed");
  CHECK(refusal("3") == start + "a JSON object {\"key\": value} is needed");
  CHECK(refusal("null") == start + "a JSON object {\"key\": value} is needed");
  CHECK(refusal("{\"kept\": 5, \"a\": null}") == start + "key \"a\" is null, a value is needed");
  CHECK(refusal("{\"a\": {}}") ==
        start + "key \"a\" is an object; allowed: a scalar or an array of scalars");
  CHECK(refusal("{\"a\": [{}]}") ==
        start + "key \"a\" is an object; allowed: a scalar or an array of scalars");
  CHECK(refusal("{\"a\": [[1]]}") ==
        start + "key \"a\" is an array of arrays; allowed: a scalar or an array of scalars");
  CHECK(refusal("{\"a\": [1, \"x\"]}") ==
        start + "key \"a\" is an array of mixed types, one type is needed");
  CHECK(refusal("{\"kept\": 5, \"kept\": 6}") == start + "key \"kept\" is given twice");
  CHECK(refusal("{\"\": 6}") == start + "a key is empty");
  CHECK(refusal("{\"a\": 1} x").starts_with(start + "not valid JSON"));
  CHECK(refusal("").starts_with(start + "not valid JSON"));
  CHECK(refusal("{\"a\": \"\xff\"}").starts_with(start + "not valid JSON"));
  CHECK(refusal("{\"a\": 1e999}").starts_with(start));
  CHECK(refusal("{\"a\": " + std::string(100000, '[')).starts_with(start));
}
