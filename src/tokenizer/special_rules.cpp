#include "tokenizer/special_rules.h"

#include <algorithm>
#include <array>
#include <optional>

namespace llmrt {

namespace {

enum Role : uint32_t { kEnd = 1, kTurn = 2, kMessage = 4, kPrefix = 8, kSuffix = 16, kMiddle = 32 };

struct KnownText {
  std::string_view text;
  uint32_t roles;
};

// Files seldom name their end-of-turn tokens, so they are known by text, as in llama.cpp (llama-vocab.cpp). Among several texts
// of one role the earlier line wins.
constexpr std::array kKnown = {
    KnownText{"<|eot_id|>", kEnd | kTurn},
    KnownText{"<|im_end|>", kEnd | kTurn},
    KnownText{"<|end|>", kEnd | kTurn},
    KnownText{"<end_of_turn>", kEnd | kTurn},
    KnownText{"<|endoftext|>", kEnd | kTurn},
    KnownText{"<|end_of_text|>", kEnd | kTurn},
    KnownText{"<EOT>", kEnd | kTurn},
    KnownText{"_<EOT>", kEnd | kTurn},
    KnownText{"[EOT]", kEnd | kTurn},
    KnownText{"<\xEF\xBD\x9C"
              "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
              kEnd | kTurn},
    KnownText{"<end_of_utterance>", kEnd | kTurn},
    KnownText{"<|eom_id|>", kEnd | kMessage},
    KnownText{"<|return|>", kEnd},
    KnownText{"<|call|>", kEnd},
    KnownText{"<|flush|>", kEnd},
    KnownText{"<|calls|>", kEnd},
    KnownText{"</s>", kEnd},
    KnownText{"[EOS]", kEnd},
    KnownText{"<eos>", kEnd},
    KnownText{"<turn|>", kEnd},
    KnownText{"<|tool_response>", kEnd},
    KnownText{"[e~[", kEnd},
    // Between files and after a fill-in-the-middle there is nothing more to say.
    KnownText{"<|fim_pad|>", kEnd},
    KnownText{"<fim-pad>", kEnd},
    KnownText{"<fim_pad>", kEnd},
    KnownText{"<PAD>", kEnd},
    KnownText{"[PAD]", kEnd},
    KnownText{"<|fim_repo|>", kEnd},
    KnownText{"<|repo_name|>", kEnd},
    KnownText{"<fim-repo>", kEnd},
    KnownText{"<REPO>", kEnd},
    KnownText{"<reponame>", kEnd},
    KnownText{"<|file_sep|>", kEnd},
    KnownText{"<|fim_prefix|>", kPrefix},
    KnownText{"<fim-prefix>", kPrefix},
    KnownText{"<fim_prefix>", kPrefix},
    KnownText{"<\xEF\xBD\x9C"
              "fim\xE2\x96\x81"
              "begin\xEF\xBD\x9C>",
              kPrefix},
    KnownText{"<PRE>", kPrefix},
    KnownText{"\xE2\x96\x81<PRE>", kPrefix},
    KnownText{"<|code_prefix|>", kPrefix},
    KnownText{"<|prefix|>", kPrefix},
    KnownText{"<|fim_suffix|>", kSuffix},
    KnownText{"<fim-suffix>", kSuffix},
    KnownText{"<fim_suffix>", kSuffix},
    KnownText{"<\xEF\xBD\x9C"
              "fim\xE2\x96\x81hole\xEF\xBD\x9C>",
              kSuffix},
    KnownText{"<SUF>", kSuffix},
    KnownText{"\xE2\x96\x81<SUF>", kSuffix},
    KnownText{"<|code_suffix|>", kSuffix},
    KnownText{"<|suffix|>", kSuffix},
    KnownText{"<|fim_middle|>", kMiddle},
    KnownText{"<fim-middle>", kMiddle},
    KnownText{"<fim_middle>", kMiddle},
    KnownText{"<\xEF\xBD\x9C"
              "fim\xE2\x96\x81"
              "end\xEF\xBD\x9C>",
              kMiddle},
    KnownText{"<MID>", kMiddle},
    KnownText{"\xE2\x96\x81<MID>", kMiddle},
    KnownText{"<|code_middle|>", kMiddle},
    KnownText{"<|middle|>", kMiddle},
};

// Found id of each known text, -1 where the vocabulary lacks it; the first of equal texts.
using Found = std::array<Token, kKnown.size()>;

Found find_known(const TokenTable& table) {
  std::array<uint8_t, kKnown.size()> order{};
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint8_t>(i);
  std::sort(order.begin(), order.end(),
            [](uint8_t a, uint8_t b) { return kKnown[a].text < kKnown[b].text; });
  Found found;
  found.fill(-1);
  for (Token id = 0; id < static_cast<Token>(table.size()); ++id) {
    const std::string_view text = table.text(id);
    if (text.size() < 4 || text.size() > 32) continue;
    const char first = text[0];
    if (first != '<' && first != '[' && first != '_' && first != '\xE2') continue;
    const auto at =
        std::lower_bound(order.begin(), order.end(), text,
                         [](uint8_t a, std::string_view t) { return kKnown[a].text < t; });
    if (at != order.end() && kKnown[*at].text == text && found[*at] < 0) found[*at] = id;
  }
  return found;
}

Token first_of(const Found& found, const std::vector<uint32_t>& roles, uint32_t role) {
  for (size_t i = 0; i < found.size(); ++i)
    if ((roles[i] & role) != 0) return found[i];
  return -1;
}

Token id_of(const Found& found, std::string_view text) {
  for (size_t i = 0; i < found.size(); ++i)
    if (kKnown[i].text == text) return found[i];
  return -1;
}

// An id outside the vocabulary counts as absent: converters write -1 as 4294967295.
Status read_id(const Metadata& metadata, const char* key, uint32_t n_vocab, Token& id) {
  LLMRT_ASSIGN(const std::optional<int64_t> value, metadata.get_int(key));
  if (value && *value >= 0 && *value < n_vocab) id = static_cast<Token>(*value);
  if (id >= static_cast<Token>(n_vocab)) id = -1;
  return {};
}

Status read_flag(const Metadata& metadata, const char* key, const char* id_key, Token id,
                 bool& flag) {
  LLMRT_ASSIGN(const std::optional<bool> value, metadata.get_bool(key));
  if (value && *value && id < 0)
    return error(Code::format, "%s is true, but %s names no token of the vocabulary", key, id_key);
  flag = value.value_or(flag) && id >= 0;
  return {};
}

// Two families give one of these texts another meaning.
void apply_exceptions(const Found& found, std::vector<uint32_t>& roles) {
  const auto has = [&](std::string_view text) { return id_of(found, text) >= 0; };
  // <|end|> closes a message there, not the turn
  const bool harmony = has("<|call|>") && has("<|return|>");
  const bool solar = (has("<|call|>") || has("<|calls|>")) && has("<|flush|>");
  for (size_t i = 0; i < kKnown.size(); ++i) {
    if (kKnown[i].text == "<|end|>" && (harmony || solar)) roles[i] = 0;
    if (kKnown[i].text == "</s>" && has("<|tool_response>")) roles[i] = 0;  // Gemma 4: HTML
  }
}

}  // namespace

Result<SpecialRules> read_special_rules(const Metadata& metadata, TokenTable& table,
                                        const SpecialDefaults& defaults) {
  SpecialRules rules;
  SpecialTokens& t = rules.tokens;
  t.bos = defaults.bos;
  t.eos = defaults.eos;
  t.unk = defaults.unk;
  struct Key {
    const char* name;
    Token& id;
  };
  // The first three are older spellings: the newer key wins where both stand.
  const Key keys[] = {
      {"tokenizer.ggml.prefix_token_id", t.fim_prefix},
      {"tokenizer.ggml.suffix_token_id", t.fim_suffix},
      {"tokenizer.ggml.middle_token_id", t.fim_middle},
      {"tokenizer.ggml.bos_token_id", t.bos},
      {"tokenizer.ggml.eos_token_id", t.eos},
      {"tokenizer.ggml.eot_token_id", t.eot},
      {"tokenizer.ggml.eom_token_id", t.eom},
      {"tokenizer.ggml.unknown_token_id", t.unk},
      {"tokenizer.ggml.seperator_token_id", t.sep},
      {"tokenizer.ggml.padding_token_id", t.pad},
      {"tokenizer.ggml.fim_pre_token_id", t.fim_prefix},
      {"tokenizer.ggml.fim_suf_token_id", t.fim_suffix},
      {"tokenizer.ggml.fim_mid_token_id", t.fim_middle},
  };
  for (const Key& key : keys) LLMRT_TRY(read_id(metadata, key.name, table.size(), key.id));
  t.add_bos = defaults.add_bos;
  LLMRT_TRY(read_flag(metadata, "tokenizer.ggml.add_bos_token", "tokenizer.ggml.bos_token_id",
                      t.bos, t.add_bos));
  LLMRT_TRY(read_flag(metadata, "tokenizer.ggml.add_eos_token", "tokenizer.ggml.eos_token_id",
                      t.eos, t.add_eos));

  const Found found = find_known(table);
  std::vector<uint32_t> roles(kKnown.size());
  for (size_t i = 0; i < kKnown.size(); ++i) roles[i] = found[i] >= 0 ? kKnown[i].roles : 0;
  apply_exceptions(found, roles);

  rules.ends_generation.resize(table.size());
  const auto ends = [&](Token id) {
    if (id >= 0) rules.ends_generation[static_cast<size_t>(id)] = true;
  };
  for (size_t i = 0; i < kKnown.size(); ++i) {
    if (roles[i] == 0) continue;
    table.set_kind(found[i], TokenKind::control);
    if ((roles[i] & kEnd) != 0) ends(found[i]);
  }
  if (t.eot < 0) t.eot = first_of(found, roles, kTurn);
  if (t.eom < 0) t.eom = first_of(found, roles, kMessage);
  if (t.fim_prefix < 0) t.fim_prefix = first_of(found, roles, kPrefix);
  if (t.fim_suffix < 0) t.fim_suffix = first_of(found, roles, kSuffix);
  if (t.fim_middle < 0) t.fim_middle = first_of(found, roles, kMiddle);
  ends(t.eos);
  ends(t.eot);
  ends(t.eom);
  return rules;
}

}  // namespace llmrt
