#include "tokenizer/pretokenize.h"

#include <pcre2.h>

#include <string>

#include "base/memory.h"
#include "tokenizer/unicode.h"

namespace llmrt {

namespace {

// PCRE2's memory comes through the library's allocator; the size stands in front of each block.
constexpr size_t kBlockHeader = 16;

void* pcre2_alloc(size_t size, void*) {
  auto* p = static_cast<uint8_t*>(allocate(size + kBlockHeader, kBlockHeader));
  if (!p) return nullptr;
  *reinterpret_cast<size_t*>(p) = size + kBlockHeader;
  return p + kBlockHeader;
}

void pcre2_dealloc(void* block, void*) {
  if (!block) return;
  auto* p = static_cast<uint8_t*>(block) - kBlockHeader;
  deallocate(p, *reinterpret_cast<size_t*>(p), kBlockHeader);
}

struct PcreFree {
  void operator()(pcre2_general_context* p) const { pcre2_general_context_free(p); }
  void operator()(pcre2_compile_context* p) const { pcre2_compile_context_free(p); }
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
};
template <class T>
using PcrePtr = std::unique_ptr<T, PcreFree>;

PcrePtr<pcre2_general_context> make_context() {
  return PcrePtr<pcre2_general_context>(
      pcre2_general_context_create(pcre2_alloc, pcre2_dealloc, nullptr));
}

// White space of the Unicode database (White_Space). PCRE2's own \s also holds U+180E, which has left that class.
constexpr std::string_view kWhiteSpace =
    "\\t-\\r\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}"
    "\\x{3000}";

// \s and \S written out. \S does not occur inside brackets.
std::string with_white_space(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      if (escaped == 's' || escaped == 'S') {
        if (!in_class) out += escaped == 's' ? "[" : "[^";
        out += kWhiteSpace;
        if (!in_class) out += ']';
      } else {
        out += c;
        out += escaped;
      }
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    out += c;
  }
  return out;
}

// Steps of the interpreter for one match, where the compiled matcher cannot run; the expressions need a few per character.
constexpr uint32_t kMatchLimit = 1u << 30;
constexpr uint32_t kHeapLimitKib = 256u << 10;

}  // namespace

struct Pretokenizer::Program {
  PcrePtr<pcre2_general_context> context;
  PcrePtr<pcre2_match_context> limits;
  struct Pattern {
    PcrePtr<pcre2_code> code;
    bool compiled = false;  // to machine code; without (no executable memory) it is interpreted
  };
  std::vector<Pattern> patterns;
};

struct Pretokenizer::Workspace::State {
  PcrePtr<pcre2_general_context> context;
  PcrePtr<pcre2_match_data> match;
  std::vector<uint32_t> ends;
};

Pretokenizer::Workspace::Workspace() = default;
Pretokenizer::Workspace::~Workspace() = default;
Pretokenizer::Pretokenizer() = default;
Pretokenizer::Pretokenizer(Pretokenizer&&) noexcept = default;
Pretokenizer& Pretokenizer::operator=(Pretokenizer&&) noexcept = default;
Pretokenizer::~Pretokenizer() = default;

Result<Pretokenizer> Pretokenizer::make(const PretokenizerSpec& spec) {
  Pretokenizer pretokenizer;
  pretokenizer.spec_ = &spec;
  pretokenizer.program_ = std::make_unique<Program>();
  Program& program = *pretokenizer.program_;
  program.context = make_context();
  if (!program.context) return Status(Code::out_of_memory);
  program.limits.reset(pcre2_match_context_create(program.context.get()));
  const PcrePtr<pcre2_compile_context> settings(
      pcre2_compile_context_create(program.context.get()));
  if (!program.limits || !settings) return Status(Code::out_of_memory);
  pcre2_set_match_limit(program.limits.get(), kMatchLimit);
  pcre2_set_heap_limit(program.limits.get(), kHeapLimitKib);
  for (const char* pattern : spec.patterns) {
    const std::string text = with_white_space(pattern);
    int code = 0;
    PCRE2_SIZE offset = 0;
    Program::Pattern compiled;
    compiled.code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                      PCRE2_UTF | PCRE2_UCP, &code, &offset, settings.get()));
    if (!compiled.code) {
      if (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED)
        return Status(Code::out_of_memory);
      return error(Code::internal,
                   "pre-tokenizer %.*s: expression fails at offset %zu (PCRE2 error %d)",
                   static_cast<int>(spec.name.size()), spec.name.data(), offset, code);
    }
    compiled.compiled = pcre2_jit_compile(compiled.code.get(), PCRE2_JIT_COMPLETE) == 0;
    program.patterns.push_back(std::move(compiled));
  }
  return pretokenizer;
}

// One pass over one piece.
struct Pretokenizer::Cutter {
  const Pretokenizer& owner;
  const Program::Pattern& pattern;
  bool threes;
  pcre2_match_data* match;
  std::vector<uint32_t>& cuts;

  // A match at or behind `at`: 1 and the span in the match data, 0 for none, or a PCRE2 error.
  int next(std::string_view piece, size_t at) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(piece.data());
    pcre2_match_context* limits = owner.program_->limits.get();
    int rc = PCRE2_ERROR_JIT_STACKLIMIT;
    if (pattern.compiled)
      rc = pcre2_jit_match(pattern.code.get(), subject, piece.size(), at, PCRE2_NO_UTF_CHECK, match,
                           limits);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
      rc = pcre2_match(pattern.code.get(), subject, piece.size(), at,
                       PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, match, limits);
    return rc == PCRE2_ERROR_NOMATCH ? 0 : rc < 0 ? rc : 1;
  }

  // Appends where [begin, end) of the text is cut, its end included. The piece is matched as a text of its own: look-ahead sees
  // its end, as in a sequence of splits.
  Status cut(std::string_view text, uint32_t begin, uint32_t end) const {
    const std::string_view piece = text.substr(begin, end - begin);
    const PCRE2_SIZE* span = pcre2_get_ovector_pointer(match);
    size_t done = 0;
    while (done < piece.size()) {
      const int rc = next(piece, done);
      if (rc == 0) break;
      if (rc == PCRE2_ERROR_NOMEMORY) return Status(Code::out_of_memory);
      if (rc < 0)
        return error(
            Code::unsupported,
            "pre-tokenizer %.*s gave up at byte %zu of a text of %zu bytes (PCRE2 error %d)",
            static_cast<int>(owner.spec_->name.size()), owner.spec_->name.data(), begin + done,
            text.size(), rc);
      if (span[0] > done) cuts.push_back(begin + static_cast<uint32_t>(span[0]));  // the gap
      if (threes) cut_in_threes(text, begin + span[0], begin + span[1]);
      cuts.push_back(begin + static_cast<uint32_t>(span[1]));
      done = span[1];
    }
    if (done < piece.size()) cuts.push_back(end);
    return {};
  }

  // Inner cuts of a run of digits: 1234567 is 1|234|567.
  void cut_in_threes(std::string_view text, size_t begin, size_t end) const {
    size_t n = 0;  // digits left
    for (size_t i = begin; i < end; i += utf8_length(text[i])) ++n;
    for (size_t i = begin; i < end; i += utf8_length(text[i]), --n)
      if (n % 3 == 0 && i > begin) cuts.push_back(static_cast<uint32_t>(i));
  }
};

Status Pretokenizer::split(std::string_view text, Workspace& workspace,
                           std::vector<uint32_t>& ends) const {
  ends.clear();
  if (text.empty()) return {};
  ends.push_back(static_cast<uint32_t>(text.size()));
  if (!workspace.state_) {
    auto state = std::make_unique<Workspace::State>();
    state->context = make_context();
    if (!state->context) return Status(Code::out_of_memory);
    state->match.reset(pcre2_match_data_create(1, state->context.get()));
    if (!state->match) return Status(Code::out_of_memory);
    workspace.state_ = std::move(state);
  }
  std::vector<uint32_t>& cuts = workspace.state_->ends;
  bool threes = spec_->threes;
  for (const Program::Pattern& pattern : program_->patterns) {
    const Cutter cutter{*this, pattern, threes, workspace.state_->match.get(), cuts};
    cuts.clear();
    uint32_t begin = 0;
    for (const uint32_t end : ends) {
      LLMRT_TRY(cutter.cut(text, begin, end));
      begin = end;
    }
    ends.swap(cuts);
    threes = false;
  }
  return {};
}

}  // namespace llmrt
