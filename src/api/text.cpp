#include "api/text.h"

#include <algorithm>
#include <cstring>

#include "base/memory.h"

namespace llmrt::api {
namespace {

constexpr size_t kHeader = 16;  // holds the block's size, because llmrt_free is not told it

template <class T>
Status copy_array(const char* name, std::span<const T> values, T* out, int32_t cap, int32_t* n) {
  LLMRT_TRY(need("n", n));
  if (values.size() > INT32_MAX)
    return error(Code::unsupported, "%s: more than 2147483647 entries", name);
  *n = static_cast<int32_t>(values.size());
  if (cap < 0 || (cap > 0 && !out))
    return error(Code::invalid_argument, "%s: cap is %d, out is %s", name, cap,
                 out ? "set" : "NULL")
        .at("cap");
  if (*n > cap)
    return error(Code::buffer_too_small, "%s: %d entries, the buffer holds %d", name, *n, cap)
        .at("cap");
  std::copy(values.begin(), values.end(), out);
  return Status();
}

}  // namespace

size_t first_invalid_utf8(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto tail = [&](size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  for (size_t i = 0; i < text.size();) {
    const unsigned b = byte(i);
    if (b < 0x80) {
      ++i;
    } else if (b >= 0xc2 && b <= 0xdf && tail(i + 1)) {
      i += 2;
    } else if (b >= 0xe0 && b <= 0xef && tail(i + 1) && tail(i + 2) &&
               !(b == 0xe0 && byte(i + 1) < 0xa0) && !(b == 0xed && byte(i + 1) >= 0xa0)) {
      i += 3;
    } else if (b >= 0xf0 && b <= 0xf4 && tail(i + 1) && tail(i + 2) && tail(i + 3) &&
               !(b == 0xf0 && byte(i + 1) < 0x90) && !(b == 0xf4 && byte(i + 1) >= 0x90)) {
      i += 4;
    } else {
      return i;
    }
  }
  return std::string_view::npos;
}

Result<std::string_view> text_argument(const char* name, const char* text, size_t length) {
  if (length > 0) LLMRT_TRY(need(name, text));
  const std::string_view view(text ? text : "", length);
  if (const size_t bad = first_invalid_utf8(view); bad != std::string_view::npos)
    return error(Code::invalid_argument, "%s is not UTF-8: byte 0x%02x at offset %zu", name,
                 static_cast<unsigned>(static_cast<unsigned char>(view[bad])), bad)
        .at(name);
  return view;
}

Result<std::string_view> text_argument(const char* name, const char* text) {
  LLMRT_TRY(need(name, text));
  return text_argument(name, text, std::strlen(text));
}

Result<std::string_view> optional_text(const char* name, const char* text) {
  if (!text) return std::string_view();
  return text_argument(name, text);
}

Status give_text(std::string_view text, char** out) {
  const size_t size = kHeader + text.size() + 1;
  auto* block = static_cast<char*>(allocate(size, kHeader));
  if (!block) return error(Code::out_of_memory, "out of memory: %zu bytes of text", text.size());
  std::memcpy(block, &size, sizeof size);
  char* body = block + kHeader;
  std::memcpy(body, text.data(), text.size());
  body[text.size()] = '\0';
  *out = body;
  return Status();
}

void free_text(void* p) noexcept {
  if (!p) return;
  char* block = static_cast<char*>(p) - kHeader;
  size_t size = 0;
  std::memcpy(&size, block, sizeof size);
  deallocate(block, size, kHeader);
}

Status give_array(const char* name, std::span<const int32_t> values, int32_t* out, int32_t cap,
                  int32_t* n) {
  return copy_array(name, values, out, cap, n);
}
Status give_array(const char* name, std::span<const uint8_t> values, uint8_t* out, int32_t cap,
                  int32_t* n) {
  return copy_array(name, values, out, cap, n);
}

}  // namespace llmrt::api
