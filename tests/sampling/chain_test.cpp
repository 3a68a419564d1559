#include "sampling/chain.h"

#include "sampling/rng.h"
#include "support.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

// The plain meaning of a draw: every step in order on the full list, then argmax of logit + noise.
Token plain_draw(const SamplingParams& params, const std::vector<float>& logits,
                 const SampleContext& context, std::span<const TokenBytes> bytes,
                 std::mt19937& rng) {
  Candidates c = candidates_of(logits);
  std::shuffle(c.items.begin(), c.items.end(), rng);
  std::string rest = params.chain;
  while (!rest.empty()) {
    const size_t at = std::min(rest.find(';'), rest.size());
    const auto step =
        make_step(rest.substr(0, at), params, static_cast<uint32_t>(logits.size()), bytes);
    if (step) step->apply(c, context);
    rest = at == rest.size() ? "" : rest.substr(at + 1);
  }
  return plain_argmax(c.items, context);
}

std::string failure(const SamplingParams& params, const std::vector<float>& logits,
                    uint32_t position = 5) {
  auto chain = make_chain(params, static_cast<uint32_t>(logits.size()));
  const auto result = chain->sample(logits, {{}, 1, position});
  return result.ok() ? "" : std::string(result.status().message());
}

}  // namespace

TEST_CASE(
    "chain: short cuts over the dense row pick what the plain list picks, whatever the order of "
    "steps and candidates") {
  std::mt19937 rng(1);
  const uint32_t n_vocab = 1500;
  std::vector<TokenBytes> bytes(n_vocab, "x");
  bytes[7] = "\n";
  std::vector<std::string> words = {"logit_bias", "penalties", "dry", "top_k",      "typical",
                                    "top_p",      "min_p",     "xtc", "temperature"};
  for (int round = 0; round < 400; ++round) {
    SamplingParams p;
    p.temperature = 0.3f + static_cast<float>(rng() % 100) / 50;
    p.top_k =
        static_cast<int32_t>(rng() % 3) * 30;  // 0: other steps or the draw come to the dense row
    p.top_p = rng() % 2 ? 0.9f : 1.0f;
    p.min_p = rng() % 2 ? 0.02f : 0.0f;
    p.typical_p = rng() % 3 ? 1.0f : 0.7f;
    p.repeat_penalty = rng() % 2 ? 1.3f : 1.0f;
    p.frequency_penalty = rng() % 2 ? 0.2f : 0.0f;
    p.xtc_probability = rng() % 2 ? 0.5f : 0.0f;
    p.dry_multiplier = rng() % 2 ? 0.8f : 0.0f;
    for (uint32_t i = rng() % 5; i > 0; --i)
      p.logit_bias.push_back({static_cast<Token>(rng() % n_vocab), rng() % 2 ? 3.0f : -kInf});
    if (round % 2) {
      std::shuffle(words.begin(), words.end(), rng);
      p.chain.clear();
      for (const auto& word : words) p.chain += (p.chain.empty() ? "" : ";") + word;
    }
    auto logits = random_logits(rng, n_vocab, 2);
    if (round % 3 == 0) {
      for (float& l : logits) l = std::round(l * 2) / 2;
    }
    std::vector<Token> history(rng() % 100);
    for (Token& t : history) t = static_cast<Token>(rng() % 20);
    auto chain = make_chain(p, n_vocab, bytes);
    for (uint32_t position = 0; position < 3; ++position) {
      const SampleContext context{history, rng(), position};
      CAPTURE(p.chain);
      CHECK(pick(*chain, logits, context) == plain_draw(p, logits, context, bytes, rng));
    }
  }
}

TEST_CASE(
    "chain: temperature 0 is the argmax, lowest id on ties, whatever seed, cuts and xtc say") {
  SamplingParams p;
  p.xtc_probability = 1;
  p.xtc_threshold = 0;
  p.typical_p = 0.1f;
  std::vector<float> logits(1000, -1.0f);
  logits[900] = logits[300] = logits[301] = 4.0f;
  // a subnormal temperature is flushed: it is 0 too
  for (const float temperature : {0.0f, 1e-45f, 1e-40f, 1.17e-38f}) {
    p.temperature = temperature;
    auto chain = make_chain(p, 1000);
    for (uint64_t seed = 0; seed < 20; ++seed) CHECK(pick(*chain, logits, {{}, seed, 3}) == 300);
  }
}

TEST_CASE("chain: the smallest temperatures give the best token, however close the next one is") {
  SamplingParams p = plain();
  p.chain = "temperature";
  std::vector<float> logits(300);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = -0.001f * static_cast<float>(i);
  std::swap(logits[0], logits[122]);
  for (const float temperature : {1e-45f, 1e-40f, 1.17e-38f, 1.2e-38f, 1e-37f, 1e-30f}) {
    INFO(temperature);
    p.temperature = temperature;
    auto chain = make_chain(p, 300);
    for (uint64_t seed = 0; seed < 20; ++seed) CHECK(pick(*chain, logits, {{}, seed, 3}) == 122);
  }
}

TEST_CASE("chain: bias and penalties hold at temperature 0, wherever they stand in the chain") {
  for (const char* order :
       {"logit_bias;penalties;dry;top_k;temperature", "top_k;temperature;penalties;logit_bias"}) {
    SamplingParams p;
    p.chain = order;
    p.temperature = 0;
    p.logit_bias = {{0, -100.0f}};
    CHECK(pick(*make_chain(p, 3), {0.7f, 0.2f, 0.1f}) == 1);
    p.logit_bias = {{0, -kInf}, {1, -100.0f}};
    CHECK(pick(*make_chain(p, 3), {0.7f, 0.2f, 0.1f}) == 2);
    p.logit_bias = {{2, 100.0f}};
    CHECK(pick(*make_chain(p, 3), {0.7f, 0.2f, 0.1f}) == 2);
    p.logit_bias.clear();
    p.repeat_penalty = 10;
    const std::vector<Token> history = {0};
    CHECK(pick(*make_chain(p, 3), {0.7f, 0.2f, 0.1f}, {history, 0, 1}) == 1);
  }
}

TEST_CASE("chain: NaN and +inf end the draw with an error that names the position, -inf does not") {
  for (const float temperature : {0.0f, 1.0f}) {
    SamplingParams p;
    p.temperature = temperature;
    CHECK(failure(p, {1, std::nanf(""), 2}) ==
          "logits of position 5 hold NaN, all must be finite or -inf");
    CHECK(failure(p, {1, kInf, 2}, 9) ==
          "logits of position 9 hold +inf, all must be finite or -inf");
    CHECK(failure(p, {1, -kInf, 2}) == "");
    CHECK(failure(p, {-kInf, -kInf, -kInf}) ==
          "every token of position 5 is banned or has a logit of -inf, one must be left");
    p.logit_bias = {{0, -kInf}, {1, -100.0f}};
    CHECK(failure(p, {1, 2}).find("is banned") != std::string::npos);
    p.chain = "temperature;logit_bias";
    CHECK(failure(p, {1, 2}).find("is banned") != std::string::npos);
  }
}

TEST_CASE("chain: a row of which nothing is drawn is checked in the same words") {
  auto chain = make_chain(plain(), 3);
  const auto refusal = [&](const std::vector<float>& logits) {
    return std::string(chain->check(logits, 7).message());
  };
  CHECK(refusal({1, std::nanf(""), 2}) ==
        "logits of position 7 hold NaN, all must be finite or -inf");
  CHECK(refusal({1, 2, kInf}) == "logits of position 7 hold +inf, all must be finite or -inf");
  CHECK(refusal({-kInf, -kInf, -kInf}) == "");
  CHECK(refusal({1, 2}) == "2 logits for a vocabulary of 3");
}

TEST_CASE("chain: told maxima change nothing, whatever the vocabulary, ties, -inf, NaN and +inf") {
  std::mt19937 rng(21);
  const auto same = [](const Result<Pick>& a, const Result<Pick>& b) {
    REQUIRE(a.ok() == b.ok());
    if (!a.ok()) {
      CHECK(std::string(a.status().message()) == std::string(b.status().message()));
      return;
    }
    CHECK(a->id == b->id);
    CHECK(a->logprob == b->logprob);
    REQUIRE(a->top.size() == b->top.size());
    for (size_t i = 0; i < a->top.size(); ++i) {
      CHECK(a->top[i].id == b->top[i].id);
      CHECK(a->top[i].logprob == b->top[i].logprob);
    }
  };
  for (const size_t n : {1u, 15u, 16u, 17u, 255u, 256u, 257u, 151936u, 262144u}) {
    CAPTURE(n);
    for (int round = 0; round < 8; ++round) {
      auto row = random_logits(rng, n, 3);
      if (round % 3 == 1) {
        for (float& l : row) l = std::round(l);
      }
      if (round % 3 == 2) {
        for (size_t i = 0; i < n; i += 2) row[i] = -kInf;
      }
      // at the edges of blocks of 16 and of 256, and at the row's end
      const size_t edges[] = {0, 15, 16, 255, 256, n - 1};
      if (round >= 4) row[edges[rng() % 6] % n] = round % 2 ? std::nanf("") : kInf;
      if (round == 6) std::fill(row.begin(), row.end(), -kInf);
      const auto maxima = maxima_of(row);
      for (int kind = 0; kind < 5; ++kind) {
        SamplingParams p = kind < 2 ? SamplingParams() : plain();
        if (kind == 0) p.temperature = 0;
        if (kind == 2) p.min_p = 0.05f;
        if (kind == 3) p.top_p = 0.95f;
        if (kind == 4) {
          p.logprobs = 3;
          p.logprobs_processed = round % 2 == 0;
          p.logit_bias = {{static_cast<Token>(n / 2), 2.0f}, {static_cast<Token>(n - 1), -kInf}};
          if (n == 1) p.logit_bias.clear();
        }
        auto chain = make_chain(p, static_cast<uint32_t>(n));
        const SampleContext context{{}, rng(), static_cast<uint32_t>(round)};
        same(chain->sample(row, context, row, maxima), chain->sample(row, context));
        CHECK(std::string(chain->check(row, 3, maxima).message()) ==
              std::string(chain->check(row, 3).message()));
      }
    }
  }
}

TEST_CASE("chain: maxima are of the model's logits, not of what the host made of them") {
  std::mt19937 rng(22);
  const auto model = random_logits(rng, 700, 3);
  auto edited = model;
  edited[13] = 50;
  for (const int32_t logprobs : {0, 2}) {
    SamplingParams p = plain();
    p.temperature = 0;
    p.logprobs = logprobs;
    auto chain = make_chain(p, 700);
    const auto with = chain->sample(edited, {}, model, maxima_of(model));
    const auto without = chain->sample(edited, {}, model);
    REQUIRE(with.ok());
    REQUIRE(without.ok());
    CHECK(with->id == 13);
    CHECK(with->logprob == without->logprob);
  }
}

TEST_CASE("chain: a banned token never comes, a lone candidate always does") {
  SamplingParams p = plain();
  p.logit_bias = {{0, -kInf}};
  auto chain = make_chain(p, 3);
  for (uint32_t i = 0; i < 2000; ++i) CHECK(pick(*chain, {9, 0, 0}, {{}, 4, i}) != 0);
  p.logit_bias.clear();
  p.top_k = 1;
  chain = make_chain(p, 3);
  for (uint32_t i = 0; i < 200; ++i) CHECK(pick(*chain, {0.1f, 0.2f, 0.15f}, {{}, 4, i}) == 1);
}

TEST_CASE(
    "chain: the same key gives the same token, other seeds and positions give others, all 64 bits "
    "count") {
  const std::vector<float> logits(64, 0.0f);
  const auto run = [&](uint64_t seed, uint32_t first) {
    auto chain = make_chain(plain(), 64);
    std::vector<Token> tokens;
    for (uint32_t i = 0; i < 48; ++i) tokens.push_back(pick(*chain, logits, {{}, seed, first + i}));
    return tokens;
  };
  CHECK(run(1, 0) == run(1, 0));
  CHECK(run(1, 0) != run(0, 0));
  CHECK(run(1, 0) != run(1 + (uint64_t{1} << 40), 0));
  CHECK(run(1, 0) != run(1, 1));
  const auto late = run(1, 10), early = run(1, 0);
  CHECK(
      std::equal(late.begin(), late.begin() + 38, early.begin() + 10));  // position, not call count
}

TEST_CASE("chain: logprobs are the log-softmax of the model's logits, as fp64 says") {
  std::mt19937 rng(8);
  for (const size_t n : {1u, 5u, 3000u}) {
    const auto logits = random_logits(rng, n, 4);
    SamplingParams p;
    p.logprobs = 5;
    p.repeat_penalty = 1.5f;
    p.logit_bias = {{0, 3.0f}};
    const std::vector<Token> history = {0, 0};
    auto chain = make_chain(p, static_cast<uint32_t>(n));
    const auto result = chain->sample(logits, {history, 3, 7});
    REQUIRE(result.ok());
    const auto probability = softmax(logits);
    const auto exact = [&](Token id) { return std::log(probability[static_cast<size_t>(id)]); };
    // Sum within 2.5e-7 + truncation, result rounded once.
    CHECK(std::fabs(static_cast<double>(result.value().logprob) - exact(result.value().id)) <
          3e-7 + 6e-8 * std::fabs(exact(result.value().id)));
    const auto rank = by_rank(logits);
    REQUIRE(result.value().top.size() == std::min<size_t>(5, n));
    for (size_t i = 0; i < result.value().top.size(); ++i) {
      CHECK(result.value().top[i].id == rank[i]);
      CHECK(std::fabs(static_cast<double>(result.value().top[i].logprob) - exact(rank[i])) <
            3e-7 + 6e-8 * std::fabs(exact(rank[i])));
    }
  }
}

TEST_CASE("chain: asking for logprobs changes no draw") {
  std::mt19937 rng(9);
  const auto logits = random_logits(rng, 700, 1);
  SamplingParams p;
  auto without = make_chain(p, 700);
  p.logprobs = 20;
  auto with = make_chain(p, 700);
  for (uint32_t i = 0; i < 100; ++i)
    CHECK(pick(*with, logits, {{}, 5, i}) == pick(*without, logits, {{}, 5, i}));
}

TEST_CASE("chain: logprobs are of the model's logits where the host edited them") {
  std::mt19937 rng(10);
  const auto model = random_logits(rng, 700, 3);
  const auto probability = softmax(model);
  std::vector<float> only_7(700, -kInf);
  only_7[7] = 5;
  for (const float temperature : {0.0f, 0.8f}) {
    SamplingParams p;
    p.temperature = temperature;
    p.logprobs = 3;
    auto chain = make_chain(p, 700);
    const auto drawn = chain->sample(only_7, {{}, 1, 2}, model);
    REQUIRE(drawn.ok());
    CHECK(drawn->id == 7);
    CHECK(std::fabs(static_cast<double>(drawn->logprob) - std::log(probability[7])) < 2e-6);
    const auto plain_draw = chain->sample(model, {{}, 1, 2});
    REQUIRE(plain_draw.ok());
    REQUIRE(drawn->top.size() == plain_draw->top.size());
    for (size_t i = 0; i < drawn->top.size(); ++i) {
      CHECK(drawn->top[i].id == plain_draw->top[i].id);
      CHECK(drawn->top[i].logprob == plain_draw->top[i].logprob);
    }

    p.logprobs_processed = true;
    const auto processed = make_chain(p, 700)->sample(only_7, {{}, 1, 2}, model);
    REQUIRE(processed.ok());
    CHECK(processed->logprob == 0);
    REQUIRE(processed->top.size() == 1);
    CHECK(processed->top[0].id == 7);
  }
}

TEST_CASE("chain: the model's logits are checked only if logprobs are taken from them") {
  std::vector<float> bad(50, 0.0f);
  bad[3] = std::nanf("");
  const std::vector<float> good(50, 0.0f), none(50, -kInf);
  SamplingParams p;
  CHECK(make_chain(p, 50)->sample(good, {}, bad).ok());
  p.logprobs = 1;
  CHECK(make_chain(p, 50)->sample(good, {}, bad).status().message() ==
        "logits of position 0 hold NaN, all must be finite or -inf");
  CHECK_FALSE(make_chain(p, 50)->sample(bad, {}, good).ok());
  CHECK_FALSE(make_chain(p, 50)->sample(good, {}, none).ok());
  p.logprobs_processed = true;
  CHECK(make_chain(p, 50)->sample(good, {}, bad).ok());
}

TEST_CASE("chain: processed logprobs are the log-softmax of the candidates that are left") {
  std::mt19937 rng(11);
  const auto logits = random_logits(rng, 3000, 4);
  const auto rank = by_rank(logits);
  SamplingParams p = plain();
  p.temperature = 0.5f;
  p.top_k = 6;
  p.logprobs = 20;
  p.logprobs_processed = true;
  const std::vector<float> six = [&] {
    std::vector<float> cooled;
    for (size_t i = 0; i < 6; ++i) cooled.push_back(logits[static_cast<size_t>(rank[i])] / 0.5f);
    return cooled;
  }();
  const auto probability = softmax(six);
  auto chain = make_chain(p, 3000);
  for (uint32_t position = 0; position < 50; ++position) {
    const auto drawn = chain->sample(logits, {{}, 4, position});
    REQUIRE(drawn.ok());
    REQUIRE(drawn->top.size() == 6);
    double sum = 0;
    for (size_t i = 0; i < 6; ++i) {
      CHECK(drawn->top[i].id == rank[i]);
      CHECK(std::fabs(static_cast<double>(drawn->top[i].logprob) - std::log(probability[i])) <
            1e-5);  // float quotients of a span below 30
      sum += std::exp(static_cast<double>(drawn->top[i].logprob));
      if (drawn->id == rank[i]) CHECK(drawn->logprob == drawn->top[i].logprob);
    }
    CHECK(std::fabs(sum - 1) < 1e-5);
    CHECK(std::find(rank.begin(), rank.begin() + 6, drawn->id) != rank.begin() + 6);
  }
}

TEST_CASE("chain: processed logprobs without filters and at temperature 0 are over all tokens") {
  std::mt19937 rng(12);
  auto logits = random_logits(rng, 600, 2);
  for (const float temperature : {0.0f, 1.0f}) {
    SamplingParams p = plain();
    p.temperature = temperature;
    p.logit_bias = {{5, 20.0f}, {6, -kInf}};
    p.logprobs = 2;
    p.logprobs_processed = true;
    const auto drawn = make_chain(p, 600)->sample(logits, {{}, 1, 1});
    REQUIRE(drawn.ok());
    auto biased = logits;
    biased[5] += 20.0f;
    biased[6] = -kInf;
    const auto probability = softmax(biased);
    REQUIRE(drawn->top.size() == 2);
    CHECK(drawn->top[0].id == 5);
    const auto exact = std::log(probability[static_cast<size_t>(drawn->id)]);
    CHECK(std::fabs(static_cast<double>(drawn->logprob) - exact) < 3e-7 + 1e-6 * std::fabs(exact));
  }
}

TEST_CASE("chain: asking for processed logprobs changes no draw, and a draw again is the same") {
  std::mt19937 rng(13);
  const auto logits = random_logits(rng, 700, 1);
  SamplingParams p;
  p.xtc_probability = 0.5f;
  auto without = make_chain(p, 700);
  p.logprobs = 20;
  p.logprobs_processed = true;
  auto with = make_chain(p, 700), again = make_chain(p, 700);
  for (uint32_t i = 0; i < 100; ++i) {
    const auto a = with->sample(logits, {{}, 5, i}), b = again->sample(logits, {{}, 5, i});
    REQUIRE(a.ok());
    REQUIRE(b.ok());
    CHECK(a->id == pick(*without, logits, {{}, 5, i}));
    CHECK(a->logprob == b->logprob);
    REQUIRE(a->top.size() == b->top.size());
    for (size_t k = 0; k < a->top.size(); ++k) CHECK(a->top[k].logprob == b->top[k].logprob);
  }
}
