#include <cfenv>

#include "base/math.h"
#include "sampling/mass.h"
#include "sampling/rng.h"
#include "support.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

// Applies `name` to a fresh list, a shuffled one and a sorted one: all must keep the same candidates with the same logits.
Candidates apply_any_order(const std::string& name, const SamplingParams& params,
                           const std::vector<float>& logits, const SampleContext& context = {},
                           std::span<const TokenBytes> bytes = {}) {
  const auto step = make_step(name, params, static_cast<uint32_t>(logits.size()), bytes);
  Candidates first = candidates_of(logits);
  if (!step) return first;
  step->apply(first, context);
  std::mt19937 rng(5);
  for (const bool sorted : {false, true}) {
    Candidates other = candidates_of(logits);
    std::shuffle(other.items.begin(), other.items.end(), rng);
    if (sorted) other.sort();
    step->apply(other, context);
    CHECK(sorted_ids(other) == sorted_ids(first));
    Candidates a = first, b = other;
    a.sorted = b.sorted = false;
    a.sort();
    b.sort();
    for (size_t i = 0; i < std::min(a.items.size(), b.items.size()); ++i)
      CHECK(a.items[i].logit == b.items[i].logit);
    if (other.sorted) CHECK(std::is_sorted(other.items.begin(), other.items.end(), better));
  }
  return first;
}

std::vector<float> logs(const std::vector<double>& p) {
  std::vector<float> out;
  for (const double x : p) out.push_back(static_cast<float>(std::log(x)));
  return out;
}

std::vector<Token> sorted(std::vector<Token> ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

TEST_CASE("top_k: keeps the k largest, lower ids on ties, and is off for k <= 0") {
  SamplingParams p = plain();
  p.top_k = 2;
  CHECK(ids_in_order(apply_any_order("top_k", p, logs({0.3, 0.4, 0.3}))) ==
        std::vector<Token>{1, 0});
  CHECK(ids_in_order(apply_any_order("top_k", p, {1, 1, 1, 1})) == std::vector<Token>{0, 1});
  for (const int32_t off : {0, -1, -100, 3, 100000}) {
    p.top_k = off;
    CHECK(make_step("top_k", p, 3) == nullptr);
  }
}

TEST_CASE("top_p: keeps the smallest set of best that reaches p, as fp64 says") {
  std::mt19937 rng(3);
  for (const size_t n : {2u, 30u, 2000u}) {
    for (const float top_p : {0.0f, 0.1f, 0.5f, 0.9f, 0.99f}) {
      for (const float spread : {0.1f, 1.0f, 5.0f}) {
        const auto logits = random_logits(rng, n, spread);
        SamplingParams p = plain();
        p.top_p = top_p;
        const auto probability = softmax(logits);
        std::vector<Token> want;
        double sum = 0;
        for (const Token id : by_rank(logits)) {
          want.push_back(id);
          sum += probability[static_cast<size_t>(id)];
          if (sum >= static_cast<double>(top_p)) break;
        }
        want = sorted(want);
        const auto got = sorted_ids(apply_any_order("top_p", p, logits));
        // The masses carry 2.5e-7 each and the border slack is 1e-6: the cut may lie where fp64's cumulative sum is that close to p.
        if (got != want) {
          double reached = 0;
          for (const Token id : got) reached += probability[static_cast<size_t>(id)];
          CHECK(std::fabs(reached - static_cast<double>(top_p)) < 2e-6);
        }
      }
    }
  }
}

TEST_CASE("top_p: a sum exactly on p reaches it, ties go to lower ids, off from 1 on") {
  SamplingParams p = plain();
  p.top_p = 0.75f;
  CHECK(apply_any_order("top_p", p, logs({0.125, 0.5, 0.125, 0.25})).items.size() == 2);
  p.top_p = 0.5f;
  CHECK(sorted_ids(apply_any_order("top_p", p, logs({0.125, 0.5, 0.125, 0.25}))) ==
        std::vector<Token>{1});
  p.top_p = 0.8f;
  CHECK(sorted_ids(apply_any_order("top_p", p, logs({0.25, 0.125, 0.5, 0.125}))) ==
        std::vector<Token>{0, 1, 2});
  p.top_p = 0.7f;
  for (const double scale : {1e-3, 1.0, 1e3}) {  // shifting all logits changes nothing
    CHECK(
        apply_any_order("top_p", p, logs({0.5 * scale, 0.25 * scale, 0.125 * scale, 0.125 * scale}))
            .items.size() == 2);
  }
  p.top_p = 1.0f;
  CHECK(make_step("top_p", p, 4) == nullptr);
}

TEST_CASE("min_p: keeps what reaches a share of the best, as fp64 says, border included") {
  std::mt19937 rng(4);
  for (const float min_p : {0.001f, 0.05f, 0.5f, 1.0f}) {
    const auto logits = random_logits(rng, 500, 2);
    SamplingParams p = plain();
    p.min_p = min_p;
    const auto probability = softmax(logits);
    const double best = *std::max_element(probability.begin(), probability.end());
    std::vector<Token> want;
    for (size_t i = 0; i < logits.size(); ++i) {
      if (probability[i] >= static_cast<double>(min_p) * best)
        want.push_back(static_cast<Token>(i));
    }
    CHECK(sorted_ids(apply_any_order("min_p", p, logits)) == want);
  }
  SamplingParams p = plain();
  p.min_p = 0.25f;
  CHECK(sorted_ids(apply_any_order("min_p", p, logs({0.5, 0.25, 0.125, 0.125}))) ==
        std::vector<Token>{0, 1, 2, 3});
  p.min_p = 0.4f;
  CHECK(sorted_ids(apply_any_order("min_p", p, logs({0.5, 0.25, 0.125, 0.125}))) ==
        std::vector<Token>{0, 1});
  // The border's slack of 1e-6: a share a float logit may miss by rounding still counts, one clearly below does not.
  p.min_p = 0.3f;
  const double share = static_cast<double>(p.min_p);
  CHECK(sorted_ids(apply_any_order("min_p", p,
                                   logs({1, share * (1 - 5e-7), share, share * (1 - 2e-6)}))) ==
        std::vector<Token>{0, 1, 2});
  p.min_p = 1.0f;
  CHECK(sorted_ids(apply_any_order("min_p", p, {2, 3, 3, 1})) == std::vector<Token>{1, 2});
  p.min_p = 0;
  CHECK(make_step("min_p", p, 4) == nullptr);
}

TEST_CASE("typical: keeps the candidates of the most usual surprise, as fp64 says") {
  std::mt19937 rng(6);
  for (const float typical : {0.0f, 0.2f, 0.6f, 0.95f}) {
    for (const size_t n : {3u, 50u, 1500u}) {
      const auto logits = random_logits(rng, n, 2);
      SamplingParams p = plain();
      p.typical_p = typical;
      const auto probability = softmax(logits);
      double entropy = 0;
      for (const double x : probability) entropy -= x * std::log(x);
      std::vector<Token> order(n);
      std::iota(order.begin(), order.end(), 0);
      const auto distance = [&](Token id) {
        return std::fabs(-std::log(probability[static_cast<size_t>(id)]) - entropy);
      };
      std::stable_sort(order.begin(), order.end(),
                       [&](Token a, Token b) { return distance(a) < distance(b); });
      std::vector<Token> want;
      double sum = 0;
      for (const Token id : order) {
        want.push_back(id);
        sum += probability[static_cast<size_t>(id)];
        if (sum >= static_cast<double>(typical)) break;
      }
      const auto got = sorted_ids(apply_any_order("typical", p, logits));
      // Float distances (error below 1e-5 here) may swap two candidates that lie equally far on the two sides of H.
      std::vector<Token> differ;
      want = sorted(want);
      std::set_symmetric_difference(got.begin(), got.end(), want.begin(), want.end(),
                                    std::back_inserter(differ));
      CHECK(differ.size() <= 2);
      for (const Token id : differ) CHECK(std::fabs(distance(id) - distance(differ[0])) < 1e-5);
    }
  }
  SamplingParams p = plain();
  p.typical_p = 0.5f;
  CHECK(sorted_ids(apply_any_order("typical", p, {1, 1, 1, 1})) ==
        std::vector<Token>{0, 1});  // all equal: lower ids
  p.typical_p = 0.2f;
  // H = 1.03 nats: 0.25 (1.39) is closer than 0.6 (0.51), so the likeliest token leaves.
  CHECK(sorted_ids(apply_any_order("typical", p, logs({0.6, 0.25, 0.1, 0.05}))) ==
        std::vector<Token>{1});
}

TEST_CASE("temperature: divides the distance to the best, and survives the smallest values") {
  SamplingParams p = plain();
  p.temperature = 0.5f;
  Candidates c = apply_any_order("temperature", p, {3, 1, -2});
  CHECK(c.items[0].logit == 0.0f);
  CHECK(c.items[1].logit == -4.0f);
  CHECK(c.items[2].logit == -10.0f);
  p.temperature = std::numeric_limits<float>::min();
  c = apply_any_order("temperature", p, {3e5f, 1, -2e5f});
  CHECK(c.items[0].logit == 0.0f);
  CHECK(c.items[2].logit == std::numeric_limits<float>::lowest());
  p.temperature = 1;
  CHECK(make_step("temperature", p, 3) == nullptr);
}

TEST_CASE("logit_bias: is added, adds up, and bans from -100 on") {
  SamplingParams p = plain();
  p.logit_bias = {{2, 1.5f}, {0, -0.5f}, {2, 0.5f}, {3, -100.0f}, {4, -kInf}, {1, 1e38f}};
  Candidates c = apply_any_order("logit_bias", p, {1, 1, 1, 500, 1});
  CHECK(sorted_ids(c) == std::vector<Token>{0, 1, 2});
  c.sort();
  CHECK(c.items[0].id == 1);
  CHECK(c.items[1].logit == 3.0f);
  CHECK(c.items[2].logit == 0.5f);
}

TEST_CASE(
    "penalties: positive logits divided, negative multiplied, once per distinct token, counts for "
    "the others") {
  SamplingParams p = plain();
  p.repeat_penalty = 2;
  p.frequency_penalty = 0.25f;
  p.presence_penalty = 0.5f;
  const std::vector<Token> history = {0, 1, 1, 1, 3, -1, 99};
  const auto run = [&](int32_t last_n) {
    p.penalty_last_n = last_n;
    Candidates c = apply_any_order("penalties", p, {4, -3, 2, 0}, {history, 0, 0});
    std::vector<float> logits(4);
    for (const Candidate& item : c.items) logits[static_cast<size_t>(item.id)] = item.logit;
    return logits;
  };
  CHECK(run(-1) == std::vector<float>{1.25f, -7.25f, 2, -0.75f});
  CHECK(run(1000) == run(-1));
  CHECK(run(4) == std::vector<float>{4, -6.75f, 2, -0.75f});
  CHECK(run(0) == std::vector<float>{4, -3, 2, 0});
}

TEST_CASE("penalties: the sequences of a two letter model are those of the published formula") {
  // Two tokens of fixed logits, greedy, penalty on what came before.
  const auto generate = [](std::vector<float> logits, std::vector<Token> history, float penalty,
                           int32_t last_n, int n) {
    SamplingParams p = plain();
    p.temperature = 0;
    p.repeat_penalty = penalty;
    p.penalty_last_n = last_n;
    auto chain = make_chain(p, 3);
    std::string text;
    for (int i = 0; i < n; ++i) {
      history.push_back(pick(*chain, logits, {history, 0, static_cast<uint32_t>(history.size())}));
      text += static_cast<char>('A' + history.back());
    }
    return text;
  };
  const std::vector<float> plus = {2.0f, 1.8f, -9.0f}, minus = {-1.8f, -2.0f, -30.0f};
  CHECK(generate(plus, {2}, 1.5f, 64, 6) == "ABAAAA");
  CHECK(generate(minus, {2}, 1.5f, 64, 6) == "ABAAAA");
  CHECK(generate(plus, {2}, 1.5f, 1, 6) == "ABABAB");
  CHECK(generate(plus, {2}, 1.5f, 0, 6) == "AAAAAA");
  CHECK(generate(plus, {0}, 1.5f, 64, 4) == "BAAA");
}

TEST_CASE("dry: penalises what would go on with the longest repetition") {
  // Vocabulary of letters; 9 is a newline.
  const std::vector<TokenBytes> bytes = {"a", "b", "c", "d", "e", "f", "g", "h", "say:", ".\n"};
  SamplingParams p = plain();
  p.dry_multiplier = 0.5f;
  p.dry_base = 2;
  p.dry_allowed_length = 2;
  const auto run = [&](std::vector<Token> history) {
    Candidates c = apply_any_order("dry", p, std::vector<float>(10, 0.0f), {history, 0, 0}, bytes);
    std::vector<float> logits(10);
    for (const Candidate& item : c.items) logits[static_cast<size_t>(item.id)] = -item.logit;
    return logits;
  };
  // "abcd ... abc": d follows a match of 3: 0.5 x 2^(3-2) = 1.
  auto got = run({0, 1, 2, 3, 4, 0, 1, 2});
  CHECK(got[3] == doctest::Approx(1.0f));
  CHECK(std::accumulate(got.begin(), got.end(), 0.0f) == doctest::Approx(1.0f));
  // "bc" + e and "abc" + d: each its own length. e: 0.5 x 2^0.
  got = run({1, 2, 4, 0, 1, 2, 3, 5, 0, 1, 2});
  CHECK(got[4] == doctest::Approx(0.5f));
  CHECK(got[3] == doctest::Approx(1.0f));
  // The same next token after matches of 2 and 3: the longest counts.
  got = run({1, 2, 3, 0, 1, 2, 3, 5, 0, 1, 2});
  CHECK(got[3] == doctest::Approx(1.0f));
  // Too short a match.
  got = run({2, 3, 4, 2});
  CHECK(got == std::vector<float>(10, 0.0f));
  // A match never reaches across a breaker, wherever its byte stands in the token.
  got = run({0, 9, 1, 2, 3, 5, 0, 9, 1, 2});
  CHECK(got[3] == doctest::Approx(0.5f));
  got = run({0, 1, 8, 3, 5, 0, 1, 8});
  CHECK(got == std::vector<float>(10, 0.0f));
  // A breaker itself is never penalised, however long the match it would go on with: "abcd\n ... abcd", "abc say: ... abc".
  got = run({0, 1, 2, 3, 9, 5, 0, 1, 2, 3});
  CHECK(got == std::vector<float>(10, 0.0f));
  got = run({0, 1, 2, 8, 4, 0, 1, 2, 3, 5, 0, 1, 2});  // d after the same letters is
  CHECK(got[8] == 0.0f);
  CHECK(got[3] == doctest::Approx(1.0f));
  // A run of one letter repeats itself, overlapping.
  got = run({0, 0, 0, 0, 0});
  CHECK(got[0] == doctest::Approx(0.5f * 4));
  CHECK(run({}) == std::vector<float>(10, 0.0f));
  CHECK(run({0}) == std::vector<float>(10, 0.0f));
}

TEST_CASE(
    "dry: matches a quadratic oracle on random histories, and a very long repetition stays "
    "finite") {
  std::mt19937 rng(7);
  const std::vector<TokenBytes> bytes = {"a", "b", "c", "*"};
  SamplingParams p = plain();
  p.dry_multiplier = 0.8f;
  p.dry_base = 1.75f;
  for (int round = 0; round < 200; ++round) {
    p.dry_allowed_length = static_cast<int32_t>(rng() % 4);
    std::vector<Token> history(rng() % 60);
    for (Token& t : history) t = rng() % 12 == 0 ? 3 : static_cast<Token>(rng() % 3);
    std::vector<double> want(4, 0.0);
    const size_t n = history.size();
    for (size_t i = 1; i < n; ++i) {
      size_t m = 0;
      while (m < i && history[i - 1 - m] == history[n - 1 - m] && history[n - 1 - m] != 3) ++m;
      if (m == 0 || m < static_cast<size_t>(p.dry_allowed_length) || history[i] == 3) continue;
      double& penalty = want[static_cast<size_t>(history[i])];
      penalty =
          std::max(penalty, 0.8 * std::pow(1.75, static_cast<double>(m) - p.dry_allowed_length));
    }
    Candidates c = apply_any_order("dry", p, {0, 0, 0, 0}, {history, 0, 0}, bytes);
    for (const Candidate& item : c.items) {
      CHECK(static_cast<double>(-item.logit) ==
            doctest::Approx(want[static_cast<size_t>(item.id)]).epsilon(1e-4));
    }
  }
  const std::vector<Token> long_run(5000, 0);
  Candidates c = apply_any_order("dry", p, {0, 0, 0, 0}, {long_run, 0, 0}, bytes);
  for (const Candidate& item : c.items) CHECK(std::isfinite(item.logit));
}

TEST_CASE("xtc: all candidates at or above the threshold leave but the least likely one") {
  SamplingParams p = plain();
  p.xtc_probability = 1;
  p.xtc_threshold = 0.2f;
  CHECK(sorted_ids(apply_any_order("xtc", p, logs({0.4, 0.3, 0.2, 0.1}))) ==
        std::vector<Token>{2, 3});  // 0.2 is on the border
  CHECK(sorted_ids(apply_any_order("xtc", p, logs({0.7, 0.15, 0.1, 0.05}))) ==
        std::vector<Token>{0, 1, 2, 3});  // one alone stays
  CHECK(sorted_ids(apply_any_order("xtc", p, logs({0.3, 0.3, 0.3, 0.1}))) ==
        std::vector<Token>{2, 3});  // ties: the last stays
  p.xtc_threshold = 0.6f;
  CHECK(apply_any_order("xtc", p, logs({0.5, 0.5})).items.size() == 2);
  p.xtc_threshold = 0.5f;
  CHECK(sorted_ids(apply_any_order("xtc", p, logs({0.5, 0.5}))) == std::vector<Token>{1});
  p.xtc_probability = 0;
  CHECK(make_step("xtc", p, 4) == nullptr);
}

TEST_CASE("xtc: acts with its probability, by a stream of its own") {
  SamplingParams p = plain();
  p.xtc_probability = 0.3f;
  p.xtc_threshold = 0.2f;
  const auto step = make_step("xtc", p, 4);
  const int n = 20000;
  int acted = 0;
  for (int i = 0; i < n; ++i) {
    Candidates c = candidates_of(logs({0.4, 0.3, 0.2, 0.1}));
    const SampleContext context{{}, 11, static_cast<uint32_t>(i)};
    step->apply(c, context);
    acted += c.items.size() == 2;
    CHECK((c.items.size() == 2) ==
          (uniform(11, static_cast<uint32_t>(i), RandomStream::xtc, 0) < 0.3f));
  }
  CHECK(std::fabs(acted - 0.3 * n) < 5 * std::sqrt(0.3 * 0.7 * n));
}

TEST_CASE(
    "chain: what a chain keeps does not depend on the host's rounding mode when it was made") {
  for (int i = 1; i <= 60; ++i) {
    SamplingParams p = plain();
    p.chain = "min_p;temperature";
    p.temperature = 100;  // what min_p leaves is drawn evenly
    p.min_p = static_cast<float>(i) / 64;
    REQUIRE(std::fesetround(FE_UPWARD) == 0);
    const auto chain = make_chain(p, 2);
    REQUIRE(std::fesetround(FE_TONEAREST) == 0);
    // The second candidate lies exactly on the cut: it stays, one step below it goes.
    const float cut = log_f32(p.min_p * kBorder);
    const auto n_of_second = [&](float logit) {
      int n = 0;
      for (uint32_t position = 0; position < 30; ++position)
        n += pick(*chain, {0.0f, logit}, {{}, 1, position});
      return n;
    };
    CAPTURE(i);
    CHECK(n_of_second(cut) > 0);
    CHECK(n_of_second(std::nextafter(cut, -kInf)) == 0);
  }
}
