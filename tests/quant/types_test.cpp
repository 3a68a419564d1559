// Decoders against tables made by ggml and gguf-py (tests/data/dequant), encoders against ggml's bytes of the same source.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/half.h"
#include "quant/dtype.h"
#include "quant/types/iq_grids.h"
#include "quant/types/mxfp4.h"
#include "quant/types/nvfp4.h"
#include "tests/support/test_data.h"

using namespace llmrt;

namespace {

// Bit equality, except that -0.0 == 0.0.
bool same_value(float a, float b) {
  return a == b || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

std::string table(const QuantFormat& f, const char* ending) {
  return test::repo_data("dequant/" + std::string(f.name) + ending);
}

}  // namespace

TEST_CASE("types: every decoder reproduces its golden table bit for bit") {
  size_t n_tables = 0;
  for (const QuantFormat& f : all_formats()) {
    if (f.type == DType::f32) continue;
    CAPTURE(f.name);
    const auto blocks = test::read_file(table(f, ".q.bin"));
    const auto want = test::read_array<float>(table(f, ".f32.bin"));
    REQUIRE(want.size() >= 4096);
    REQUIRE(blocks.size() == row_bytes(f, want.size()));
    std::vector<float> got(want.size(), 123.0f);
    f.decode(blocks.data(), got.data(), got.size());
    size_t n_wrong = 0;
    for (size_t i = 0; i < want.size(); ++i) n_wrong += !same_value(got[i], want[i]);
    CHECK(n_wrong == 0);
    ++n_tables;
  }
  CHECK(n_tables == 27);
}

TEST_CASE("types: decoders read blocks at any byte alignment and write exactly n values") {
  for (const QuantFormat& f : all_formats()) {
    if (f.type == DType::f32) continue;
    CAPTURE(f.name);
    const auto blocks = test::read_file(table(f, ".q.bin"));
    const auto want = test::read_array<float>(table(f, ".f32.bin"));
    std::vector<uint8_t> shifted(f.block_bytes + 1);
    std::copy_n(blocks.begin(), f.block_bytes, shifted.begin() + 1);
    std::vector<float> got(f.block + 1, 123.0f);
    f.decode(shifted.data() + 1, got.data(), f.block);
    for (uint32_t i = 0; i < f.block; ++i) REQUIRE(same_value(got[i], want[i]));
    CHECK(got[f.block] == 123.0f);
  }
}

TEST_CASE("types: encoders give the bytes of the reference quantizer") {
  const auto source = test::read_array<float>(test::repo_data("dequant/source.f32.bin"));
  size_t n_encoders = 0;
  for (const QuantFormat& f : all_formats()) {
    if (!f.encode || f.type == DType::f32) continue;
    CAPTURE(f.name);
    const auto want = test::read_file(table(f, ".q.bin"));
    std::vector<uint8_t> got(row_bytes(f, source.size()), 0xee);
    f.encode(source.data(), got.data(), source.size());
    REQUIRE(got.size() <= want.size());
    CHECK(std::equal(got.begin(), got.end(), want.begin()));
    ++n_encoders;
  }
  CHECK(n_encoders == 4);
}

TEST_CASE("types: f32 is stored as it is") {
  const float values[3] = {1.5f, -0.0f, std::numeric_limits<float>::infinity()};
  const QuantFormat& f = format_of(DType::f32);
  uint8_t bytes[12];
  float back[3];
  f.encode(values, bytes, 3);
  f.decode(bytes, back, 3);
  for (int i = 0; i < 3; ++i)
    CHECK(std::bit_cast<uint32_t>(back[i]) == std::bit_cast<uint32_t>(values[i]));
}

TEST_CASE("types: encoders take NaN, infinity and subnormal scales without undefined conversions") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float special[] = {nan, inf, -inf, 1e-44f, -1e-44f, 3e38f, -3e38f, 0.0f};
  for (DType type : {DType::q8_0, DType::q4_0, DType::f16, DType::bf16}) {
    const QuantFormat& f = format_of(type);
    for (float value : special) {
      std::vector<float> values(32, value);
      values[7] = 1e-44f;
      std::vector<uint8_t> blocks(row_bytes(f, 32));
      f.encode(values.data(), blocks.data(), 32);
      f.decode(blocks.data(), values.data(), 32);
    }
  }
}

TEST_CASE("types: the error of Q8_0 and Q4_0 is at most half a step") {
  // Q8_0: |x - w| <= d/2 of its grid plus the f16 rounding of d (2^-11 relative, over at most 127 steps).
  // Q4_0: same with 8 steps, but +extreme lies one step outside the grid (codes reach +7 only): at most one step there.
  std::vector<float> values(32);
  for (size_t i = 0; i < 32; ++i) values[i] = std::sin(static_cast<float>(i) * 1.7f);
  float amax = 0;
  for (float v : values) amax = std::max(amax, std::fabs(v));
  const struct {
    DType type;
    float steps, worst;
  } rows[] = {{DType::q8_0, 127.0f, 0.5f + 127.0f / 2048.0f},
              {DType::q4_0, 8.0f, 1.0f + 8.0f / 2048.0f}};
  for (const auto& row : rows) {
    const QuantFormat& f = format_of(row.type);
    std::vector<uint8_t> block(f.block_bytes);
    std::vector<float> back(32);
    f.encode(values.data(), block.data(), 32);
    f.decode(block.data(), back.data(), 32);
    for (size_t i = 0; i < 32; ++i)
      CHECK(std::fabs(back[i] - values[i]) <= row.worst * amax / row.steps);
  }
}

TEST_CASE("types: mxfp4 scales are powers of two down to the subnormals") {
  CHECK(mxfp4_scale(0) == 0x1p-128f);
  CHECK(mxfp4_scale(1) == 0x1p-127f);
  CHECK(mxfp4_scale(2) == 0x1p-126f);
  CHECK(mxfp4_scale(128) == 1.0f);
  CHECK(mxfp4_scale(255) == 0x1p127f);
}

TEST_CASE("types: nvfp4 scales are half of an e4m3 number without sign") {
  CHECK(nvfp4_scale(0) == 0.0f);
  CHECK(nvfp4_scale(1) == 0x1p-10f);
  CHECK(nvfp4_scale(7) == 7 * 0x1p-10f);
  CHECK(nvfp4_scale(8) == 0x1p-7f);
  CHECK(nvfp4_scale(0x38) == 0.5f);
  CHECK(nvfp4_scale(0x7e) == 224.0f);
  CHECK(nvfp4_scale(0x7f) == 0.0f);
  CHECK(nvfp4_scale(0xff) == 240.0f);
}

TEST_CASE("types: points of the grids ascend, and seven signs tell the eighth") {
  const auto ascends = [](const auto& grid) {
    return std::adjacent_find(grid.begin(), grid.end(), std::greater_equal<>()) == grid.end();
  };
  CHECK(ascends(kIq1Grid));
  CHECK(ascends(kIq2XxsGrid));
  CHECK(ascends(kIq2XsGrid));
  CHECK(ascends(kIq2SGrid));
  CHECK(ascends(kIq3XxsGrid));
  CHECK(ascends(kIq3SGrid));
  for (uint32_t low = 0; low < 128; ++low) {
    CHECK((even_signs(low) & 127) == low);
    CHECK(std::popcount(even_signs(low)) % 2 == 0);
  }
}

TEST_CASE("half: f16 and bf16 round trip all 65536 bit patterns") {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto h = static_cast<uint16_t>(bits);
    const bool f16_nan = (bits & 0x7fffu) > 0x7c00u;
    const bool bf16_nan = (bits & 0x7fffu) > 0x7f80u;
    if (!f16_nan) REQUIRE(f32_to_f16(f16_to_f32(h)) == h);
    if (f16_nan) REQUIRE(std::isnan(f16_to_f32(f32_to_f16(f16_to_f32(h)))));
    if (!bf16_nan) REQUIRE(f32_to_bf16(bf16_to_f32(h)) == h);
    if (bf16_nan) REQUIRE(std::isnan(bf16_to_f32(f32_to_bf16(bf16_to_f32(h)))));
  }
}
