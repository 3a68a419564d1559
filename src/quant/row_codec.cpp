#include "quant/row_codec.h"

#include <cstring>

#include "base/half.h"
#include "base/in_quotes.h"
#include "quant/types/bf16.h"
#include "quant/types/f16.h"

namespace llmrt {
namespace {

struct CodecRow {
  RowCodec codec;
  const char* name;
  uint32_t value_bytes;
};
constexpr CodecRow kCodecs[] = {
    {RowCodec::f32, "f32", 4}, {RowCodec::f16, "f16", 2}, {RowCodec::bf16, "bf16", 2}};

const CodecRow* find_codec(std::string_view word) {
  for (const CodecRow& row : kCodecs) {
    if (word == row.name) return &row;
  }
  return nullptr;
}

Status bad_word(std::string_view text, std::string_view word) {
  return error(Code::invalid_argument,
               "kv_type %s: %s is not one of f32, f16, bf16, or k=X,v=Y of these",
               in_quotes(text, 40).c_str(), in_quotes(word, 40).c_str())
      .at("kv_type");
}

}  // namespace

const char* name_of(RowCodec codec) { return kCodecs[static_cast<size_t>(codec)].name; }

uint32_t codec_row_bytes(RowCodec codec, uint32_t d) {
  return d * kCodecs[static_cast<size_t>(codec)].value_bytes;
}

void encode_row(RowCodec codec, const float* values, uint32_t d, uint8_t* out) {
  switch (codec) {
    case RowCodec::f32:
      std::memcpy(out, values, d * sizeof(float));
      return;
    case RowCodec::f16:
      encode_f16(values, out, d);
      return;
    case RowCodec::bf16:
      encode_bf16(values, out, d);
      return;
  }
}

void decode_row(RowCodec codec, const uint8_t* row, uint32_t d, float* out) {
  switch (codec) {
    case RowCodec::f32:
      std::memcpy(out, row, d * sizeof(float));
      return;
    case RowCodec::f16:
      decode_f16(row, out, d);
      return;
    case RowCodec::bf16:
      decode_bf16(row, out, d);
      return;
  }
}

Result<KvCodec> parse_kv_type(std::string_view text) {
  KvCodec codec;
  const size_t comma = text.find(',');
  if (comma == std::string_view::npos) {
    const CodecRow* row = find_codec(text);
    if (!row) return bad_word(text, text);
    codec.k = codec.v = row->codec;
    return codec;
  }
  const std::string_view parts[2] = {text.substr(0, comma), text.substr(comma + 1)};
  bool seen_k = false;
  bool seen_v = false;
  for (std::string_view part : parts) {
    const bool is_k = part.starts_with("k=");
    bool& seen = is_k ? seen_k : seen_v;
    const CodecRow* row = is_k || part.starts_with("v=") ? find_codec(part.substr(2)) : nullptr;
    if (!row || seen) return bad_word(text, part);
    seen = true;
    (is_k ? codec.k : codec.v) = row->codec;
  }
  return codec;
}

}  // namespace llmrt
