// dry ("don't repeat yourself"): penalises the token that would go on with a repetition of the whole history's end.
//
//   m(i) = length of the longest common suffix of history[0, i) and history[0, n), cut at the latest sequence breaker
//   token history[i] with m(i) >= allowed:   l' = l - multiplier * base^(m - allowed),   m = the longest over its occurrences
//
// A sequence breaker is a token whose bytes hold a newline, colon, double quote or star: repetitions never reach across one, and it is
// never penalised itself, so that the fixed phrases of chat turns and lists stay free and a line can always end. m(i) of all i is the
// Z-function of the reversed history: O(n).
#include <algorithm>
#include <string_view>

#include "base/math.h"
#include "sampling/step.h"

namespace llmrt {
namespace {

class Dry : public LogitEditStep {
 public:
  explicit Dry(const StepInit& init)
      : multiplier_(init.params.dry_multiplier),
        log_base_(log_f32(init.params.dry_base)),
        allowed_(static_cast<uint32_t>(init.params.dry_allowed_length)),
        n_vocab_(init.n_vocab),
        token_bytes_(init.token_bytes) {}

  std::optional<std::span<const LogitEdit>> edits(const SampleContext& context,
                                                  StepScratch& scratch) const override {
    scratch.edits.clear();
    const auto history = context.history;
    const size_t limit = tokens_since_breaker(history);
    if (limit < allowed_ || limit == 0) return scratch.edits;
    suffix_matches(history, scratch.lengths);
    const size_t n = history.size();
    for (size_t r = 1; r < n;
         ++r) {  // r tokens before the end: history[n - r] follows the match that ends there
      const auto match = static_cast<uint32_t>(std::min<size_t>(scratch.lengths[r], limit));
      const Token next = history[n - r];
      if (match == 0 || match < allowed_ || next < 0 || static_cast<uint32_t>(next) >= n_vocab_)
        continue;
      if (is_breaker(next)) continue;
      scratch.edits.push_back({next, 1.0f, penalty(match)});
    }
    // The longest match of a token counts: penalties grow with length, so it is the largest.
    std::sort(scratch.edits.begin(), scratch.edits.end(),
              [](const LogitEdit& a, const LogitEdit& b) {
                return a.id < b.id || (a.id == b.id && a.subtract > b.subtract);
              });
    const auto last =
        std::unique(scratch.edits.begin(), scratch.edits.end(),
                    [](const LogitEdit& a, const LogitEdit& b) { return a.id == b.id; });
    scratch.edits.erase(last, scratch.edits.end());
    return scratch.edits;
  }

  void reserve(StepScratch& scratch, size_t n_history) const override {
    scratch.lengths.reserve(n_history);
    scratch.edits.reserve(n_history);
  }

 private:
  bool is_breaker(Token id) const {
    if (id < 0 || static_cast<size_t>(id) >= token_bytes_.size()) return false;
    return token_bytes_[static_cast<size_t>(id)].find_first_of("\n:\"*") != std::string_view::npos;
  }

  size_t tokens_since_breaker(std::span<const Token> history) const {
    size_t n = 0;
    while (n < history.size() && !is_breaker(history[history.size() - 1 - n])) ++n;
    return n;
  }

  // z[r] = longest common prefix of the reversed history and its part from r on; z[0] is not used.
  static void suffix_matches(std::span<const Token> history, std::vector<uint32_t>& z) {
    const size_t n = history.size();
    const auto reversed = [&](size_t i) { return history[n - 1 - i]; };
    z.assign(n, 0);
    size_t left = 0, right = 0;  // the match [left, right) that reaches furthest
    for (size_t r = 1; r < n; ++r) {
      size_t length = r < right ? std::min<size_t>(right - r, z[r - left]) : 0;
      while (r + length < n && reversed(length) == reversed(r + length)) ++length;
      z[r] = static_cast<uint32_t>(length);
      if (r + length > right) {
        left = r;
        right = r + length;
      }
    }
  }

  float penalty(uint32_t match) const {
    const float exponent = static_cast<float>(match - allowed_) * log_base_;
    return std::min(multiplier_ * exp_f32(exponent), kLargest);
  }

  // a ban in effect, yet finite: if all tokens are repetitions, one still comes out
  static constexpr float kLargest = 1e30f;
  float multiplier_, log_base_;
  uint32_t allowed_, n_vocab_;
  std::span<const TokenBytes> token_bytes_;
};

}  // namespace

Result<std::unique_ptr<SamplingStep>> make_dry(const StepInit& init) {
  if (init.params.dry_multiplier == 0.0f) return std::unique_ptr<SamplingStep>();
  return std::unique_ptr<SamplingStep>(new Dry(init));
}

}  // namespace llmrt
