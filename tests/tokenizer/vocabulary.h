// Vocabularies for tests: from a file, or a few tokens made in memory.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/metadata.h"
#include "formats/weight_source.h"
#include "tokenizer/tokenizer.h"

namespace llmrt::test {

using Ids = std::vector<Token>;

inline StringArray strings(const std::vector<std::string>& list) {
  StringArray out;
  out.begin.push_back(0);
  for (const auto& text : list) {
    out.blob += text;
    out.begin.push_back(out.blob.size());
  }
  return out;
}

struct Vocabulary {
  Metadata metadata;
  std::vector<std::string> tokens, merges;
  std::vector<int64_t> types;
  std::vector<double> scores;

  Token add(std::string text, int64_t type = 1, double score = 0) {
    tokens.push_back(std::move(text));
    types.push_back(type);
    scores.push_back(score);
    return static_cast<Token>(tokens.size() - 1);
  }
  template <class T>
  Vocabulary& set(const std::string& key, T value) {
    metadata.add(key, MetaValue{std::move(value), ""}, true);
    return *this;
  }
  Vocabulary& set(const std::string& key, const char* value) {
    return set(key, std::string(value));
  }
  // Tokens, types, scores, merges written into the metadata.
  const Metadata& finish() {
    set("tokenizer.ggml.tokens", strings(tokens));
    set("tokenizer.ggml.token_type", types);
    set("tokenizer.ggml.scores", scores);
    if (!merges.empty()) set("tokenizer.ggml.merges", strings(merges));
    return metadata;
  }
};

// gpt2 model: the ASCII letters, digits and signs as one-byte tokens, "\xC4\xA0" (U+0120) for the blank, "\xC4\x8A" for the newline.
inline Vocabulary ascii_bpe(const char* pre) {
  Vocabulary v;
  v.set("tokenizer.ggml.model", "gpt2").set("tokenizer.ggml.pre", pre);
  for (char c = '!'; c <= '~'; ++c) v.add(std::string(1, c));
  v.add("\xC4\xA0");
  v.add("\xC4\x8A");
  return v;
}

// llama model: <unk>, <s>, </s>, 256 byte tokens, then what the test adds.
inline Vocabulary small_spm() {
  Vocabulary v;
  v.set("tokenizer.ggml.model", "llama");
  v.add("<unk>", 2);
  v.add("<s>", 3);
  v.add("</s>", 3);
  const char* hex = "0123456789ABCDEF";
  for (unsigned b = 0; b < 256; ++b) v.add(std::string("<0x") + hex[b >> 4] + hex[b & 15] + ">", 6);
  return v;
}

inline std::unique_ptr<Tokenizer> make(Vocabulary& v) {
  auto made = Tokenizer::make(v.finish());
  INFO(std::string(made.status().message()));
  REQUIRE(made.ok());
  return std::move(made).value();
}

inline Ids encode(const Tokenizer& t, std::string_view text, bool add_special = false,
                  bool parse_special = false) {
  auto ids = t.encode(text, add_special, parse_special);
  INFO(std::string(ids.status().message()));
  REQUIRE(ids.ok());
  return std::move(ids).value();
}

inline std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path) {
  INFO(path);
  auto source = source_from_path(path);
  REQUIRE(source.ok());
  auto weights = open_weights(*source, {}, {});
  INFO(std::string(weights.status().message()));
  REQUIRE(weights.ok());
  auto made = Tokenizer::make((*weights)->metadata());
  INFO(std::string(made.status().message()));
  REQUIRE(made.ok());
  return std::move(made).value();
}

}  // namespace llmrt::test
