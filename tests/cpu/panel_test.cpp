#include "quant/panel.h"

#include <doctest/doctest.h>
#include <xxhash.h>

#include <algorithm>
#include <map>
#include <memory>

#include "tests/cpu/a8_linear.h"
#include "tests/cpu/random_weights.h"

using namespace llmrt;

namespace {

const std::vector<uint32_t> kRowLengths = {32, 64, 160, 256, 576, 640, 896, 1024, 2080};

std::vector<uint8_t> pack(DType type, const std::vector<uint8_t>& rows, uint32_t n, uint32_t k) {
  const size_t bytes = panel_bytes(type, k), row = row_bytes(format_of(type), k);
  std::vector<uint8_t> out(bytes * n_panels(n), 0xcd);
  for (uint32_t p = 0; p < n_panels(n); ++p)
    pack_panel(type, &rows[p * 16 * row], row, std::min(16u, n - p * 16), k, &out[p * bytes]);
  return out;
}

}  // namespace

TEST_CASE("every row comes out of its panel as it went in") {
  for (const QuantFormat& f : all_formats()) {
    std::vector<uint32_t> lengths = kRowLengths;
    if (f.block == 1) lengths.insert(lengths.end(), {1, 3, 31, 33, 300});
    for (uint32_t k : lengths) {
      if (k % f.block) continue;
      for (uint32_t n = 1; n <= 33; ++n) {
        CAPTURE(f.name);
        CAPTURE(k);
        CAPTURE(n);
        const auto rows = test::random_weights(f.type, n, k, k * 64 + n);
        const auto panels = pack(f.type, rows, n, k);
        const size_t bytes = row_bytes(f, k);
        std::vector<uint8_t> row(bytes);
        bool same = true;
        for (uint32_t r = 0; r < n; ++r) {
          unpack_row(f.type, &panels[r / 16 * panel_bytes(f.type, k)], r % 16, k, row.data());
          same = same && std::equal(row.begin(), row.end(), &rows[r * bytes]);
        }
        REQUIRE(same);
      }
    }
  }
}

TEST_CASE("a packed matrix has the file's size when its rows fill the panels") {
  for (const QuantFormat& f : all_formats()) {
    CHECK(panel_bytes(f.type, 512) == 16 * row_bytes(f, 512));
    CHECK(superblock_bytes(f.type) == 16 * row_bytes(f, 256));
  }
}

// Files of packed panels outlive the build that wrote them: whoever changes these bytes raises kPanelLayout, and then these numbers.
TEST_CASE("panels have the bytes of layout 1") {
  static_assert(kPanelLayout == 1);
  const std::map<DType, uint64_t> known = {
      {DType::f32, 0x74bbbf278f16d581},  {DType::f16, 0x3819e66668bd526c},
      {DType::bf16, 0x3819e66668bd526c}, {DType::q4_0, 0x9720a15a45b27ec1},
      {DType::q4_1, 0xd9106f19162d1644}, {DType::q5_0, 0x2c73bdec018562fe},
      {DType::q5_1, 0x6def36dd05b05e5e}, {DType::q8_0, 0xd5c5d549fa98497e},
      {DType::q4_k, 0x2c1e05545ef10132}, {DType::q5_k, 0x2adde14802cdcd30},
      {DType::q6_k, 0xdb412ef59335816f}};
  for (const QuantFormat& f : all_formats()) {
    CAPTURE(f.name);
    std::vector<uint8_t> panels, in_file_order;
    for (const uint32_t k : {512u, 288u}) {
      if (k % f.block) continue;
      const size_t row = row_bytes(f, k);
      std::vector<uint8_t> rows(row * 16);
      uint64_t state = 1;
      for (uint8_t& byte : rows) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        byte = static_cast<uint8_t>(state >> 56);
      }
      const auto panel = pack(f.type, rows, 16, k);
      panels.insert(panels.end(), panel.begin(), panel.end());
      for (uint32_t begin = 0; begin < k; begin += 256)  // types without a packed form of their own
        for (uint32_t r = 0; r < 16; ++r) {
          const uint8_t* block = &rows[r * row + row_bytes(f, begin)];
          in_file_order.insert(in_file_order.end(), block,
                               block + row_bytes(f, std::min(256u, k - begin)));
        }
    }
    const auto at = known.find(f.type);
    if (at != known.end())
      CHECK(XXH3_64bits(panels.data(), panels.size()) == at->second);
    else
      CHECK(panels == in_file_order);
  }
}

TEST_CASE("rows beyond the matrix are zero codes and scales") {
  for (DType type : {DType::q4_k, DType::q8_0, DType::q5_0, DType::f16}) {
    const auto rows = test::random_weights(type, 3, 256, 5);
    const auto panel = pack(type, rows, 3, 256);
    std::vector<uint8_t> row(row_bytes(format_of(type), 256), 1);
    unpack_row(type, panel.data(), 7, 256, row.data());
    CHECK(std::all_of(row.begin(), row.end(), [](uint8_t b) { return b == 0; }));
  }
}

TEST_CASE("integer codes and scales of a panel give the values of the scalar codec") {
  for (DType type : test::a8_types()) {
    const QuantFormat& f = format_of(type);
    for (uint32_t k : kRowLengths) {
      if (k % f.block) continue;
      CAPTURE(f.name);
      CAPTURE(k);
      const auto rows = test::random_weights(type, 16, k, k);
      const auto panel = pack(type, rows, 16, k);
      std::vector<float> want(k);
      auto codes = std::make_unique<PanelCodes>();
      bool same = true;
      for (uint32_t r = 0; r < 16; ++r) {
        f.decode(&rows[r * row_bytes(f, k)], want.data(), k);
        for (uint32_t b = 0; b < n_superblocks(k); ++b) {
          const uint32_t n = std::min(8u, (k - b * 256) / 32);
          test::a8_codes(type, &panel[size_t{b} * superblock_bytes(type)], n, *codes);
          for (uint32_t i = 0; i < n * 32; ++i) {
            const float c = codes->code[i / 4][r][i % 4];
            float value = 0;
            if (f.group == 256) {
              value = codes->d[0][r] * codes->sub_scale[i / 16][r] * c;
              if (codes->has_min) value -= codes->m[0][r] * codes->sub_min[i / 16][r];
            } else {
              value = codes->d[i / 32][r] * c;
              if (codes->has_min) value += codes->m[i / 32][r];
            }
            same = same && value == want[b * 256 + i];
          }
        }
      }
      CHECK(same);
    }
  }
}
