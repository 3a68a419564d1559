// A pass gives a row the same bits whatever runs beside it: alone, batched, in other chunks, on other threads, suspended anywhere.
#include <doctest/doctest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>

#include "backends/cpu/cpu_backend.h"
#include "golden/golden.h"
#include "support/program_kit.h"

using namespace llmrt;

namespace {

constexpr uint32_t kBlockTokens = 16, kPerSeq = 24, kSeqs = 3;

// All bits of a weight set: NaN in every type whose scales or values are floats.
class AllOnes final : public WeightReader {
 public:
  Status read(uint64_t, void* dst, uint64_t n) const override {
    std::memset(dst, 0xff, n);
    return Status();
  }
  void drop_behind(uint64_t, uint64_t) const override {}
};

// Three sequences on one backend, each with its own blocks.
struct Bench {
  std::shared_ptr<Host> host;
  std::unique_ptr<cpu::CpuBackend> backend;
  test::TestModel model;
  KvId kv = 0;
  ExeId exe = 0;
  uint32_t n_groups;
  std::vector<std::vector<std::vector<BlockId>>> tables;  // [seq][group]
  BatchStorage storage;

  Bench(const std::string& path, const char* kv_type, uint32_t n_workers, uint32_t max_rows = 96)
      : host(test::make_host(n_workers)),
        backend(std::make_unique<cpu::CpuBackend>(host, cpu::default_kernel_table())),
        model(test::load_on(*backend, path)),
        n_groups(static_cast<uint32_t>(model.def.program.kv_groups.size())) {
    KvConfig config;
    config.codec = test::take(parse_kv_type(kv_type));
    config.block_tokens = kBlockTokens;
    config.n_blocks = kFirstBlock + kSeqs * kPerSeq * n_groups;
    kv = test::take(backend->kv_create(model.def.program.kv_groups, config));
    BlockId next = kFirstBlock;
    tables.assign(kSeqs, std::vector<std::vector<BlockId>>(n_groups));
    for (uint32_t i = 0; i < kPerSeq; ++i)
      for (auto& seq : tables)
        for (auto& table : seq) {
          REQUIRE(backend->kv_commit(kv, next).ok());
          table.push_back(next++);
        }
    CompileOptions options;
    options.kv = kv;
    options.max_rows = options.max_out = max_rows;
    options.max_seqs = kSeqs;
    options.max_positions = 384;
    exe = test::take(backend->compile(model.def.program, model.weights, options));
  }

  // Appends tokens to sequences in one pass; logits of all rows.
  std::vector<float> pass(std::span<const RowRun> runs, Deadline deadline = Deadline::never(),
                          uint64_t* n_stops = nullptr) {
    make_batch(runs, n_groups, kBlockTokens, storage);
    const Batch batch = storage.view();
    Execution execution{exe, &batch};
    while (test::take(backend->advance(execution, deadline)) == Progress::suspended)
      if (n_stops) ++*n_stops;
    const auto logits = backend->logits(exe);
    return {logits.begin(), logits.end()};
  }
  RowRun run(uint32_t seq, std::span<const int32_t> tokens, uint32_t past) {
    return {tokens, past, tables[seq], RowWant::all};
  }

  // Leaves NaN in K and V of every slot of every block: the same model with an embedding of NaN runs over all positions.
  void fill_blocks_with_nan(std::span<const int32_t> some_tokens) {
    std::vector<WeightId> weights = model.weights;
    for (size_t i = 0; i < weights.size(); ++i) {
      const WeightDesc& desc = model.def.program.weights[i];
      if (desc.name == "token_embd.weight")
        weights[i] = test::take(backend->add_weight(desc, AllOnes(), nullptr));
    }
    CompileOptions options;
    options.kv = kv;
    options.max_rows = options.max_out = 96;
    options.max_seqs = 1;
    options.max_positions = 384;
    const ExeId nan = test::take(backend->compile(model.def.program, weights, options));
    for (uint32_t seq = 0; seq < kSeqs; ++seq)
      for (uint32_t at = 0; at < kPerSeq * kBlockTokens; at += 96) {
        const RowRun rows = run(seq, some_tokens.first(96), at);
        make_batch({&rows, 1}, n_groups, kBlockTokens, storage);
        const Batch batch = storage.view();
        Execution execution{nan, &batch};
        REQUIRE(test::take(backend->advance(execution, Deadline::never())) == Progress::done);
        REQUIRE(std::isnan(backend->logits(nan)[0]));
      }
    backend->remove_program(nan);
  }
};

std::vector<int32_t> tokens(size_t n, int32_t seed) {
  std::vector<int32_t> out(n);
  for (size_t i = 0; i < n; ++i)
    out[i] = static_cast<int32_t>((i * 37 + static_cast<size_t>(seed) * 101) % 400 + 10);
  return out;
}

bool same(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

struct Model {
  std::string path;
  const char* kv_type;
};
std::vector<Model> models() {
  return {{test::repo_data("gguf_quant/llama_gqa.Q4_K_M.gguf"), "bf16"},
          {test::repo_data("models/gemma3/gemma3.f16.gguf"), "f32"},
          {test::repo_data("models/qwen2/qwen2.f16.gguf"), "bf16"},
          {test::repo_data("models/qwen3_moe/qwen3_moe.f16.gguf"), "bf16"}};
}

}  // namespace

TEST_CASE("logits have the same bits in any chunking, batch, thread count and suspension") {
  for (const Model& m : models()) {
    CAPTURE(m.path);
    const auto prompt = tokens(300, 1), other = tokens(40, 2);
    // The judge: one token after the other, one thread.
    std::vector<float> want;
    {
      Bench alone(m.path, m.kv_type, 1);
      for (uint32_t i = 0; i < prompt.size(); ++i) {
        const RowRun run = alone.run(0, {&prompt[i], 1}, i);
        const auto row = alone.pass({&run, 1});
        want.insert(want.end(), row.begin(), row.end());
      }
    }
    const size_t v = want.size() / prompt.size();

    for (uint32_t n_workers : {1u, 2u}) {
      Bench bench(m.path, m.kv_type, n_workers);
      for (uint32_t chunk : {96u, 37u, 5u}) {  // prefill in pieces
        std::vector<float> got;
        for (uint32_t at = 0; at < prompt.size(); at += chunk) {
          const uint32_t n = std::min<uint32_t>(chunk, static_cast<uint32_t>(prompt.size()) - at);
          const RowRun run = bench.run(0, {&prompt[at], n}, at);
          const auto rows = bench.pass({&run, 1});
          got.insert(got.end(), rows.begin(), rows.end());
        }
        CAPTURE(chunk);
        CHECK(same(got, want));
      }
    }

    // With two other sequences in every pass, suspended at every chunk.
    Bench bench(m.path, m.kv_type, 2);
    uint64_t n_stops = 0;
    std::vector<float> got;
    for (uint32_t at = 0, step = 0; at < prompt.size(); ++step) {
      const uint32_t n =
          std::min<uint32_t>(1 + step * 7 % 50, static_cast<uint32_t>(prompt.size()) - at);
      const uint32_t k = step % 3 + 1, past = step * 3 % 30;
      const RowRun runs[3] = {bench.run(1, {&other[0], 5 + k}, past),
                              bench.run(0, {&prompt[at], n}, at),
                              bench.run(2, {&other[k], 1}, past)};
      const auto rows = bench.pass(runs, Deadline::at_once(), &n_stops);
      got.insert(got.end(), rows.begin() + static_cast<long>((5 + k) * v),
                 rows.begin() + static_cast<long>((5 + k + n) * v));
      at += n;
    }
    CHECK(same(got, want));
    CHECK(n_stops > 200);
  }
}

TEST_CASE("what a block held before does not matter, were it NaN in every slot") {
  for (const Model& m : models()) {
    CAPTURE(m.path);
    const auto prompt = tokens(150, 5);
    Bench clean(m.path, m.kv_type, 1), used(m.path, m.kv_type, 1);
    used.fill_blocks_with_nan(prompt);
    // Lengths inside, at the end and at the start of a block, and rows one by one.
    uint32_t past = 0;
    for (const uint32_t n : {5u, 11u, 1u, 1u, 50u, 60u, 1u, 1u}) {
      const RowRun a = clean.run(0, {&prompt[past], n}, past),
                   b = used.run(0, {&prompt[past], n}, past);
      const auto want = clean.pass({&a, 1});
      CHECK(same(used.pass({&b, 1}), want));
      past += n;
    }
  }
}

TEST_CASE("a model loaded under another rounding mode gives the same logits") {
  const std::string path = test::repo_data("models/gemma3/gemma3.f16.gguf");
  const auto prompt = tokens(80, 6);
  Bench nearest(path, "f32", 2);
  const RowRun run = nearest.run(0, prompt, 0);
  const auto want = nearest.pass({&run, 1});
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    REQUIRE(std::fesetround(mode) == 0);
    Bench other(path, "f32", 2);
    const RowRun same_run = other.run(0, prompt, 0);
    const auto got = other.pass({&same_run, 1});
    REQUIRE(std::fesetround(FE_TONEAREST) == 0);
    CHECK(same(got, want));
  }
}

TEST_CASE("a pass drops cleanly and the next one is whole") {
  Bench bench(models()[0].path, "bf16", 2);
  const auto prompt = tokens(60, 3);
  const RowRun run = bench.run(0, prompt, 0);
  const auto want = bench.pass({&run, 1});
  make_batch({&run, 1}, bench.n_groups, kBlockTokens, bench.storage);
  const Batch batch = bench.storage.view();
  for (int i = 1; i < 20; ++i) {
    Execution execution{bench.exe, &batch};
    for (int stop = 0; stop < i; ++stop)
      REQUIRE(test::take(bench.backend->advance(execution, Deadline::at_once())) ==
              Progress::suspended);
    bench.backend->abandon(execution);
  }
  CHECK(same(bench.pass({&run, 1}), want));
}

TEST_CASE("a pool that grows or shrinks while a pass is suspended changes nothing") {
  Bench bench(models()[0].path, "bf16", 1);
  const auto prompt = tokens(80, 4);
  const RowRun run = bench.run(0, prompt, 0);
  const auto want = bench.pass({&run, 1});
  make_batch({&run, 1}, bench.n_groups, kBlockTokens, bench.storage);
  const Batch batch = bench.storage.view();
  Execution execution{bench.exe, &batch};
  uint32_t n_stops = 0;
  while (test::take(bench.backend->advance(execution, Deadline::after_us(50))) ==
         Progress::suspended)
    REQUIRE(bench.host->pool().resize(++n_stops % 2 ? 4 : 1).ok());
  CHECK(n_stops > 3);
  CHECK(same(bench.backend->logits(bench.exe), want));
}

TEST_CASE(
    "maxima of the logits' blocks are those of the logits, for any vocabulary, rows and threads") {
  enum class End { head, head_of_residual, softcap };
  test::Rng rng(9);
  for (const uint32_t n_vocab : {1u, 15u, 16u, 17u, 250u, 1000u}) {
    for (const End end : {End::head, End::head_of_residual, End::softcap}) {
      constexpr uint32_t kWidth = 64, kRows = 70;
      const auto table = test::random_floats(rng, 40 * kWidth),
                 turned = test::random_floats(rng, kWidth * kWidth);
      auto head = test::random_floats(rng, size_t{n_vocab} * kWidth);
      // the last of the vocabulary's rows ends a block or lies alone in one
      for (const bool nan : {false, true}) {
        std::fill_n(head.end() - kWidth, kWidth, nan ? std::nanf("") : 0.5f);
        test::ProgramKit kit;
        kit.program.kv_groups = {{.n_layers = 1, .n_kv_head = 1, .d_k = 8, .d_v = 8}};
        const WeightIndex embd = kit.add_f32("embd", 40, kWidth, table),
                          square = kit.add_f32("square", kWidth, kWidth, turned),
                          out = kit.add_f32("out", n_vocab, kWidth, head);
        Builder b = kit.builder();
        const ValueId x = b.gather_rows(b.embed(embd));
        ValueId logits = b.linear(x, out);
        if (end == End::head_of_residual) {
          // the first ones are there a level before the second linear, so that the sum becomes its epilogue
          logits = b.add(b.linear(b.linear(x, square), out), logits);
        }
        if (end == End::softcap) logits = b.softcap(logits, 3);
        kit.program.n_vocab = n_vocab;
        b.set_logits(logits);

        for (const uint32_t n_workers : {1u, 2u, 3u}) {
          CAPTURE(n_vocab);
          CAPTURE(n_workers);
          cpu::CpuBackend backend(test::make_host(n_workers), cpu::default_kernel_table());
          const auto weights = test::take(kit.load(backend));
          KvConfig config;
          config.codec = test::take(parse_kv_type("f32"));
          config.block_tokens = kBlockTokens;
          config.n_blocks = kFirstBlock + 8;
          CompileOptions options;
          options.kv = test::take(backend.kv_create(kit.program.kv_groups, config));
          options.max_rows = options.max_out = kRows;
          options.max_seqs = 1;
          options.max_positions = kRows;
          const ExeId exe = test::take(backend.compile(kit.program, weights, options));
          const std::vector<std::vector<BlockId>> blocks = {{2, 3, 4, 5, 6}};
          for (const uint32_t n_rows : {1u, 3u, kRows, 2u}) {
            std::vector<int32_t> ids(n_rows);
            for (uint32_t i = 0; i < n_rows; ++i) ids[i] = static_cast<int32_t>(i * 7 % 40);
            const RowRun run{ids, 0, blocks, RowWant::all};
            BatchStorage storage;
            make_batch({&run, 1}, 1, kBlockTokens, storage);
            const Batch batch = storage.view();
            Execution execution{exe, &batch};
            REQUIRE(test::take(backend.advance(execution, Deadline::never())) == Progress::done);
            const auto rows = backend.logits(exe), maxima = backend.logit_maxima(exe);
            REQUIRE(rows.size() == size_t{n_rows} * n_vocab);
            if (end == End::softcap) {
              CHECK(maxima.empty());  // a step after the linear makes the logits
              continue;
            }
            const uint32_t n_blocks = (n_vocab + 15) / 16;
            REQUIRE(maxima.size() == size_t{n_rows} * n_blocks);
            uint32_t n_wrong = 0;
            for (uint32_t row = 0; row < n_rows; ++row) {
              for (uint32_t block = 0; block < n_blocks; ++block) {
                float want = -INFINITY;
                for (uint32_t i = block * 16; i < std::min(block * 16 + 16, n_vocab); ++i) {
                  const float l = rows[size_t{row} * n_vocab + i];
                  want = std::isnan(l) ? INFINITY : std::max(want, l);
                }
                n_wrong += maxima[size_t{row} * n_blocks + block] != want;
              }
              const bool bad = maxima[size_t{row + 1} * n_blocks - 1] == INFINITY;
              CHECK(bad == nan);
            }
            CHECK(n_wrong == 0);
          }
          backend.remove_program(exe);
          backend.kv_destroy(options.kv);
          for (const WeightId id : weights) backend.remove_weight(id);
        }
      }
    }
  }
}

TEST_CASE("memory is what the plan said") {
  for (const Model& m : {models()[0], models()[3]}) {
    CAPTURE(m.path);
    const int64_t before = allocated_bytes();
    Bench bench(m.path, "bf16", 2);
    uint64_t weights = 0;
    for (const WeightDesc& d : bench.model.def.program.weights)
      weights += bench.backend->weight_bytes(d);
    CompileOptions options;
    options.max_rows = options.max_out = 96;
    options.max_seqs = kSeqs;
    const uint64_t compute = bench.backend->compute_bytes(bench.model.def.program, options);
    const int64_t planned =
        static_cast<int64_t>(weights + compute) + bench.backend->kv_bytes(bench.kv);
    const int64_t taken = allocated_bytes() - before;
    CHECK(taken >= planned);
    CHECK(taken - planned < 3 << 20);  // the model's description, the plan, tables
  }
}

TEST_CASE("KV slabs are taken as first used and given back whole") {
  const KvGroup group{AttnKind::full, 0, 2, 2, 64, 64};
  KvConfig config;
  config.n_blocks = 300;
  auto slabs = test::take(cpu::KvSlabs::create({&group, 1}, config));
  const auto slab = static_cast<int64_t>(64 * cpu::KvSlabs::block_bytes(group, config));
  CHECK(slab == 64 * 2 * 2 * 2 * 64 * 32 * 2);
  CHECK(slabs->bytes() == slab);
  CHECK(slabs->commit(70).ok());
  CHECK(slabs->commit(71).ok());
  CHECK(slabs->commit(299).ok());
  CHECK(slabs->bytes() == 3 * slab);
  CHECK(!slabs->commit(300).ok());
  // A copy is the whole block, and nothing beside it.
  const size_t block = cpu::KvSlabs::block_bytes(group, config);
  uint8_t* from = slabs->head(70, 0, 0, 0);
  uint8_t* to = slabs->head(299, 0, 0, 0);
  for (size_t i = 0; i < block; ++i) from[i] = static_cast<uint8_t>(i * 37 + i / 251 + 1);
  std::memset(to - block, 0xee, 3 * block);
  CHECK(slabs->copy(70, 299).ok());
  CHECK(std::memcmp(to, from, block) == 0);
  for (const uint8_t* beside : {to - block, to + block})
    CHECK(std::count(beside, beside + block, uint8_t{0xee}) == static_cast<long>(block));
  const BlockId some[] = {70};
  slabs->release(some);
  CHECK(slabs->bytes() == 3 * slab);
  const BlockId rest[] = {71, 299, 5};
  slabs->release(rest);
  CHECK(slabs->bytes() == slab);
}

TEST_CASE("a failing or cancelled read of a weight is the reader's error") {
  class Failing final : public WeightReader {
   public:
    Status read(uint64_t offset, void* dst, uint64_t n) const override {
      if (offset > 100'000)
        return error(Code::io, "tensor x: short read at %llu",
                     static_cast<unsigned long long>(offset));
      std::memset(dst, 0, n);
      return Status();
    }
    void drop_behind(uint64_t, uint64_t) const override {}
  };
  cpu::CpuBackend backend(test::make_host(2), cpu::default_kernel_table());
  const WeightDesc big{"x", DType::q8_0, 40'000, 256};
  auto failed = backend.add_weight(big, Failing(), nullptr);
  CHECK(failed.status().code() == Code::io);
  JobProgress progress;
  progress.cancel.store(true);
  CHECK(backend.add_weight(big, Failing(), &progress).status().code() == Code::cancelled);
}
