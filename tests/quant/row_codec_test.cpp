#include "quant/row_codec.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace llmrt;

TEST_CASE("row codec: a row takes its bytes and comes back within the rounding of its format") {
  const uint32_t d = 37;
  std::vector<float> values(d);
  for (uint32_t i = 0; i < d; ++i) values[i] = std::cos(static_cast<float>(i)) * 3.0f;
  const struct {
    RowCodec codec;
    uint32_t bytes;
    float relative;  // half a unit in the last place: 2^-(mantissa bits + 1)
  } rows[] = {{RowCodec::f32, 4, 0.0f}, {RowCodec::f16, 2, 0x1p-11f}, {RowCodec::bf16, 2, 0x1p-8f}};
  for (const auto& row : rows) {
    CAPTURE(name_of(row.codec));
    REQUIRE(codec_row_bytes(row.codec, d) == d * row.bytes);
    std::vector<uint8_t> stored(d * row.bytes + 1, 0xee);
    std::vector<float> back(d);
    encode_row(row.codec, values.data(), d, stored.data());
    CHECK(stored.back() == 0xee);
    decode_row(row.codec, stored.data(), d, back.data());
    for (uint32_t i = 0; i < d; ++i)
      CHECK(std::fabs(back[i] - values[i]) <= row.relative * std::fabs(values[i]));
  }
}

TEST_CASE("row codec: kv_type takes one word for both or one for each") {
  CHECK(parse_kv_type("bf16").value() == KvCodec{RowCodec::bf16, RowCodec::bf16});
  CHECK(parse_kv_type("f32").value() == KvCodec{RowCodec::f32, RowCodec::f32});
  CHECK(parse_kv_type("k=f16,v=bf16").value() == KvCodec{RowCodec::f16, RowCodec::bf16});
  CHECK(parse_kv_type("v=f32,k=f16").value() == KvCodec{RowCodec::f16, RowCodec::f32});
}

TEST_CASE("row codec: a wrong kv_type is refused with the good words") {
  for (const char* text : {"", "q8", "F16", "k=f16", "k=f16,k=f16", "k=f16,v=", "k=f16,v=f32,k=f16",
                           "f16,f16", ",", " bf16"}) {
    CAPTURE(text);
    auto result = parse_kv_type(text);
    REQUIRE(!result.ok());
    CHECK(result.status().code() == Code::invalid_argument);
    const std::string message(result.status().message());
    CHECK(message.find("f32, f16, bf16") != std::string::npos);
    CHECK(message.find('"' + std::string(text) + '"') != std::string::npos);
  }
  CHECK(std::string(parse_kv_type(std::string(5000, 'x')).status().message()).size() < 200);
}
