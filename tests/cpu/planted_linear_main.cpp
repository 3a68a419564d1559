// planted_linear: the scalar kernels are compiled into this program with a fault that can be switched on (base/plant.h). Random products
// of class a8, held against the class's rule bit for bit, must find it within 10000 of them, and nothing without it.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "base/float_control.h"
#include "base/plant.h"
#include "tests/cpu/a8_linear.h"

namespace llmrt::plant {
Fault active = none;
}
namespace llmrt::cpu::scalar {
extern const KernelTable kTable;
}

namespace {

using namespace llmrt;

constexpr uint64_t kClean = 20;  // products without a fault

// One product; type, row length, panel tail and number of input rows come from the seed. False: a bit differs.
bool product_is_right(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  static const auto types = test::a8_types();
  const DType type = types[pick(static_cast<uint32_t>(types.size()))];
  const uint32_t block = format_of(type).block;
  const uint32_t k = (1 + pick(24 * kSuperblock / block)) * block;
  const uint32_t n = 1 + pick(33), n_rows = 1 + pick(6);
  std::vector<std::vector<float>> x;
  for (uint32_t i = 0; i < n_rows; ++i)
    x.push_back(test::random_floats(k, static_cast<uint32_t>(random())));
  test::A8Linear linear(type, n, k, x);
  const auto codes = std::make_unique<PanelCodes>();
  for (uint32_t p = 0; p < n_panels(n); ++p) {
    const float* out = linear.run(cpu::scalar::kTable, p, 0, n_rows);
    for (uint32_t i = 0; i < n_rows; ++i)
      for (uint32_t r = 0; r < 16 && p * 16 + r < n; ++r)
        if (!test::same_bits(out[i * 16 + r],
                             test::a8_by_the_rule(
                                 type, linear.panels.data() + p * linear.panel, r, k, linear.form,
                                 linear.in.data() + i * linear.form.row_bytes, *codes))) {
          std::printf("product %llu: %s, K %u, N %u: row %u, output %u\n",
                      static_cast<unsigned long long>(seed), format_of(type).name, k, n, i,
                      p * 16 + r);
          return false;
        }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t most = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10000;
  const FloatScope floats(FloatMode::compute);
  for (uint64_t seed = 1; seed <= kClean; ++seed)
    if (!product_is_right(seed)) return 1;
  plant::active = plant::wrong_stripe_edge;
  for (uint64_t seed = 1; seed <= most; ++seed)
    if (!product_is_right(seed)) return std::printf("wrong_stripe_edge was found\n"), 0;
  std::printf("wrong_stripe_edge NOT FOUND\n");
  return 1;
}
