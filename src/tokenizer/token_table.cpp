#include "tokenizer/token_table.h"

#include "tokenizer/unicode.h"

namespace llmrt {

namespace {

// Ids are int32, and numbers of merge-only strings follow the ids.
constexpr size_t kMaxVocabulary = StringIndex::kMaxStrings / 2;

TokenKind kind_of(int64_t type) {
  // 0 ("undefined") and numbers to come are ordinary text.
  return type >= 1 && type <= 6 ? static_cast<TokenKind>(type) : TokenKind::normal;
}

bool spelled_by_text(TokenKind kind) {
  return kind == TokenKind::normal || kind == TokenKind::user_defined || kind == TokenKind::unused;
}

}  // namespace

Result<TokenTable> TokenTable::read(const Metadata& metadata) {
  TokenTable table;
  LLMRT_ASSIGN(table.texts_, metadata.get_strings("tokenizer.ggml.tokens"));
  if (!table.texts_) return error(Code::format, "tokenizer.ggml.tokens is missing");
  const size_t n = table.texts_->size();
  if (n == 0 || n > kMaxVocabulary)
    return error(Code::format, "tokenizer.ggml.tokens has %zu entries, 1 to %zu are allowed", n,
                 kMaxVocabulary);

  LLMRT_ASSIGN(const auto types, metadata.get_ints("tokenizer.ggml.token_type"));
  if (types && types->size() < n)
    return error(Code::format, "tokenizer.ggml.token_type has %zu entries for %zu tokens",
                 types->size(), n);
  LLMRT_ASSIGN(const auto scores, metadata.get_floats("tokenizer.ggml.scores"));
  if (scores && scores->size() < n)
    return error(Code::format, "tokenizer.ggml.scores has %zu entries for %zu tokens",
                 scores->size(), n);

  table.kinds_.resize(n, TokenKind::normal);
  if (types)
    for (size_t i = 0; i < n; ++i) table.kinds_[i] = kind_of((*types)[i]);
  if (scores) {
    table.scores_.resize(n);
    for (size_t i = 0; i < n; ++i) table.scores_[i] = static_cast<float>((*scores)[i]);
  }
  return table;
}

void TokenTable::add_token_key(Token id) {
  if (spelled_by_text(kind(id))) {
    if (form_ == KeyForm::marks)
      keys_.open() += text(id);
    else
      append_byte_level(text(id), keys_.open());
  }
  keys_.close();
}

void TokenTable::add_piece(Token id) {
  std::string& bytes = pieces_.open();
  const std::string_view t = text(id);
  switch (kind(id)) {
    case TokenKind::normal:
      if (form_ == KeyForm::marks)
        append_marks_as_blanks(t, bytes);
      else if (!keys_[static_cast<size_t>(id)].empty())
        bytes += keys_[static_cast<size_t>(id)];
      else
        bytes += t;
      break;
    case TokenKind::byte: {
      const int byte = parse_byte_token(t);
      if (byte >= 0)
        bytes.push_back(static_cast<char>(byte));
      else
        bytes += t;
      break;
    }
    case TokenKind::unused:
      break;  // padding of the table: no text
    case TokenKind::unknown:
    case TokenKind::control:
    case TokenKind::user_defined:
      bytes += t;
      break;
  }
  pieces_.close();
}

void TokenTable::index(KeyForm form) {
  form_ = form;
  const auto n = static_cast<Token>(size());
  keys_.reserve(size(), texts_->blob.size());
  pieces_.reserve(size(), texts_->blob.size());
  index_.reserve(size());
  byte_tokens_.fill(-1);
  for (Token id = 0; id < n; ++id) {
    add_token_key(id);
    add_piece(id);
    if (form != KeyForm::marks) continue;
    const int byte = parse_byte_token(text(id));
    if (byte >= 0 && byte_tokens_[static_cast<size_t>(byte)] < 0)
      byte_tokens_[static_cast<size_t>(byte)] = id;
  }
  constexpr size_t kAhead = 16;  // slots asked for before their turn: cache misses overlap
  for (size_t i = 0; i < size(); ++i) {
    if (i + kAhead < size()) index_.prefetch(StringIndex::make_key(keys_[i + kAhead]));
    if (keys_[i].empty() || !index_.insert(keys_, static_cast<uint32_t>(i)))
      without_key_.push_back(static_cast<Token>(i));
  }
  for (size_t b = 0; b < byte_tokens_.size(); ++b) {
    const char c = static_cast<char>(b);
    const uint32_t number = find_key(std::string_view(&c, 1));
    if (byte_tokens_[b] < 0 && number != StringIndex::kNone)
      byte_tokens_[b] = static_cast<Token>(number);
  }
  texts_ = nullptr;
}

uint32_t TokenTable::add_key(std::string_view key) {
  const auto number = static_cast<uint32_t>(keys_.size());
  keys_.add(key);
  index_.insert(keys_, number);
  return number;
}

}  // namespace llmrt
