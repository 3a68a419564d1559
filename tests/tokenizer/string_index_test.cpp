#include "tokenizer/string_index.h"

#include <doctest/doctest.h>

#include <random>
#include <unordered_map>

using namespace llmrt;

TEST_CASE(
    "string index: finds what a hash map finds, for strings of every length and with zeros "
    "inside") {
  std::mt19937 random(7);
  StringPool pool;
  StringIndex index;
  std::unordered_map<std::string, uint32_t> reference;
  for (uint32_t i = 0; i < 4000; ++i) {
    std::string text(random() % 20, '\0');
    for (char& c : text)
      c = static_cast<char>(random() % 3);  // few letters: many equal strings and common prefixes
    pool.add(text);
    CHECK(index.insert(pool, i) == reference.emplace(text, i).second);
  }
  for (uint32_t i = 0; i < 4000; ++i)
    CHECK(index.find(pool, pool[i]) == reference[std::string(pool[i])]);
  for (uint32_t i = 0; i < 4000; ++i) {
    std::string text(random() % 24, '\0');
    for (char& c : text) c = static_cast<char>(random() % 3);
    const auto at = reference.find(text);
    CHECK(index.find(pool, text) == (at == reference.end() ? StringIndex::kNone : at->second));
  }
}

TEST_CASE("string index: an empty index finds nothing") {
  CHECK(StringIndex().find(StringPool(), "a") == StringIndex::kNone);
}
