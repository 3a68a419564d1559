#include "api/text.h"

#include <algorithm>
#include <cstring>

#include "base/memory.h"
#include "tokenizer/unicode.h"

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

Result<std::string_view> bytes_argument(const char* name, const char* bytes, size_t length) {
  if (length > 0) LLMRT_TRY(need(name, bytes));
  return std::string_view(bytes ? bytes : "", length);
}

Result<std::string_view> text_argument(const char* name, const char* text) {
  LLMRT_TRY(need(name, text));
  LLMRT_TRY(check_utf8(name, text));
  return std::string_view(text);
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
