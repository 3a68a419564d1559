#include "formats/metadata.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace llmrt;

namespace {

StringArray strings(const std::vector<std::string>& values) {
  StringArray out;
  out.begin.push_back(0);
  for (const auto& v : values) {
    out.blob += v;
    out.begin.push_back(out.blob.size());
  }
  return out;
}

Metadata sample() {
  Metadata m;
  m.add("i", {int64_t{-5}, "i32"});
  m.add("u", {uint64_t{7}, "u32"});
  m.add("big", {UINT64_MAX, "u64"});
  m.add("f", {double{0.1f}, "f32"});
  m.add("b", {true, "bool"});
  m.add("s", {std::string("text"), "str"});
  m.add("ss", {strings({"x", "", "yz"}), "arr[str]"});
  m.add("is", {std::vector<int64_t>{1, -2}, "arr[i32]"});
  m.add("us", {std::vector<uint64_t>{3, 4}, "arr[u8]"});
  m.add("fs", {std::vector<double>{double{0.1f}, 2.0}, "arr[f32]"});
  m.add("bs", {std::vector<bool>{true, false}, "arr[bool]"});
  m.add("none", {std::vector<uint64_t>{}, "arr[u64]"});
  return m;
}

template <class T>
std::string message_of(const Result<T>& result) {
  REQUIRE(!result.ok());
  CHECK(result.status().code() == Code::format);
  return std::string(result.status().message());
}

std::string json_of(const Metadata& m, std::string_view key, size_t max_elements = SIZE_MAX) {
  for (size_t i = 0; i < m.size(); ++i) {
    if (m.key_at(i) == key) return m.json_at(i, max_elements);
  }
  return "absent";
}

}  // namespace

TEST_CASE("metadata: keys keep their order and adding twice needs replace") {
  Metadata m = sample();
  CHECK(m.size() == 12);
  CHECK(m.key_at(0) == "i");
  CHECK(m.key_at(11) == "none");
  CHECK(!m.add("u", {uint64_t{8}, "u32"}));
  CHECK(*m.get_int("u").value() == 7);
  CHECK(m.add("u", {uint64_t{8}, "u32"}, true));
  CHECK(*m.get_int("u").value() == 8);
  CHECK(m.key_at(1) == "u");
  CHECK(m.size() == 12);
  CHECK(m.find("absent") == nullptr);
}

TEST_CASE("metadata: absent keys are not errors") {
  const Metadata m = sample();
  CHECK(!m.get_int("absent").value());
  CHECK(!m.get_float("absent").value());
  CHECK(!m.get_bool("absent").value());
  CHECK(!m.get_string("absent").value());
  CHECK(m.get_strings("absent").value() == nullptr);
  CHECK(!m.get_ints("absent").value());
  CHECK(!m.get_floats("absent").value());
}

TEST_CASE("metadata: integers of any width convert when they fit, and to float") {
  const Metadata m = sample();
  CHECK(*m.get_int("i").value() == -5);
  CHECK(*m.get_int("u").value() == 7);
  CHECK(*m.get_float("u").value() == 7.0);
  CHECK(*m.get_float("i").value() == -5.0);
  CHECK(*m.get_float("f").value() == double{0.1f});
  CHECK(*m.get_bool("b").value());
  CHECK(*m.get_string("s").value() == "text");
  CHECK(message_of(m.get_int("big")) ==
        "metadata key \"big\" is 18446744073709551615, at most 2^63 - 1 is allowed");
  CHECK(*m.get_ints("us").value() == std::vector<int64_t>{3, 4});
  CHECK(*m.get_ints("is").value() == std::vector<int64_t>{1, -2});
  CHECK(*m.get_floats("us").value() == std::vector<double>{3, 4});
  CHECK(*m.get_floats("fs").value() == std::vector<double>{double{0.1f}, 2.0});
  const StringArray* ss = m.get_strings("ss").value();
  REQUIRE(ss->size() == 3);
  CHECK((*ss)[0] == "x");
  CHECK((*ss)[1].empty());
  CHECK((*ss)[2] == "yz");
}

TEST_CASE(
    "metadata: a value of another type is an error that names key, type found and type wanted") {
  const Metadata m = sample();
  CHECK(message_of(m.get_int("s")) == "metadata key \"s\" has type str, wanted is an integer");
  CHECK(message_of(m.get_int("f")) == "metadata key \"f\" has type f32, wanted is an integer");
  CHECK(message_of(m.get_float("b")) == "metadata key \"b\" has type bool, wanted is a number");
  CHECK(message_of(m.get_bool("u")) == "metadata key \"u\" has type u32, wanted is bool");
  CHECK(message_of(m.get_string("ss")) == "metadata key \"ss\" has type arr[str], wanted is str");
  CHECK(message_of(m.get_strings("us")) ==
        "metadata key \"us\" has type arr[u8], wanted is an array of str");
  CHECK(message_of(m.get_ints("fs")) ==
        "metadata key \"fs\" has type arr[f32], wanted is an array of integers");
  CHECK(message_of(m.get_ints("u")) ==
        "metadata key \"u\" has type u32, wanted is an array of integers");
  CHECK(message_of(m.get_floats("bs")) ==
        "metadata key \"bs\" has type arr[bool], wanted is an array of numbers");
  CHECK(m.get_int("s").status().detail()->where == "s");
}

TEST_CASE("metadata: an empty array answers for every element type") {
  const Metadata m = sample();
  CHECK(m.get_strings("none").value()->size() == 0);
  CHECK(m.get_ints("none").value()->empty());
  CHECK(m.get_floats("none").value()->empty());
  CHECK(!m.get_int("none").ok());
}

TEST_CASE("metadata: values as JSON text") {
  Metadata m = sample();
  CHECK(json_of(m, "i") == "-5");
  CHECK(json_of(m, "big") == "18446744073709551615");
  CHECK(json_of(m, "f") == "0.1");
  CHECK(json_of(m, "b") == "true");
  CHECK(json_of(m, "s") == "\"text\"");
  CHECK(json_of(m, "ss") == "[\"x\",\"\",\"yz\"]");
  CHECK(json_of(m, "ss", 2) == "[\"x\",\"\",\"...\"]");
  CHECK(json_of(m, "ss", 0) == "[\"...\"]");
  CHECK(json_of(m, "ss", 3) == "[\"x\",\"\",\"yz\"]");
  CHECK(json_of(m, "fs") == "[0.1,2]");
  CHECK(json_of(m, "bs") == "[true,false]");
  CHECK(json_of(m, "none", 0) == "[]");
  m.add("odd", {std::string("\xff\"\n\0", 4), "str"});
  CHECK(json_of(m, "odd") == "\"\xef\xbf\xbd\\\"\\n\\u0000\"");
  m.add("nan", {std::nan(""), "f64"});
  m.add("inf", {-std::numeric_limits<double>::infinity(), "f64"});
  CHECK(json_of(m, "nan") == "null");
  CHECK(json_of(m, "inf") == "null");
}
