// The integers of row types against the types' own decoders.
#include "quant/row_codes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "tests/support/block_scales.h"

using namespace llmrt;

namespace {

// Rows of n_blocks blocks of 32, one byte off any alignment.
std::vector<uint8_t> random_row(const QuantFormat& f, uint32_t n_blocks, std::mt19937& rng) {
  std::uniform_real_distribution<float> unit(-0.01f, 0.01f);
  std::vector<uint8_t> row(1 + row_bytes(f, uint64_t{n_blocks} * 32));
  for (uint8_t& byte : row) byte = static_cast<uint8_t>(rng());
  for (size_t at = 1; at < row.size(); at += f.block_bytes) {
    if (f.type == DType::mxfp4) row[at] = static_cast<uint8_t>(1 + rng() % 254);
    test::set_block_scales(f.type, &row[at], [&] { return unit(rng); });
  }
  return row;
}

bool is_row_type(const QuantFormat& f) { return llmrt::is_row_type(f.type); }
bool has_min(const QuantFormat& f) { return row_type_of(f.type).has_min; }

// As row_codes.h writes it down. Of float32 products all but the last are exact.
float value(const QuantFormat& f, const RowCodes& codes, uint32_t k) {
  if (f.group == 32) return codes.d[k / 32] * codes.code[k];
  const float product = codes.d[0] * codes.sub_scale[k / 16] * codes.code[k];
  return has_min(f) ? product - codes.m[0] * codes.sub_min[k / 16] : product;
}

}  // namespace

TEST_CASE("row codes: their products are the floats that each type's decoder gives") {
  std::mt19937 rng(1);
  uint32_t n_types = 0;
  for (const QuantFormat& f : all_formats()) {
    if (!is_row_type(f)) continue;
    CAPTURE(f.name);
    ++n_types;
    CHECK(f.numerics == NumericsClass::a8);
    uint32_t n_wrong = 0, n_out_of_range = 0;
    int largest = 0;
    for (uint32_t i = 0; i < 400; ++i) {
      const uint32_t per_block = f.block / 32, n_blocks = per_block * (1 + i % (8 / per_block));
      const auto row = random_row(f, n_blocks, rng);
      std::vector<float> want(n_blocks * 32);
      f.decode(&row[1], want.data(), want.size());
      RowCodes codes;
      decode_row_codes(f.type, &row[1], n_blocks, codes);
      for (uint32_t k = 0; k < n_blocks * 32; ++k) {
        n_wrong += value(f, codes, k) != want[k];
        largest = std::max(largest, std::abs(int{codes.code[k]}));
        if (f.group == 256)
          n_out_of_range += codes.sub_scale[k / 16] < -32 || codes.sub_scale[k / 16] > 32;
        if (has_min(f)) n_out_of_range += codes.sub_min[k / 16] < 0 || codes.sub_min[k / 16] > 15;
      }
    }
    CHECK(largest == row_type_of(f.type).largest_code);
    CHECK(n_wrong == 0);
    CHECK(n_out_of_range == 0);
  }
  CHECK(n_types == 16);
}

TEST_CASE("row codes: a tail and what a type lacks are not written") {
  std::mt19937 rng(2);
  for (const QuantFormat& f : all_formats()) {
    if (!is_row_type(f)) continue;
    CAPTURE(f.name);
    const uint32_t n_blocks = f.block / 32, n = f.block;
    const auto row = random_row(f, n_blocks, rng);
    RowCodes codes, clean;
    std::memset(&clean, 0x5a, sizeof clean);
    std::memset(&codes, 0x5a, sizeof codes);
    decode_row_codes(f.type, &row[1], n_blocks, codes);
    const bool super = f.group == 256, min = has_min(f);
    const uint32_t n_d = super ? 1 : n_blocks;
    const auto kept = [](const auto& a, const auto& b, size_t first) {
      return std::memcmp(&a[first], &b[first], sizeof a - first * sizeof a[0]) == 0;
    };
    if (n < 256) CHECK(kept(codes.code, clean.code, n));
    CHECK(kept(codes.d, clean.d, n_d));
    CHECK(kept(codes.m, clean.m, min ? 1 : 0));
    CHECK(kept(codes.sub_scale, clean.sub_scale, 0) != super);
    CHECK(kept(codes.sub_min, clean.sub_min, 0) != min);
  }
}

TEST_CASE("row codes: other types write nothing") {
  const uint8_t blocks[1024] = {};
  for (const QuantFormat& f : all_formats()) {
    if (is_row_type(f)) continue;
    CAPTURE(f.name);
    RowCodes codes, clean;
    std::memset(&clean, 0x5a, sizeof clean);
    std::memset(&codes, 0x5a, sizeof codes);
    decode_row_codes(f.type, blocks, 8, codes);
    CHECK(std::memcmp(&codes, &clean, sizeof codes) == 0);
  }
}
