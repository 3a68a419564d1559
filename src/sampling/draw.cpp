#include "sampling/draw.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "sampling/rng.h"
#include "sampling/row_kernels.h"

namespace llmrt {
namespace {

constexpr float kMinusInf = -std::numeric_limits<float>::infinity();
constexpr int kMostHalvings = 63;  // v >= 2^-63

// Of a word >= 2^(32 - e), or of any word if e is 63.
float noise_bound(int halvings) { return static_cast<float>(halvings) * 0.694f; }

int halvings_of(uint32_t word) { return word == 0 ? kMostHalvings : std::countl_zero(word) + 1; }

struct Winner {
  Token id = std::numeric_limits<Token>::max();
  float score = kMinusInf;

  void offer(Token id_offered, float logit, uint32_t word, const SampleContext& context) {
    if (logit + noise_bound(halvings_of(word)) < score) return;
    const float v = uniform(context.seed, context.position, RandomStream::gumbel,
                            static_cast<uint32_t>(id_offered));
    const float its = logit + gumbel_from_uniform(v);
    if (its > score || (its == score && id_offered < id)) {
      score = its;
      id = id_offered;
    }
  }
};

// Some e >= 1 such that logits up to `max` lose with noise_bound(e - 1), or 1, where none is known to lose; the smallest such e but
// for rounding. 64: they lose with any noise.
int halvings_to_win(float max, float score) {
  const auto loses = [&](int e) { return max + noise_bound(e) < score; };
  int e = static_cast<int>(std::clamp((score - max) / 0.694f, 1.0f, kMostHalvings + 1.0f));
  while (e > 1 && !loses(e - 1)) --e;
  while (e <= kMostHalvings && loses(e)) ++e;
  return e;
}

// The largest word of less than 2^(33 - e): those above are at least 2^(32 - (e - 1)).
uint32_t last_word_to_win(int e) {
  return e <= 1 ? ~uint32_t{0} : e >= 33 ? 0 : (uint32_t{1} << (33 - e)) - 1;
}

void words_of(const SampleContext& context, const uint32_t* ids, size_t n, uint32_t* words) {
  row_kernels().draw_words(context.seed, context.position,
                           static_cast<uint32_t>(RandomStream::gumbel), ids, n, words);
}

}  // namespace

Token draw(std::span<const Candidate> items, const SampleContext& context) {
  Winner winner;
  uint32_t ids[kWordBatch], words[kWordBatch];
  for (size_t begin = 0; begin < items.size(); begin += kWordBatch) {
    const auto some = items.subspan(begin, std::min(kWordBatch, items.size() - begin));
    for (size_t i = 0; i < some.size(); ++i) ids[i] = static_cast<uint32_t>(some[i].id);
    words_of(context, ids, some.size(), words);
    for (size_t i = 0; i < some.size(); ++i)
      winner.offer(some[i].id, some[i].logit, words[i], context);
  }
  return winner.id;
}

Token draw(std::span<const float> row, const RowSelect& select, float max, float temperature,
           const SampleContext& context) {
  constexpr size_t kRowBlock = RowSelect::kBlock, kGroup = 16;
  static_assert(kRowBlock <= kWordBatch && kRowBlock % kGroup == 0);
  const std::span<const float> maxima = select.block_maxima();
  Winner winner;
  uint32_t ids[kRowBlock], words[kRowBlock] = {};
  const auto visit = [&](size_t b) {
    if (maxima[b] == kMinusInf) return;
    const int halvings = halvings_to_win(cooled(maxima[b], max, temperature), winner.score);
    if (halvings > kMostHalvings) return;
    const uint32_t last_word = last_word_to_win(halvings);
    const size_t begin = b * kRowBlock, n = std::min(kRowBlock, row.size() - begin);
    for (size_t i = 0; i < n; ++i) ids[i] = static_cast<uint32_t>(begin + i);
    words_of(context, ids, n, words);
    for (size_t group = 0; group < n; group += kGroup) {
      uint32_t any = 0;  // most groups have none, which vectors tell
      for (size_t i = group; i < group + kGroup; ++i)
        any |= static_cast<uint32_t>(words[i] <= last_word);
      for (size_t i = group; any != 0 && i < std::min(group + kGroup, n); ++i) {
        if (words[i] > last_word || row[begin + i] == kMinusInf) continue;
        winner.offer(static_cast<Token>(begin + i), cooled(row[begin + i], max, temperature),
                     words[i], context);
      }
    }
  };
  // A good score soon: then few words of the other blocks can win.
  const auto first =
      static_cast<size_t>(std::max_element(maxima.begin(), maxima.end()) - maxima.begin());
  visit(first);
  for (size_t b = 0; b < maxima.size(); ++b)
    if (b != first) visit(b);
  return winner.id;
}

}  // namespace llmrt
