#include "tests/support/gguf_writer.h"

#include <cstring>
#include <type_traits>

namespace llmrt::test {
namespace {

void put_bytes(std::vector<uint8_t>& out, const void* data, size_t n) {
  if (n == 0) return;
  const size_t begin = out.size();
  out.resize(begin + n);
  std::memcpy(out.data() + begin, data, n);
}

template <class T>
void put(std::vector<uint8_t>& out, T value) {
  static_assert(std::is_arithmetic_v<T>);
  put_bytes(out, &value, sizeof value);
}

void put_string(std::vector<uint8_t>& out, std::string_view text) {
  put(out, uint64_t{text.size()});
  put_bytes(out, text.data(), text.size());
}

void put_array_header(std::vector<uint8_t>& out, GgufType element, size_t n) {
  put(out, static_cast<uint32_t>(element));
  put(out, uint64_t{n});
}

void pad(std::vector<uint8_t>& out, uint64_t alignment) {
  out.resize((out.size() + alignment - 1) / alignment * alignment);
}

}  // namespace

void GgufWriter::begin_entry(std::string_view key, GgufType type) {
  put_string(keys_, key);
  put(keys_, static_cast<uint32_t>(type));
  ++n_keys_;
}

template <class T>
GgufWriter& GgufWriter::add_number(std::string_view key, GgufType type, T value) {
  begin_entry(key, type);
  put(keys_, value);
  return *this;
}

template <class T>
GgufWriter& GgufWriter::add_numbers(std::string_view key, GgufType type,
                                    std::span<const T> values) {
  begin_entry(key, GgufType::array);
  put_array_header(keys_, type, values.size());
  put_bytes(keys_, values.data(), values.size_bytes());
  return *this;
}

GgufWriter& GgufWriter::add_u32(std::string_view key, uint32_t value) {
  return add_number(key, GgufType::u32, value);
}

GgufWriter& GgufWriter::add_i32(std::string_view key, int32_t value) {
  return add_number(key, GgufType::i32, value);
}

GgufWriter& GgufWriter::add_u64(std::string_view key, uint64_t value) {
  return add_number(key, GgufType::u64, value);
}

GgufWriter& GgufWriter::add_f32(std::string_view key, float value) {
  return add_number(key, GgufType::f32, value);
}

GgufWriter& GgufWriter::add_bool(std::string_view key, bool value) {
  return add_number(key, GgufType::boolean, static_cast<uint8_t>(value));
}

GgufWriter& GgufWriter::add_string(std::string_view key, std::string_view value) {
  begin_entry(key, GgufType::string);
  put_string(keys_, value);
  return *this;
}

GgufWriter& GgufWriter::add_strings(std::string_view key, std::span<const std::string> values) {
  begin_entry(key, GgufType::array);
  put_array_header(keys_, GgufType::string, values.size());
  for (const std::string& value : values) put_string(keys_, value);
  return *this;
}

GgufWriter& GgufWriter::add_i32s(std::string_view key, std::span<const int32_t> values) {
  return add_numbers(key, GgufType::i32, values);
}

GgufWriter& GgufWriter::add_f32s(std::string_view key, std::span<const float> values) {
  return add_numbers(key, GgufType::f32, values);
}

GgufWriter& GgufWriter::add_raw(std::string_view key, uint32_t type,
                                std::span<const uint8_t> value) {
  begin_entry(key, static_cast<GgufType>(type));
  put_bytes(keys_, value.data(), value.size());
  return *this;
}

GgufWriter& GgufWriter::add_tensor(std::string_view name, uint32_t ggml_type,
                                   std::span<const uint64_t> dims, std::span<const uint8_t> data) {
  put_string(infos_, name);
  put(infos_, static_cast<uint32_t>(dims.size()));
  for (uint64_t dim : dims) put(infos_, dim);
  put(infos_, ggml_type);
  put(infos_, uint64_t{data_.size()});
  put_bytes(data_, data.data(), data.size());
  pad(data_, alignment_);
  ++n_tensors_;
  return *this;
}

GgufWriter& GgufWriter::add_tensor_f32(std::string_view name, std::span<const uint64_t> dims,
                                       std::span<const float> values) {
  return add_tensor(name, static_cast<uint32_t>(DType::f32), dims,
                    {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()});
}

std::vector<uint8_t> GgufWriter::bytes() const {
  std::vector<uint8_t> out;
  put(out, kGgufMagic);
  put(out, uint32_t{3});
  put(out, n_tensors_);
  const bool says_alignment = alignment_ != kGgufDefaultAlignment;
  put(out, n_keys_ + (says_alignment ? 1 : 0));
  if (says_alignment) {
    put_string(out, "general.alignment");
    put(out, static_cast<uint32_t>(GgufType::u32));
    put(out, static_cast<uint32_t>(alignment_));
  }
  put_bytes(out, keys_.data(), keys_.size());
  put_bytes(out, infos_.data(), infos_.size());
  if (n_tensors_ > 0) pad(out, alignment_);
  put_bytes(out, data_.data(), data_.size());
  return out;
}

}  // namespace llmrt::test
