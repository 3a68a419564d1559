// Tokenizer::Impl: from text to ids.
#include "tokenizer/tokenizer_impl.h"
#include "tokenizer/unicode.h"

namespace llmrt {

namespace {

// Offsets are 32 bit, and marks make three bytes of a blank.
constexpr size_t kMaxText = 0x40000000;

// SentencePiece's remove_extra_whitespaces.
std::string without_extra_blanks(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out.push_back(c);
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace

Result<std::vector<Token>> Tokenizer::Impl::encode_trusted(std::string_view text,
                                                           std::span<const TextSpan> trusted,
                                                           bool add_special) const {
  if (text.size() > kMaxText)
    return error(Code::invalid_argument, "utf8 has %zu bytes, at most %zu are allowed", text.size(),
                 kMaxText);
  LLMRT_TRY(check_utf8("utf8", text));

  std::vector<SpecialMatch> matches;
  specials_.find(text, trusted, matches);
  std::vector<Token> ids;
  ids.reserve(text.size() / 4 + matches.size() + 2);
  if (add_special && special_.add_bos) ids.push_back(special_.bos);
  Scratch scratch;
  size_t at = 0;
  for (const SpecialMatch& match : matches) {
    if (match.begin > at) LLMRT_TRY(encode_run(text.substr(at, match.begin - at), scratch, ids));
    ids.push_back(match.id);
    at = match.end;
  }
  if (at < text.size()) LLMRT_TRY(encode_run(text.substr(at), scratch, ids));
  if (add_special && special_.add_eos) ids.push_back(special_.eos);
  return ids;
}

// A run follows the start or a special token: the places where SPM puts its extra blank.
Status Tokenizer::Impl::encode_run(std::string_view run, Scratch& scratch,
                                   std::vector<Token>& ids) const {
  if (bpe_) return encode_bpe(run, scratch, ids);
  std::string single_blanks;
  if (remove_extra_whitespaces_) {
    single_blanks = without_extra_blanks(run);
    if (single_blanks.empty()) return {};
    run = single_blanks;
  }
  scratch.marked.clear();
  if (add_space_prefix_) scratch.marked += kBlankMark;
  append_blanks_as_marks(run, scratch.marked);
  spm_->encode(table_, scratch.marked, special_.unk, scratch.merge, ids);
  return {};
}

Status Tokenizer::Impl::encode_bpe(std::string_view run, Scratch& scratch,
                                   std::vector<Token>& ids) const {
  const PretokenizerSpec& spec = pretokenizer_->spec();
  if (spec.marks) {
    scratch.marked.clear();
    append_blanks_as_marks(run, scratch.marked);
    run = scratch.marked;
  }
  LLMRT_TRY(pretokenizer_->split(run, scratch.split, scratch.ends));
  uint32_t begin = 0;
  for (const uint32_t end : scratch.ends) {
    const std::string_view piece = run.substr(begin, end - begin);
    const bool whole_first = spec.whole_first || (spec.whole_newlines && piece[0] == '\n');
    bpe_->encode(table_, piece, whole_first, special_.unk, scratch.merge, ids);
    begin = end;
  }
  return {};
}

}  // namespace llmrt
