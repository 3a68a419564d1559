#include "sampling/row_kernels.h"

#include "sampling/mass.h"
#include "sampling/rng.h"
#include "support.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

std::vector<const RowKernels*> builds() {
  std::vector<const RowKernels*> out = {&row_kernels_baseline::kKernels};
  if (&row_kernels() != out[0]) out.push_back(&row_kernels());
  return out;
}

}  // namespace

TEST_CASE("row_kernels: words are word 1 of philox4x32, of any tokens, keys and counts") {
  std::mt19937_64 rng(1);
  for (const RowKernels* kernels : builds()) {
    for (size_t n = 0; n <= 40; ++n) {
      for (const uint32_t stream : {0u, 1u}) {
        const uint64_t seed = n % 3 == 0 ? ~uint64_t{0} : rng();
        const auto position = n % 5 == 0 ? ~uint32_t{0} : static_cast<uint32_t>(rng());
        std::vector<uint32_t> ids(n), words(n + 1, 77);
        for (uint32_t& id : ids) id = static_cast<uint32_t>(rng());
        kernels->draw_words(seed, position, stream, ids.data(), n, words.data());
        for (size_t i = 0; i < n; ++i)
          CHECK(words[i] == philox4x32({ids[i], position, stream, 0}, seed)[1]);
        CHECK(words[n] == 77);
      }
    }
    std::vector<uint32_t> ids(70000), words(ids.size());
    std::iota(ids.begin(), ids.end(), 200000u);
    kernels->draw_words(5, 6, 0, ids.data(), ids.size(), words.data());
    size_t n_other = 0;
    for (size_t i = 0; i < ids.size(); ++i)
      n_other += static_cast<size_t>(words[i] != philox4x32({ids[i], 6, 0, 0}, 5)[1]);
    CHECK(n_other == 0);
  }
}

TEST_CASE("row_kernels: the total mass is the sum of single masses, from none to the largest") {
  std::mt19937 rng(2);
  for (const RowKernels* kernels : builds()) {
    for (const size_t n : {1u, 5u, 255u, 256u, 257u, 5003u}) {
      for (const float spread : {0.0f, 1.0f, 30.0f}) {
        auto row = random_logits(rng, n, spread);
        for (size_t i = 0; i + 1 < n; i += 7) row[i] = -kInf;
        const float max = *std::max_element(row.begin(), row.end());
        uint64_t want = 0;
        for (const float l : row) want += mass_of(l, max);
        CHECK(kernels->total_mass(row.data(), n, max) == want);
      }
    }
    // every exponent of a mass, and both sides of the border between its halves
    for (float below = 0; below < 90; below += 0.0137f) {
      const float x = -below;
      CHECK(kernels->total_mass(&x, 1, 0) == mass_of(x, 0));
    }
  }
}
