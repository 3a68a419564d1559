// Tokenizer::Impl: from a file's metadata.
#include <string>

#include "base/in_quotes.h"
#include "tokenizer/special_rules.h"
#include "tokenizer/tokenizer_impl.h"

namespace llmrt {

namespace {

// Phi-3's added tokens swallow the white space behind them; the file does not say so (nor does its converter write it).
std::vector<bool> tokens_that_eat_blanks(const TokenTable& table, std::string_view model_name) {
  std::vector<bool> eats(table.size());
  std::string name(model_name);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (name.find("phi-3") == std::string::npos && name.find("phi3") == std::string::npos)
    return eats;
  for (Token id = 0; id < static_cast<Token>(table.size()); ++id) {
    const TokenKind kind = table.kind(id);
    const std::string_view text = table.text(id);
    const bool special =
        kind == TokenKind::control || kind == TokenKind::unknown || kind == TokenKind::user_defined;
    eats[static_cast<size_t>(id)] =
        special && text != "<unk>" && text != "<s>" && text != "<|endoftext|>";
  }
  return eats;
}

Status unknown_pretokenizer(std::string_view name) {
  return error(Code::unsupported,
               "tokenizer.ggml.pre names the pre-tokenizer %s, which is not known (known: "
               "llama-bpe, gpt-2, smollm, qwen2, "
               "deepseek-v3, falcon, gpt-4o, tekken, default and their kin)",
               in_quotes(name, 64).c_str());
}

}  // namespace

Status Tokenizer::Impl::read(const Metadata& metadata) {
  LLMRT_ASSIGN(const std::optional<std::string_view> model,
               metadata.get_string("tokenizer.ggml.model"));
  if (!model) return error(Code::format, "tokenizer.ggml.model is missing");
  const bool is_spm = *model == "llama";
  const bool is_gemma4 = *model == "gemma4";
  if (!is_spm && !is_gemma4 && *model != "gpt2")
    return error(Code::unsupported,
                 "tokenizer.ggml.model is %s, supported are gpt2, llama and gemma4",
                 in_quotes(*model, 64).c_str());

  SpecialDefaults defaults;
  const PretokenizerSpec* spec = nullptr;
  if (is_spm) {
    defaults = {true, 1, 2, 0};
    add_space_prefix_ = true;
    LLMRT_ASSIGN(const std::optional<bool> prefix,
                 metadata.get_bool("tokenizer.ggml.add_space_prefix"));
    add_space_prefix_ = prefix.value_or(true);
    LLMRT_ASSIGN(const std::optional<bool> remove,
                 metadata.get_bool("tokenizer.ggml.remove_extra_whitespaces"));
    remove_extra_whitespaces_ = remove.value_or(false);
  } else {
    LLMRT_ASSIGN(const std::optional<std::string_view> pre,
                 metadata.get_string("tokenizer.ggml.pre"));
    const std::string_view name = is_gemma4 ? std::string_view("gemma4") : pre.value_or("default");
    spec = find_pretokenizer(name.empty() ? "default" : name);
    if (!spec) return unknown_pretokenizer(name);
    defaults.add_bos = spec->add_bos;
  }

  LLMRT_ASSIGN(table_, TokenTable::read(metadata));
  LLMRT_ASSIGN(const SpecialRules rules, read_special_rules(metadata, table_, defaults));
  special_ = rules.tokens;
  LLMRT_ASSIGN(const std::optional<std::string_view> model_name,
               metadata.get_string("general.name"));
  LLMRT_ASSIGN(specials_, SpecialMatcher::make(
                              table_, tokens_that_eat_blanks(table_, model_name.value_or(""))));
  table_.index(is_spm || spec->marks ? KeyForm::marks : KeyForm::byte_level);

  attrs_.resize(table_.size());
  for (uint32_t i = 0; i < table_.size(); ++i) {
    const TokenKind kind = table_.kind(static_cast<Token>(i));
    uint32_t attr = rules.ends_generation[i] ? kTokenEndOfGeneration : 0u;
    if (kind == TokenKind::control || kind == TokenKind::unknown) attr |= kTokenControl;
    if (kind == TokenKind::byte) attr |= kTokenByte;
    if (kind == TokenKind::user_defined) attr |= kTokenUserDefined;
    if (kind == TokenKind::unused) attr |= kTokenUnused;
    attrs_[i] = static_cast<uint8_t>(attr);
  }

  if (is_spm) {
    spm_.emplace(table_);
    return {};
  }
  LLMRT_ASSIGN(pretokenizer_, Pretokenizer::make(*spec));
  LLMRT_ASSIGN(bpe_, Bpe::make(metadata, table_, specials_));
  return {};
}

}  // namespace llmrt
