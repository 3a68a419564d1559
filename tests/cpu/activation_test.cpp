#include "quant/activation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "backends/cpu/kernel_table.h"
#include "base/half.h"
#include "base/thread_pool.h"
#include "tests/cpu/kernel_tables.h"
#include "tests/cpu/random_weights.h"

using namespace llmrt;

namespace {

std::vector<std::vector<float>> hard_rows(uint32_t k) {
  std::vector<std::vector<float>> rows;
  rows.push_back(test::random_floats(k, 1));
  rows.push_back(std::vector<float>(k, 0.0f));
  rows.push_back(std::vector<float>(k, 3.0f));
  rows.push_back(std::vector<float>(k, -1e-42f));
  rows.push_back(test::random_floats(k, 2, 1e-37f));
  rows.push_back(test::random_floats(k, 3, 1e36f));
  rows.push_back(test::random_floats(k, 4));
  rows.back()[k / 2] = 1e4f;
  rows.push_back(test::random_floats(k, 5));
  rows.back()[k - 1] = std::numeric_limits<float>::quiet_NaN();
  rows.push_back(test::random_floats(k, 6));
  rows.back()[0] = -std::numeric_limits<float>::infinity();
  std::vector<float> ties(k);
  for (uint32_t i = 0; i < k; ++i)
    ties[i] = i % 32 == 0 ? 127.0f : static_cast<float>(i % 64) + 0.5f;
  rows.push_back(ties);
  // Where magnitudes count as nothing, and groups of all kinds in one row.
  for (float most : {0x1p-118f, 0x1.fffffep-119f, 0x1p-110f}) {
    rows.push_back(std::vector<float>(k, 0.5f * most));
    rows.back()[k / 3] = -most;
  }
  std::vector<float> mixed = test::random_floats(k, 7);
  for (uint32_t i = 0; i < k; ++i)
    if (i / 32 % 3 == 1) mixed[i] = 0.0f;
  mixed[k - 2] = -std::numeric_limits<float>::quiet_NaN();
  rows.push_back(mixed);
  return rows;
}

}  // namespace

TEST_CASE("activations round as the rule says") {
  const uint32_t k = 64;
  for (uint32_t group : {32u}) {
    const ActivationForm f = activation_form(k, group);
    std::vector<float> x(k, 0.0f);
    x[0] = 127.0f;
    x[1] = 0.5f;
    x[2] = 1.5f;
    x[3] = -2.5f;
    x[33] = -8.0f;
    std::vector<uint8_t> row(f.row_bytes);
    quantize_activations(x.data(), f, row.data());
    const auto* q = reinterpret_cast<const int8_t*>(row.data());
    const auto* dx = reinterpret_cast<const float*>(row.data() + f.dx_at);
    const auto* sum = reinterpret_cast<const float*>(row.data() + f.sum_at);
    CHECK(q[0] == 127);
    CHECK(q[1] == 0);  // ties to even
    CHECK(q[2] == 2);
    CHECK(q[3] == -2);
    CHECK(q[33] == -127);
    CHECK(dx[0] == 1.0f);
    CHECK(dx[1] == 8.0f / 127.0f);
    CHECK(sum[0] == 127.0f);
    CHECK(sum[1] == -127.0f);
  }
}

TEST_CASE("a NaN or an infinity makes its group's scale NaN and its codes zero") {
  for (uint32_t group : {32u, 256u}) {
    const ActivationForm f = activation_form(512, group);
    std::vector<float> x(512, 1.0f);
    x[300] = std::numeric_limits<float>::infinity();
    std::vector<uint8_t> row(f.row_bytes);
    quantize_activations(x.data(), f, row.data());
    const auto* dx = reinterpret_cast<const float*>(row.data() + f.dx_at);
    CHECK(std::isnan(dx[300 / group]));
    CHECK(dx[0] == 1.0f / 127.0f);
    CHECK(reinterpret_cast<const int8_t*>(row.data())[300] == 0);
  }
}

TEST_CASE("every table rounds activations to the reference's bytes") {
  const FloatScope floats(FloatMode::compute);
  for (const cpu::KernelTable* table : test::kernel_tables())
    for (uint32_t group : {32u, 256u})
      for (uint32_t k : {32u, 96u, 160u, 256u, 512u, 768u, 2048u}) {
        if (k % group != 0) continue;
        for (const auto& x : hard_rows(k)) {
          const ActivationForm f = activation_form(k, group);
          // Not zero: what is nothing must be written too.
          std::vector<uint8_t> want(f.row_bytes, 0xff), got(f.row_bytes, 0xff);
          quantize_activations(x.data(), f, want.data());
          table->quantize(x.data(), f, got.data());
          CAPTURE(table->name);
          const auto dx_equal = [&] {
            for (uint32_t g = 0; g < k / group; ++g) {
              float a, b;
              std::memcpy(&a, want.data() + f.dx_at + 4 * g, 4);
              std::memcpy(&b, got.data() + f.dx_at + 4 * g, 4);
              if (std::bit_cast<uint32_t>(a) != std::bit_cast<uint32_t>(b) &&
                  !(std::isnan(a) && std::isnan(b)))
                return false;
            }
            return true;
          };
          CHECK(dx_equal());
          CHECK(std::equal(want.begin(), want.begin() + k, got.begin()));
          CHECK(std::equal(want.begin() + f.sum_at, want.end(), got.begin() + f.sum_at));
        }
      }
}

TEST_CASE("every table splits activations as the reference does") {
  const FloatScope floats(FloatMode::compute);
  for (uint32_t k : {1u, 33u, 256u, 300u})
    for (auto x : hard_rows(std::max(k, 64u))) {
      x.resize(k);
      const ActivationForm f = activation_form(k, kSplitGroup);
      std::vector<uint8_t> want(f.row_bytes, 1);
      quantize_activations(x.data(), f, want.data());
      for (uint32_t i = 0; i < k; ++i) {
        uint16_t high, low;
        std::memcpy(&high, want.data() + 2 * i, 2);
        std::memcpy(&low, want.data() + f.low_at + 2 * i, 2);
        const float got = bf16_to_f32(high) + bf16_to_f32(low);
        if (std::isfinite(x[i]) && std::fabs(x[i]) > 0x1p-100f)
          CHECK(std::fabs(got - x[i]) <= std::fabs(x[i]) * 0x1p-16f);
      }
      for (const cpu::KernelTable* table : test::kernel_tables()) {
        std::vector<uint8_t> got(f.row_bytes, 0);
        table->quantize(x.data(), f, got.data());
        CAPTURE(table->name);
        CHECK(std::equal(want.begin(), want.begin() + 2 * f.low_at, got.begin()));
      }
    }
}
