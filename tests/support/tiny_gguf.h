// GGUF bytes for tests: sound little files, and places to break them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "formats/byte_source.h"
#include "tests/support/gguf_writer.h"

namespace llmrt::test {

using Bytes = std::vector<uint8_t>;

// A source over a copy of the bytes.
inline ByteSourcePtr source_of(const Bytes& bytes) {
  return source_from_memory(bytes.data(), bytes.size(), nullptr, nullptr).value();
}

inline std::vector<float> ramp(size_t n) {
  std::vector<float> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<float>(i) * 0.25f - 3.0f;
  return out;
}

// Keys of every kind and three F32 tensors: a [4, 3], b [8], c [2, 2, 2, 2].
inline GgufWriter tiny_writer() {
  GgufWriter w;
  const std::vector<std::string> tokens = {"a", "", "h\xc3\xa9", "d"};
  const std::vector<int32_t> types = {1, -2, 3, 4};
  const std::vector<float> scores = {0.5f, -1.0f, 0.1f, 0.0f};
  w.add_string("general.architecture", "llama")
      .add_u32("llama.block_count", 2)
      .add_f32("llama.rope.freq_base", 10000.0f);
  w.add_bool("tokenizer.ggml.add_bos_token", true)
      .add_i32("x.i32", -7)
      .add_u64("x.u64", uint64_t{1} << 40);
  w.add_strings("tokenizer.ggml.tokens", tokens)
      .add_i32s("tokenizer.ggml.token_type", types)
      .add_f32s("tokenizer.ggml.scores", scores);
  const uint64_t a[] = {4, 3}, b[] = {8}, c[] = {2, 2, 2, 2};
  w.add_tensor_f32("a.weight", a, ramp(12))
      .add_tensor_f32("b.weight", b, ramp(8))
      .add_tensor_f32("c.weight", c, ramp(16));
  return w;
}

template <class T>
void put_at(Bytes& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// Offset of the first occurrence of text; 0 (the magic, so that a check fails) if it is not there.
inline size_t offset_of(const Bytes& bytes, std::string_view text) {
  const size_t at =
      std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).find(text);
  return at == std::string_view::npos ? 0 : at;
}

}  // namespace llmrt::test
