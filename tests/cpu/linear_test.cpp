// Class a8 is bit-equal over all tables, row counts and panels; class f32 follows its rule.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/kernel_table.h"
#include "base/half.h"
#include "base/memory.h"
#include "base/thread_pool.h"
#include "quant/panel.h"
#include "tests/cpu/a8_linear.h"
#include "tests/cpu/kernel_tables.h"
#include "tests/cpu/random_weights.h"

using namespace llmrt;
using cpu::KernelTable;
using test::a8_by_the_rule;
using test::A8Linear;
using test::same_bits;

namespace {

// Last superblocks of 1, 2, 3, 4, 6 and 8 blocks, alone in their stripe and not; stripes of none to three superblocks.
constexpr uint32_t kRowLengths[] = {32, 96, 128, 192, 256, 576, 896, 2080, 2144, 2304, 4640};

std::vector<std::vector<float>> inputs(uint32_t n, uint32_t k) {
  std::vector<std::vector<float>> x;
  for (uint32_t i = 0; i < n; ++i) x.push_back(test::random_floats(k, i + 1));
  if (n > 6) {
    std::fill(x[1].begin(), x[1].end(), 1.0f);   // all q = 127
    std::fill(x[2].begin(), x[2].end(), -1.0f);  // all q = -127
    for (uint32_t i = 0; i < k; ++i) x[3][i] = i % 2 ? -1.0f : 1.0f;
    x[4][k / 3] = 1e4f;  // one outlier
    std::fill(x[5].begin(), x[5].end(), 0.0f);
    for (auto& v : x[6]) v *= 1e-41f;  // denormal
  }
  return x;
}

// [n][16] outputs of float32 weights [16][k] and inputs [n][k]: 8 stripes, in each of them ascending, by one fma per k or by two
// operations.
std::vector<float> sums_in_stripes(const std::vector<float>& w, const std::vector<float>& x,
                                   uint32_t k, bool fused) {
  const uint32_t n_super = n_superblocks(k), n = static_cast<uint32_t>(x.size() / k);
  std::vector<float> sums(size_t{n} * 16);
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t r = 0; r < 16; ++r)
      for (uint32_t s = 0; s < 8; ++s) {
        float acc = 0;
        for (uint32_t e = n_super * s / 8 * 256; e < std::min(k, n_super * (s + 1) / 8 * 256);
             ++e) {
          const float a_w = w[size_t{r} * k + e], a_x = x[size_t{i} * k + e];
          acc = fused ? std::fma(a_w, a_x, acc) : acc + a_w * a_x;
        }
        sums[i * 16 + r] += acc;
      }
  return sums;
}

}  // namespace

TEST_CASE(
    "a8 linears equal the rule bit for bit on every table, for every type, row length and panel "
    "tail") {
  const FloatScope floats(FloatMode::compute);
  auto codes = std::make_unique<PanelCodes>();
  for (DType type : test::a8_types())
    for (uint32_t k : {32u, 64u, 160u, 256u, 576u, 640u, 896u, 2080u, 2304u, 4096u}) {
      if (k % format_of(type).block) continue;
      const auto x = inputs(9, k);
      for (uint32_t n : {1u, 15u, 16u, 17u, 33u}) {
        if (n > 1 && n < 33 && k > 896) continue;  // panel tails do not depend on K
        A8Linear f(type, n, k, x);
        std::vector<float> want(size_t{9} * n);
        for (uint32_t i = 0; i < 9; ++i)
          for (uint32_t r = 0; r < n; ++r)
            want[i * n + r] = a8_by_the_rule(type, f.panels.data() + r / 16 * f.panel, r % 16, k,
                                             f.form, f.in.data() + i * f.form.row_bytes, *codes);
        for (const KernelTable* table : test::all_tables()) {
          bool same = true;
          for (uint32_t p = 0; p < n_panels(n); ++p) {
            const float* out = f.run(*table, p, 0, 9);
            for (uint32_t i = 0; i < 9; ++i)
              for (uint32_t r = 0; r < 16 && p * 16 + r < n; ++r)
                same = same && same_bits(out[i * 16 + r], want[i * n + p * 16 + r]);
          }
          CAPTURE(table->name);
          CAPTURE(format_of(type).name);
          CAPTURE(k);
          CAPTURE(n);
          CHECK(same);
        }
      }
    }
}

TEST_CASE("a8 linears give a row the same bits alone and in any company of 1 to 70 rows") {
  const FloatScope floats(FloatMode::compute);
  for (DType type : test::a8_types())
    for (uint32_t k : {256u, 2304u}) {
      const auto x = inputs(70, k);
      A8Linear f(type, 16, k, x);
      for (const KernelTable* table : test::all_tables()) {
        const bool slow = std::string(table->name) != "avx2";
        std::vector<float> alone(70 * 16);
        for (uint32_t i = 0; i < 70; ++i) {
          const float* out = f.run(*table, 0, i, 1);
          std::copy(out, out + 16, &alone[i * 16]);
        }
        bool same = true;
        // Every number of rows on the short K: up to 30 are all tails of the register tiles of every table.
        for (uint32_t m = 2; m <= 70; m += slow && (k > 256 || m >= 30) ? 17 : 1) {
          const float* out = f.run(*table, 0, 70 - m, m);
          for (uint32_t i = 0; i < m * 16; ++i)
            same = same && same_bits(out[i], alone[(70 - m) * 16 + i]);
        }
        CAPTURE(table->name);
        CAPTURE(format_of(type).name);
        CHECK(same);
      }
    }
}

TEST_CASE(
    "a8 linears of 16 rows and more equal the scalar table's of one row, for every type and row "
    "length") {
  const FloatScope floats(FloatMode::compute);
  for (DType type : test::a8_types())
    for (uint32_t k : kRowLengths) {
      if (k % format_of(type).block) continue;
      // Every way to cut rows into blocks of 16, on one K.
      const uint32_t n_rows = k == 256 ? cpu::kMaxLinearRows : 48;
      A8Linear f(type, 16, k, inputs(n_rows, k));
      const auto tables = test::all_tables();
      std::vector<float> want(size_t{n_rows} * 16);
      for (uint32_t i = 0; i < n_rows; ++i)
        std::copy_n(f.run(*tables.back(), 0, i, 1), 16, &want[i * 16]);
      for (const KernelTable* table : tables)
        for (uint32_t m : {16u, 17u, 31u, 32u, 33u, 48u, 127u, 128u, 511u, 512u}) {
          if (m > n_rows || (m == 31 && k != 256)) continue;
          const float* out = f.run(*table, 0, 0, m);
          bool same = true;
          for (uint32_t i = 0; i < m * 16; ++i) same = same && same_bits(out[i], want[i]);
          CAPTURE(table->name);
          CAPTURE(format_of(type).name);
          CAPTURE(k);
          CAPTURE(m);
          CHECK(same);
        }
      CHECK(f.stays_inside);
    }
}

TEST_CASE("two panels at once give each the bits that it has alone") {
  const FloatScope floats(FloatMode::compute);
  uint32_t n_checked = 0;
  for (DType type : test::a8_types())
    for (uint32_t k : kRowLengths) {
      if (k % format_of(type).block) continue;
      const uint32_t n_rows = k == 256 ? cpu::kMaxLinearRows : 49;
      A8Linear f(type, 48, k, inputs(n_rows, k));
      for (const KernelTable* table : test::all_tables()) {
        if (!table->takes_panels[static_cast<uint32_t>(type)]) continue;
        for (uint32_t m : {1u, 15u, 16u, 17u, 31u, 32u, 33u, 48u, 49u, 511u, 512u}) {
          if (m > n_rows) continue;
          const float* out = f.run(*table, 1, 0, m, 2);
          const std::vector<float> both(out, out + size_t{2} * m * 16);
          bool same = true;
          for (uint32_t p = 0; p < 2; ++p) {
            const float* one = f.run(*table, 1 + p, 0, m);
            for (uint32_t i = 0; i < m * 16; ++i)
              same = same && same_bits(both[p * m * 16 + i], one[i]);
          }
          CAPTURE(table->name);
          CAPTURE(format_of(type).name);
          CAPTURE(k);
          CAPTURE(m);
          CHECK(same);
          ++n_checked;
        }
      }
      CHECK(f.stays_inside);
    }
#if defined(__x86_64__)
  if (cpu::find_kernel_table("avx2")) CHECK(n_checked > 0);  // the emulated tiles do
#endif
}

#if defined(__x86_64__)
TEST_CASE("a linear by tiles leaves no tile in use") {
  if (!cpu::find_kernel_table("avx2")) return;
  const FloatScope floats(FloatMode::compute);
  for (DType type : {DType::q4_k, DType::q8_0}) {
    A8Linear f(type, 16, 256, inputs(20, 256));
    f.run(cpu::avx512_emulated::kTileTable, 0, 0, 20);
    CHECK(cpu::avx512_emulated::tiles_are_released());
  }
}
#endif

constexpr int kRandomFill = 256;  // no pattern of bytes

TEST_CASE("extreme codes and activations neither saturate nor overflow") {
  const FloatScope floats(FloatMode::compute);
  auto codes = std::make_unique<PanelCodes>();
  for (DType type : test::a8_types())
    for (int fill : {0x00, 0xff, 0x80, 0x7f, 0x55, 0xaa, kRandomFill}) {
      const uint32_t k = 512;
      // Codes and sub-scales take the pattern, scales stay finite.
      const QuantFormat& format = format_of(type);
      std::vector<uint8_t> rows(16 * row_bytes(format, k), static_cast<uint8_t>(fill));
      if (fill == kRandomFill) rows = test::random_weights(type, 16, k, 7);
      const auto scales = test::random_floats(rows.size() / 8, 11, 0.01f);
      size_t next = 0;
      for (size_t b = 0; b < rows.size(); b += format.block_bytes) {
        // The largest product of code and sub-scale: (0 - 32) * -128.
        if (type == DType::q6_k && fill == 0)
          std::fill_n(rows.begin() + static_cast<long>(b + 192), 16, uint8_t{0x80});
        if (type == DType::mxfp4) rows[b] = static_cast<uint8_t>(110 + b % 25);
        test::set_block_scales(type, &rows[b], [&] { return scales[next++ % scales.size()]; });
      }
      Buffer panel = Buffer::make(panel_bytes(type, k));
      pack_panel(type, rows.data(), row_bytes(format, k), 16, k, panel.data());
      // Every product of a weight row with its input has the same sign: 127 of the code's.
      std::vector<std::vector<float>> x(33, std::vector<float>(k));
      for (uint32_t begin = 0; begin < k; begin += 256) {
        decode_panel_codes(type, panel.data() + begin / 256 * superblock_bytes(type), 8, *codes);
        for (uint32_t i = 0; i < 33; ++i)
          for (uint32_t j = 0; j < 256; ++j)
            x[i][begin + j] = codes->code[j / 4][i % 16][j % 4] < 0 ? -127.0f : 127.0f;
      }
      A8Linear f(type, 16, k, x);
      std::memcpy(f.panels.data(), panel.data(), panel.size());
      std::vector<float> want;  // of every fifth output
      for (uint32_t i = 0; i < 33; ++i)
        for (uint32_t r = 0; r < 16; r += 5)
          want.push_back(a8_by_the_rule(type, f.panels.data(), r, k, f.form,
                                        f.in.data() + i * f.form.row_bytes, *codes));
      for (const KernelTable* table : test::all_tables())
        for (uint32_t m : {4u, 14u, 33u}) {
          const float* out = f.run(*table, 0, 0, m);
          bool same = true;
          for (uint32_t i = 0; i < m; ++i)
            for (uint32_t r = 0; r < 16; r += 5)
              same = same && same_bits(out[i * 16 + r], want[i * 4 + r / 5]);
          CAPTURE(table->name);
          CAPTURE(format.name);
          CAPTURE(fill);
          CHECK(same);
        }
    }
}

TEST_CASE("a NaN activation reaches the output of its row and no other") {
  const FloatScope floats(FloatMode::compute);
  for (DType type : {DType::q4_k, DType::q6_k, DType::q8_0, DType::q5_0, DType::q4_1, DType::q2_k,
                     DType::iq4_nl, DType::iq3_s}) {
    auto x = inputs(20, 512);
    x[8][100] = std::numeric_limits<float>::quiet_NaN();
    A8Linear f(type, 16, 512, x);
    for (const KernelTable* table : test::all_tables()) {
      for (uint32_t m : {12u, 20u}) {
        const float* out = f.run(*table, 0, 0, m);
        for (uint32_t i = 0; i < m; ++i) CHECK(std::isnan(out[i * 16 + 3]) == (i == 8));
      }
    }
  }
}

TEST_CASE(
    "float32 linears are one fma per k in 8 stripes, and do not depend on the number of rows") {
  const FloatScope floats(FloatMode::compute);
  // Class f32 takes any type without a packed form by its scalar codec, one of class a8 too.
  for (DType type :
       {DType::f32, DType::f16, DType::bf16, DType::iq4_nl, DType::mxfp4, DType::iq1_m,
        DType::iq2_xs, DType::iq3_s, DType::tq1_0, DType::nvfp4, DType::q1_0, DType::q2_0})
    for (uint32_t k : {1u, 31u, 64u, 257u, 576u, 768u, 2304u}) {
      const QuantFormat& format = format_of(type);
      if (k % format.block) continue;
      const auto rows = test::random_weights(type, 16, k, k);
      Buffer panel = Buffer::make(panel_bytes(type, k)), out = Buffer::make(64 * 70),
             scratch = Buffer::make(cpu::linear_scratch_bytes(k));
      pack_panel(type, rows.data(), row_bytes(format, k), 16, k, panel.data());
      const auto x = test::random_floats(size_t{70} * k, 9);
      std::vector<float> w(size_t{16} * k);
      for (uint32_t r = 0; r < 16; ++r)
        format.decode(&rows[r * row_bytes(format, k)], &w[size_t{r} * k], k);
      const std::vector<float> want[2] = {sums_in_stripes(w, x, k, false),
                                          sums_in_stripes(w, x, k, true)};
      for (const KernelTable* table : test::all_tables()) {
        if (table->input_group(format) == kSplitGroup) continue;
        const bool fused = std::string(table->f32_class) == "f32";
        for (uint32_t m : {1u, 2u, 3u, 5u, 12u, 13u, 70u}) {
          std::fill_n(out.as<float>(), size_t{16} * 70, std::numeric_limits<float>::quiet_NaN());
          cpu::LinearArgs a{};
          a.panel = panel.data();
          a.k = k;
          a.in = reinterpret_cast<const uint8_t*>(x.data());
          a.in_stride = size_t{k} * 4;
          a.n_rows = m;
          a.out = out.as<float>();
          a.scratch = scratch.data();
          a.format = &format;
          if (format.numerics == NumericsClass::f32)
            table->linear_of(format)(a);
          else
            table->linear_decoded(a);
          bool same = true;
          for (uint32_t i = 0; i < m * 16; ++i)
            same = same && same_bits(out.as<float>()[i], want[fused][i]);
          CAPTURE(table->name);
          CAPTURE(format.name);
          CAPTURE(k);
          CAPTURE(m);
          CHECK(same);
        }
      }
    }
}

TEST_CASE("BF16 linears of class b16x2 are the rule's, and do not depend on the number of rows") {
  const FloatScope floats(FloatMode::compute);
  const QuantFormat& format = format_of(DType::bf16);
  for (uint32_t k : {1u, 31u, 33u, 64u, 257u, 576u, 768u, 2304u}) {
    const auto rows = test::random_weights(DType::bf16, 16, k, k);
    Buffer panel = Buffer::make(panel_bytes(DType::bf16, k)), out = Buffer::make(64 * 70),
           scratch = Buffer::make(cpu::linear_scratch_bytes(k));
    pack_panel(DType::bf16, rows.data(), row_bytes(format, k), 16, k, panel.data());
    const ActivationForm form = activation_form(k, kSplitGroup);
    Buffer in = Buffer::make(size_t{form.row_bytes} * 70);
    for (uint32_t i = 0; i < 70; ++i)
      quantize_activations(test::random_floats(k, i + 1, i % 7 == 6 ? 1e-30f : 1.0f).data(), form,
                           in.data() + i * form.row_bytes);
    const auto bf16_at = [](const uint8_t* p, uint32_t i) {
      uint16_t h;
      std::memcpy(&h, p + 2 * i, 2);
      return bf16_to_f32(h);
    };
    std::vector<float> want(70 * 16);
    for (uint32_t i = 0; i < 70; ++i)
      for (uint32_t r = 0; r < 16; ++r)
        for (uint32_t s = 0; s < 8; ++s) {
          const uint32_t n = n_superblocks(k), end = std::min(k, n * (s + 1) / 8 * 256);
          float acc = 0;
          for (uint32_t first = n * s / 8 * 256; first < end; first += 32)
            for (const uint32_t part : {0u, form.low_at}) {
              const uint8_t* x = in.data() + i * form.row_bytes + part;
              float chain[2] = {};
              for (uint32_t e = first; e < std::min(first + 32, k); ++e)
                chain[e % 2] = std::fma(bf16_at(x, e), bf16_at(&rows[r * row_bytes(format, k)], e),
                                        chain[e % 2]);
              acc += chain[0] + chain[1];
            }
          want[i * 16 + r] += acc;
        }
    for (const KernelTable* table : test::all_tables()) {
      if (table->input_group(format) != kSplitGroup) continue;
      for (uint32_t m : {1u, 2u, 3u, 15u, 16u, 17u, 48u, 65u, 70u}) {
        cpu::LinearArgs a{};
        a.panel = panel.data();
        a.k = k;
        a.in = in.data() + (70 - m) * form.row_bytes;
        a.in_stride = form.row_bytes;
        a.form = &form;
        a.n_rows = m;
        a.out = out.as<float>();
        a.scratch = scratch.data();
        table->linear_of(format)(a);
        bool same = true;
        for (uint32_t i = 0; i < m * 16; ++i)
          same = same && same_bits(a.out[i], want[(70 - m) * 16 + i]);
        CAPTURE(table->name);
        CAPTURE(k);
        CAPTURE(m);
        CHECK(same);
      }
    }
  }
}
