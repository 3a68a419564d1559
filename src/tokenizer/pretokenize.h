// Pretokenizer: cuts a text into the pieces that BPE must not merge across, by the regular expressions of a named pre-tokenizer.
//
// The expressions are those of the models' own tokenizer.json, applied one after the other: each cuts the pieces the one before
// left, matches and the gaps between them both stay as pieces ("isolated" splits). No expression matches the empty text. Case and classes follow the Unicode database.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace llmrt {

struct PretokenizerSpec {
  std::string_view name;
  std::span<const char* const> patterns;  // none: the text is one piece
  // a piece that is a token is that token, whatever merges say (ignore_merges)
  bool whole_first = false;
  bool add_bos = false;         // where the file does not say
  bool marks = false;           // keys are text with blank marks instead of the byte-level alphabet
  bool whole_newlines = false;  // whole_first for runs of newlines only
  bool threes = false;  // matches of the first pattern, digits, are cut in threes from the right
};

// nullptr: not known.
const PretokenizerSpec* find_pretokenizer(std::string_view name);

class Pretokenizer {
 public:
  static Result<Pretokenizer> make(const PretokenizerSpec& spec);
  Pretokenizer(Pretokenizer&&) noexcept;
  Pretokenizer& operator=(Pretokenizer&&) noexcept;
  ~Pretokenizer();

  const PretokenizerSpec& spec() const { return *spec_; }

  // One per encode call: match state and the ends of one pass.
  class Workspace {
   public:
    Workspace();
    ~Workspace();
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

   private:
    friend class Pretokenizer;
    struct State;
    std::unique_ptr<State> state_;
  };

  // Replaces ends by the end offset of each piece, ascending, the last one text.size(). The text is well-formed UTF-8.
  Status split(std::string_view text, Workspace& workspace, std::vector<uint32_t>& ends) const;

 private:
  struct Program;
  struct Cutter;
  Pretokenizer();
  const PretokenizerSpec* spec_ = nullptr;
  std::unique_ptr<Program> program_;
};

}  // namespace llmrt
