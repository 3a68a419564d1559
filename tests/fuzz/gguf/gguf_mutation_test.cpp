// 10,000 GGUF files, each a sound one with a few random faults: every one must give success or one sentence, no crash,
// no endless loop, no memory beyond the file's own size. Deterministic: a failing case is named by seed file and number.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/fuzz/gguf/exercise_gguf.h"
#include "tests/support/test_data.h"
#include "tests/support/tiny_gguf.h"

using namespace llmrt;
using test::Bytes;

namespace {

class Random {  // splitmix64
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  size_t below(size_t n) { return static_cast<size_t>(next() % n); }

 private:
  uint64_t state_;
};

struct Seed {
  const char* name;
  Bytes bytes;
  size_t table_end;  // faults go into the bytes before this, where the structure is
};

Seed seed_of(const char* name, Bytes bytes) {
  const GgufFile file = parse_gguf(*test::source_of(bytes)).value();
  const size_t end = std::min<size_t>(bytes.size(), file.data_offset);
  return {name, std::move(bytes), end};
}

Bytes quantized_file() {
  test::GgufWriter w(64);
  w.add_string("general.architecture", "llama").add_u32("llama.block_count", 1);
  for (const QuantFormat& f : all_formats()) {
    const uint64_t dims[] = {256, 2};
    w.add_tensor(f.name, static_cast<uint32_t>(f.type), dims, Bytes(row_bytes(f, 512), 0x5a));
  }
  return w.bytes();
}

Bytes vocabulary_file() {
  std::vector<std::string> tokens;
  for (int i = 0; i < 300; ++i)
    tokens.push_back(std::string(static_cast<size_t>(i % 7), static_cast<char>('a' + i % 26)));
  test::GgufWriter w;
  w.add_string("tokenizer.ggml.model", "gpt2").add_strings("tokenizer.ggml.tokens", tokens);
  w.add_i32s("tokenizer.ggml.token_type", std::vector<int32_t>(300, 1))
      .add_f32s("tokenizer.ggml.scores", std::vector<float>(300));
  return w.bytes();
}

void mutate(Bytes& bytes, size_t& table_end, Random& random) {
  constexpr uint64_t kNumbers[] = {0,
                                   1,
                                   2,
                                   7,
                                   8,
                                   9,
                                   13,
                                   31,
                                   32,
                                   255,
                                   0x7fff,
                                   0xffff,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   uint64_t{1} << 32,
                                   uint64_t{1} << 60,
                                   uint64_t{1} << 63,
                                   UINT64_MAX - 31,
                                   UINT64_MAX};
  const size_t at = random.below(table_end);
  const size_t n = 1 + random.below(std::min<size_t>(table_end - at, 64));
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random.below(7)) {
    case 0:
      bytes[at] ^= static_cast<uint8_t>(1u << random.below(8));
      break;
    case 1:
      bytes[at] = static_cast<uint8_t>(random.next());
      break;
    case 2:
    case 3: {
      const uint64_t number = kNumbers[random.below(std::size(kNumbers))];
      std::memcpy(bytes.data() + at, &number,
                  std::min<size_t>(bytes.size() - at, random.below(2) ? 4 : 8));
      break;
    }
    case 4:
      bytes.resize(at + 1);
      table_end = at + 1;
      break;
    case 5:
      bytes.erase(begin, begin + static_cast<std::ptrdiff_t>(n));
      table_end = std::max<size_t>(table_end - n, 1);
      if (bytes.empty()) bytes.push_back(0);
      break;
    default: {
      const Bytes piece(begin, begin + static_cast<std::ptrdiff_t>(n));
      const size_t to = random.below(table_end);
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(to), piece.begin(), piece.end());
      table_end += n;
      break;
    }
  }
}

}  // namespace

TEST_CASE("gguf fuzz: 10000 mutated files give success or one sentence") {
  std::vector<Seed> seeds;
  seeds.push_back(seed_of("tiny", test::tiny_writer().bytes()));
  seeds.push_back(seed_of("quantized", quantized_file()));
  seeds.push_back(seed_of("vocabulary", vocabulary_file()));
  seeds.push_back(
      seed_of("adapter.f32.gguf", test::read_file(test::repo_data("formats/adapter.f32.gguf"))));
  int n_ok = 0;
  int n_refused = 0;
  for (const Seed& seed : seeds) {
    REQUIRE(test::exercise_gguf(seed.bytes).ok());
    for (uint64_t i = 0; i < 2500; ++i) {
      INFO("seed " << seed.name << ", case " << i);
      Random random(i * 2654435761u + seed.bytes.size());
      Bytes bytes = seed.bytes;
      size_t table_end = seed.table_end;
      const size_t n_faults = 1 + random.below(3);
      for (size_t k = 0; k < n_faults; ++k) mutate(bytes, table_end, random);
      const Status status = test::exercise_gguf(bytes);
      if (status.ok()) {
        ++n_ok;
        continue;
      }
      ++n_refused;
      const bool expected_code = status.code() == Code::format ||
                                 status.code() == Code::unsupported || status.code() == Code::io;
      REQUIRE(expected_code);
      REQUIRE(status.message().size() > 10);
      REQUIRE(status.message().size() <= llmrt::kMostMessage);
      REQUIRE(std::all_of(status.message().begin(), status.message().end(),
                          [](char c) { return c >= 0x20 && c < 0x7f; }));
    }
  }
  MESSAGE(n_refused << " refused, " << n_ok << " still sound");
  CHECK(n_ok > 100);
  CHECK(n_refused > 5000);
}
