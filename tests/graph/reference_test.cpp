#include "graph/reference.h"

#include <cmath>

#include "graph/reference_kernels.h"
#include "support/program_kit.h"
#include "support/simple_runner.h"
#include "support/worse.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

// One layer, 2 query heads on 1 KV head of width 8, embedding 16: every op once but softcap.
ProgramKit tiny_decoder(uint32_t window) {
  Rng rng(3);
  ProgramKit kit;
  kit.program.n_embd = 16;
  kit.program.n_vocab = 24;
  kit.program.kv_groups = {{.kind = window ? AttnKind::window : AttnKind::full,
                            .window = window,
                            .n_layers = 1,
                            .n_kv_head = 1,
                            .d_k = 8,
                            .d_v = 8}};
  kit.program.kv_layers = {{0, 0}};
  const auto weight = [&](const char* name, uint32_t n, uint32_t k) {
    return kit.add_f32(name, n, k, random_floats(rng, n * k));
  };
  const WeightIndex table = weight("embd", 24, 16), norm = weight("norm", 1, 16),
                    wq = weight("wq", 16, 16), bq = weight("bq", 1, 16), wk = weight("wk", 8, 16),
                    wv = weight("wv", 8, 16), gate = weight("gate", 24, 16),
                    down = weight("down", 16, 24);
  Builder b = kit.builder();
  const uint32_t rope = b.rope_table({.inv_freq = {1, 0.1, 0.01}, .mscale = 1.1f});
  ValueId x = b.scale(b.embed(table), 0.5f);
  const ValueId h = b.norm(x, norm, 1e-5f);
  const ValueId q = b.rope(b.linear(h, wq, bq), 2, 8, rope),
                k = b.rope(b.linear(h, wk), 1, 8, rope);
  b.kv_append(k, b.linear(h, wv), 0);
  x = b.add(x, b.paged_attention(q, 2, 0, 0.35f));
  const ValueId g = b.linear(x, gate);
  x = b.add(x, b.linear(b.glu(g, b.scale(g, -1), Activation::silu), down));
  b.set_logits(b.linear(b.gather_rows(x), table));
  return kit;
}

std::vector<double> row_of(const ProgramKit& kit, size_t weight, uint32_t row) {
  const uint32_t k = kit.program.weights[weight].k;
  const auto* values = reinterpret_cast<const float*>(kit.bytes[weight].data()) + size_t{row} * k;
  return {values, values + k};
}

std::vector<double> times(const ProgramKit& kit, size_t weight, const std::vector<double>& x) {
  std::vector<double> out(kit.program.weights[weight].n);
  for (uint32_t n = 0; n < out.size(); ++n) {
    const auto w = row_of(kit, weight, n);
    for (size_t k = 0; k < x.size(); ++k) out[n] += w[k] * x[k];
  }
  return out;
}

// The same model in double precision, written from the equations of ops.h without looking at the interpreter.
std::vector<double> by_hand(const ProgramKit& kit, std::span<const int32_t> ids, uint32_t window) {
  std::vector<std::vector<double>> keys, values;
  std::vector<double> logits;
  for (size_t t = 0; t < ids.size(); ++t) {
    auto x = row_of(kit, 0, static_cast<uint32_t>(ids[t]));
    double square = 0;
    for (double& e : x) {
      e *= 0.5;
      square += e * e;
    }
    const auto w = row_of(kit, 1, 0), bias = row_of(kit, 3, 0);
    std::vector<double> h(16);
    for (size_t i = 0; i < 16; ++i) h[i] = x[i] / std::sqrt(square / 16 + 1e-5) * w[i];
    auto q = times(kit, 2, h), k = times(kit, 4, h);
    for (size_t i = 0; i < 16; ++i) q[i] += bias[i];
    const auto rotate = [&](double* head) {
      for (int j = 0; j < 3; ++j) {
        const double angle = static_cast<double>(t) * std::pow(10.0, -j), c = std::cos(angle) * 1.1,
                     s = std::sin(angle) * 1.1;
        const double a = head[2 * j], b = head[2 * j + 1];
        head[2 * j] = a * c - b * s;
        head[2 * j + 1] = a * s + b * c;
      }
    };
    rotate(&q[0]);
    rotate(&q[8]);
    rotate(&k[0]);
    keys.push_back(k);
    values.push_back(times(kit, 5, h));
    for (size_t head = 0; head < 2; ++head) {
      std::vector<double> p(t + 1), out(8);
      double total = 0;
      for (size_t i = 0; i <= t; ++i) {
        if (window && i + window <= t) continue;
        double s = 0;
        for (size_t j = 0; j < 8; ++j) s += q[head * 8 + j] * keys[i][j];
        total += p[i] = std::exp(0.35 * s);
      }
      for (size_t i = 0; i <= t; ++i)
        for (size_t j = 0; j < 8; ++j) out[j] += p[i] / total * values[i][j];
      for (size_t j = 0; j < 8; ++j) x[head * 8 + j] += out[j];
    }
    auto gate = times(kit, 6, x);
    for (double& g : gate) g = g / (1 + std::exp(-g)) * -g;
    const auto down = times(kit, 7, gate);
    for (size_t i = 0; i < 16; ++i) x[i] += down[i];
    const auto row = times(kit, 0, x);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

std::vector<int32_t> some_ids(size_t n) {
  std::vector<int32_t> ids(n);
  for (size_t i = 0; i < n; ++i) ids[i] = static_cast<int32_t>((i * 7 + i * i) % 24);
  return ids;
}

}  // namespace

TEST_CASE("the interpreter computes the equations of a whole little decoder") {
  for (uint32_t window : {0u, 1u, 5u, 70u}) {
    const ProgramKit kit = tiny_decoder(window);
    const auto backend = make_reference_backend(make_host());
    const auto weights = take(kit.load(*backend));
    SimpleRunner runner(*backend, kit.program, weights, {.max_positions = 320, .max_rows = 100});
    const auto ids = some_ids(300);  // crosses tiles of 64 and the chunk border at 256
    const auto got = runner.run(ids);
    const auto want = by_hand(kit, ids, window);
    double worst = 0, largest = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      worst = worse(worst, std::fabs(got[i] - want[i]));
      largest = std::max(largest, std::fabs(want[i]));
    }
    CHECK(worst <= 200 * 0x1p-24 * largest);  // about 200 roundings on the way to a logit
  }
}

TEST_CASE("the baseline and the wide build of the inner loops give the same bits") {
#if defined(__x86_64__)
  const ReferenceKernels& a = reference_baseline::kKernels;
  const ReferenceKernels& b = reference_kernels();
  Rng rng(11);
  const auto w = random_floats(rng, 1100 * 16), x = random_floats(rng, 1500),
             q = random_floats(rng, 96);
  for (uint32_t k : {1u, 8u, 255u, 256u, 700u, 1100u}) {
    for (uint32_t width : {1u, 16u}) {
      for (uint32_t n_rows : {1u, 4u, 7u}) {
        std::vector<float> out_a(n_rows * width), out_b(n_rows * width), alone(width);
        a.linear(w.data(), width, k, x.data(), 50, n_rows, out_a.data());
        b.linear(w.data(), width, k, x.data(), 50, n_rows, out_b.data());
        CHECK(out_a == out_b);
        b.linear(w.data(), width, k, x.data() + (n_rows - 1) * 50, 50, 1, alone.data());
        CHECK(std::equal(alone.begin(), alone.end(), out_a.end() - width));
      }
    }
    CHECK(a.sum_squares(x.data(), k) == b.sum_squares(x.data(), k));
  }
  std::vector<float> scores_a(64), scores_b(64), out_a(96), out_b(96);
  for (auto [fa, fb] :
       {std::pair(a.scores_f32, b.scores_f32), std::pair(a.scores_b16, b.scores_b16)}) {
    fa(q.data(), w.data(), 96, scores_a.data());
    fb(q.data(), w.data(), 96, scores_b.data());
    CHECK(scores_a == scores_b);
  }
  for (auto [fa, fb] :
       {std::pair(a.weighted_f32, b.weighted_f32), std::pair(a.weighted_b16, b.weighted_b16)}) {
    fa(x.data(), w.data(), 3, 61, 96, out_a.data());
    fb(x.data(), w.data(), 3, 61, 96, out_b.data());
    CHECK(out_a == out_b);
  }
  for (auto [fa, fb] : {std::pair(a.silu_mul, b.silu_mul), std::pair(a.gelu_mul, b.gelu_mul)}) {
    std::vector<float> glu_a(1000), glu_b(1000);
    fa(x.data(), w.data(), 1000, glu_a.data());
    fb(x.data(), w.data(), 1000, glu_b.data());
    CHECK(glu_a == glu_b);
  }
  a.exp_minus(x.data(), 0.5f, 64, scores_a.data());
  b.exp_minus(x.data(), 0.5f, 64, scores_b.data());
  CHECK(scores_a == scores_b);
#endif
}

TEST_CASE("trace hands out every value of a pass in order") {
  const ProgramKit kit = tiny_decoder(0);
  const auto backend = make_reference_backend(make_host());
  const auto weights = take(kit.load(*backend));
  std::vector<uint32_t> ops;
  size_t n_last = 0;
  backend->set_trace(
      [&](const Program& p, uint32_t op, std::span<const float> value, uint32_t n_rows) {
        ops.push_back(op);
        REQUIRE(value.size() == size_t{n_rows} * p.values[p.ops[op].out].width);
        n_last = value.size();
      });
  SimpleRunner runner(*backend, kit.program, weights, {});
  const auto logits = runner.run(some_ids(5), RowWant::last);
  CHECK(ops.size() == kit.program.ops.size() - 1);  // all but kv_append
  CHECK(std::is_sorted(ops.begin(), ops.end()));
  CHECK(n_last == logits.size());
}

TEST_CASE("a batch that does not fit is refused, not run") {
  const ProgramKit kit = tiny_decoder(0);
  const auto backend = make_reference_backend(make_host());
  const auto weights = take(kit.load(*backend));
  const KvId kv = take(
      backend->kv_create(kit.program.kv_groups, {.codec = {}, .block_tokens = 32, .n_blocks = 4}));
  const ExeId exe = take(backend->compile(kit.program, weights,
                                          {.kv = kv, .max_rows = 4, .max_out = 2, .max_seqs = 1}));
  std::vector<std::vector<BlockId>> tables = {{2}};
  BatchStorage storage;
  const auto message = [&](std::vector<int32_t> ids, RowWant want) {
    const RowRun run{ids, 0, tables, want};
    make_batch({&run, 1}, 1, 32, storage);
    const Batch batch = storage.view();
    Execution execution{exe, &batch};
    auto result = backend->advance(execution, Deadline::never());
    return result.ok() ? std::string("done") : std::string(result.status().message());
  };
  CHECK(message({1, 2}, RowWant::last) == "batch: block 2 is not committed");
  REQUIRE(backend->kv_commit(kv, 2).ok());
  CHECK(message({1, 2}, RowWant::last) == "done");
  CHECK(message({1, 2, 3, 4, 5}, RowWant::last) ==
        "batch of 5 rows, 1 wanted, 1 sequences: at most 4, 2, 1 were compiled");
  CHECK(message({1, 2, 3}, RowWant::all) ==
        "batch of 3 rows, 3 wanted, 1 sequences: at most 4, 2, 1 were compiled");
  CHECK(message({1, 24}, RowWant::last) == "token 24 is outside the vocabulary of 24");
  CHECK(message({-1}, RowWant::last) == "token -1 is outside the vocabulary of 24");
}

TEST_CASE("KV bytes follow commits and releases") {
  const ProgramKit kit = tiny_decoder(0);
  const auto backend = make_reference_backend(make_host());
  const KvConfig config{.codec = {}, .block_tokens = 16, .n_blocks = 6};
  const int64_t block =
      static_cast<int64_t>(backend->kv_geometry(kit.program.kv_groups[0], config).block_bytes);
  CHECK(block == 16 * (8 + 8) * 2);
  const KvId kv = take(backend->kv_create(kit.program.kv_groups, config));
  CHECK(backend->kv_bytes(kv) == 2 * block);
  REQUIRE(backend->kv_commit(kv, 3).ok());
  REQUIRE(backend->kv_commit(kv, 3).ok());
  CHECK(backend->kv_bytes(kv) == 3 * block);
  CHECK(!backend->kv_commit(kv, 6).ok());
  CHECK(!backend->kv_copy(kv, 5, 4).ok());
  CHECK(backend->kv_copy(kv, 3, 2).ok());
  const BlockId all[] = {0, 1, 2, 3, 4};
  backend->kv_release(kv, all);
  CHECK(backend->kv_bytes(kv) == 2 * block);  // the two reserved blocks stay
}
