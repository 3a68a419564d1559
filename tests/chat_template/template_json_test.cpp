#include "chat_template/template_json.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "chat_template/template_text.h"

using namespace llmrt;
using namespace llmrt::jinja;

namespace {

std::string round_trip(std::string_view json) {
  Arena arena(1 << 20);
  auto value = json_value(json, arena, true);
  INFO(std::string(value.status().message()));
  REQUIRE(value.ok());
  TextBuilder out(1 << 20);
  REQUIRE(write_json(out, value.value(), {}).ok());
  return out.bytes();
}

std::string failure(std::string_view json) {
  Arena arena(1 << 20);
  auto value = json_value(json, arena, true);
  INFO(std::string(json));
  REQUIRE_FALSE(value.ok());
  CHECK(value.status().code() == Code::invalid_argument);
  return std::string(value.status().message());
}

}  // namespace

TEST_CASE("json_reader: values come back as json.dumps writes them") {
  for (const char* same :
       {"null", "true", "false", "0", "-1", "2.5", "\"\"", "[]", "{}", "[1, [2, {\"a\": []}]]",
        "{\"b\": 1, \"a\": {\"c\": null}}", "9223372036854775807", "-9223372036854775808",
        "9223372036854775808", "123456789012345678901234567890", "1e+16", "1e-07", "100.0"})
    CHECK(round_trip(same) == same);
  CHECK(round_trip(" [ 1 ,\n\t2 ] ") == "[1, 2]");
  CHECK(round_trip("{\"a\": 1, \"b\": 2, \"a\": 3}") == "{\"a\": 3, \"b\": 2}");
  CHECK(round_trip("1E5") == "100000.0");
  CHECK(round_trip("-0") == "0");
  CHECK(round_trip("-0.0") == "-0.0");
  CHECK(round_trip("1e999") == "Infinity");
  CHECK(round_trip(R"("\u00e9\ud83e\udd99\/\b\f\n\r\t\"\\\u0001")") ==
        "\"\xC3\xA9\xF0\x9F\xA6\x99/\\b\\f\\n\\r\\t\\\"\\\\\\u0001\"");
}

TEST_CASE("json_reader: what is not JSON is refused with its offset") {
  for (const char* bad : {"",
                          " ",
                          "{",
                          "[",
                          "[1",
                          "[1,",
                          "[1,]",
                          "[,1]",
                          "{\"a\"}",
                          "{\"a\":}",
                          "{\"a\":1,}",
                          "{,}",
                          "{a:1}",
                          "[1 2]",
                          "1 2",
                          "nul",
                          "tru",
                          "01",
                          "1.",
                          ".5",
                          "1e",
                          "+1",
                          "--1",
                          "\"",
                          "\"\\x\"",
                          "\"\\u12\"",
                          "\"\\ud800\"",
                          "\"\\udc00\"",
                          "\"\\ud800\\u0041\"",
                          "\"\n\"",
                          "\"\xFF\"",
                          "'a'",
                          "]",
                          "}",
                          "[}",
                          "{]",
                          "[1}",
                          "{\"a\":1]",
                          "NaN",
                          "Infinity",
                          "// c\n1"})
    CHECK(failure(bad).find("not JSON at byte ") == 0);
  CHECK(failure("[1, x]") == "not JSON at byte 4: expected a value");
}

TEST_CASE("json_reader: nesting is bounded") {
  const auto nested = [](size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  CHECK(round_trip(nested(kMaxJsonDepth)) == nested(kMaxJsonDepth));
  CHECK(failure(nested(kMaxJsonDepth + 1)).find("deeper than 64") != std::string::npos);
  failure(std::string(1 << 16, '['));
}

TEST_CASE("json_reader: skip moves past a whole value") {
  JsonReader reader(R"({"a": [1, {"b": [2]}], "c": "d"})");
  using Token = JsonReader::Token;
  CHECK(reader.next().value() == Token::begin_object);
  CHECK(reader.next().value() == Token::key);
  CHECK(reader.text() == "a");
  const Token first = reader.next().value();
  CHECK(first == Token::begin_array);
  CHECK(reader.skip(first).ok());
  CHECK(reader.next().value() == Token::key);
  CHECK(reader.text() == "c");
  CHECK(reader.next().value() == Token::string);
  CHECK(reader.raw() == "\"d\"");
  CHECK(reader.next().value() == Token::end_object);
  CHECK(reader.next().value() == Token::end);
}

TEST_CASE("json_reader: members named as trusted keep the template's origin") {
  Arena arena(1 << 20);
  const std::string_view trusted[] = {"b"};
  auto value = json_value(R"({"a": {"b": "x"}, "b": ["y"], "c": "z"})", arena, true, trusted);
  REQUIRE(value.ok());
  const Dict& dict = *value.value().dict;
  CHECK(dict.find("a")->dict->find("b")->text->input);
  CHECK_FALSE(dict.find("b")->list->items[0].text->input);
  CHECK(dict.find("c")->text->input);
}
