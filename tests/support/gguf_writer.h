// Bytes of a GGUF v3 file: metadata and tensors as given, aligned data. Nothing is checked beyond what the layout needs, so that
// tests can also write what a loader must refuse.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf.h"

namespace llmrt::test {

class GgufWriter {
 public:
  explicit GgufWriter(uint64_t alignment = kGgufDefaultAlignment) : alignment_(alignment) {}

  GgufWriter& add_u32(std::string_view key, uint32_t value);
  GgufWriter& add_i32(std::string_view key, int32_t value);
  GgufWriter& add_u64(std::string_view key, uint64_t value);
  GgufWriter& add_f32(std::string_view key, float value);
  GgufWriter& add_bool(std::string_view key, bool value);
  GgufWriter& add_string(std::string_view key, std::string_view value);
  GgufWriter& add_strings(std::string_view key, std::span<const std::string> values);
  GgufWriter& add_i32s(std::string_view key, std::span<const int32_t> values);
  GgufWriter& add_f32s(std::string_view key, std::span<const float> values);
  // Any value: `value` holds the bytes as they lie in the file after the type word.
  GgufWriter& add_raw(std::string_view key, uint32_t type, std::span<const uint8_t> value);

  // dims[0] is the row length. `data` is kept as it is; its offset is the next multiple of the alignment.
  GgufWriter& add_tensor(std::string_view name, uint32_t ggml_type, std::span<const uint64_t> dims,
                         std::span<const uint8_t> data);
  GgufWriter& add_tensor_f32(std::string_view name, std::span<const uint64_t> dims,
                             std::span<const float> values);

  std::vector<uint8_t> bytes() const;

 private:
  void begin_entry(std::string_view key, GgufType type);
  template <class T>
  GgufWriter& add_number(std::string_view key, GgufType type, T value);
  template <class T>
  GgufWriter& add_numbers(std::string_view key, GgufType type, std::span<const T> values);

  uint64_t alignment_;
  uint64_t n_keys_ = 0;
  uint64_t n_tensors_ = 0;
  std::vector<uint8_t> keys_;
  std::vector<uint8_t> infos_;
  std::vector<uint8_t> data_;  // size is a multiple of the alignment
};

}  // namespace llmrt::test
