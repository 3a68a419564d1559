// KV row codecs: how one row (one token, one KV head, d values) of K or V is stored. Row-local: append, truncate, fork, copy
// never look at a neighbour.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace llmrt {

enum class RowCodec : uint8_t { f32, f16, bf16 };

struct KvCodec {
  RowCodec k = RowCodec::bf16;
  RowCodec v = RowCodec::bf16;
  bool operator==(const KvCodec&) const = default;
};

const char* name_of(RowCodec codec);
uint32_t codec_row_bytes(RowCodec codec, uint32_t d);
void encode_row(RowCodec codec, const float* values, uint32_t d, uint8_t* out);
void decode_row(RowCodec codec, const uint8_t* row, uint32_t d, float* out);

// "bf16" or "k=f16,v=bf16". Error lists the good words.
Result<KvCodec> parse_kv_type(std::string_view text);

}  // namespace llmrt
