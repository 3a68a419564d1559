// TokenTable: the vocabulary of a file: each id's kind, score, key and piece.
//
//   file text  --key-->  what text must spell to become this id      --piece-->  bytes it adds to the output
//   "Ġthe"     " the"    (byte_level: the alphabet undone)           " the"
//   "▁the"     "▁the"    (marks: keys keep the SentencePiece mark)   " the"
//   "<0x0A>"   -         (only byte fallback reaches it)             "\n"
//   "<|end|>"  -         (only special matching reaches it)          "<|end|>"
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/metadata.h"
#include "tokenizer/string_index.h"
#include "tokenizer/tokenizer.h"

namespace llmrt {

// Numbers of tokenizer.ggml.token_type.
enum class TokenKind : uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

enum class KeyForm : uint8_t { byte_level, marks };

class TokenTable {
 public:
  // Reads tokens, scores and token types. Errors name the key, what was found and what is wanted.
  static Result<TokenTable> read(const Metadata& metadata);

  uint32_t size() const { return static_cast<uint32_t>(kinds_.size()); }
  std::string_view text(Token id) const {
    return (*texts_)[static_cast<size_t>(id)];
  }  // only until index()
  TokenKind kind(Token id) const { return kinds_[static_cast<size_t>(id)]; }
  void set_kind(Token id, TokenKind kind) { kinds_[static_cast<size_t>(id)] = kind; }
  float score(Token id) const { return scores_.empty() ? 0.0f : scores_[static_cast<size_t>(id)]; }

  // Makes keys and pieces, once the kinds are settled. The file's texts are no longer referenced afterwards.
  void index(KeyForm form);

  KeyForm form() const { return form_; }
  // Number of a key: a token id, or for strings known only from merges a number from size() on; StringIndex::kNone if unknown.
  uint32_t find_key(std::string_view key) const { return index_.find(keys_, key); }
  uint32_t find_key(const StringIndex::Key& hashed, std::string_view key) const {
    return index_.find(keys_, hashed, key);
  }
  void prefetch(const StringIndex::Key& hashed) const { index_.prefetch(hashed); }
  uint32_t add_key(std::string_view key);  // of merges alone
  // False for a token whose text another one before it has, or that has none.
  bool is_indexed(uint32_t id) const {
    return !std::binary_search(without_key_.begin(), without_key_.end(), static_cast<Token>(id));
  }
  uint32_t n_keys() const { return static_cast<uint32_t>(keys_.size()); }
  std::string_view key(uint32_t number) const { return keys_[number]; }
  std::string_view piece(Token id) const { return pieces_[static_cast<size_t>(id)]; }
  // The token that stands for one byte where nothing longer does, -1 if the vocabulary has none.
  Token byte_token(uint8_t byte) const { return byte_tokens_[byte]; }

 private:
  void add_token_key(Token id);
  void add_piece(Token id);

  const StringArray* texts_ = nullptr;
  KeyForm form_ = KeyForm::marks;
  std::vector<TokenKind> kinds_;
  std::vector<float> scores_;
  StringPool keys_;    // [size() + strings of merges alone]; empty where a token has no key
  StringPool pieces_;  // [size()]
  StringIndex index_;
  std::vector<Token> without_key_;  // ascending
  std::array<Token, 256> byte_tokens_{};
};

}  // namespace llmrt
