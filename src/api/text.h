// Text across the border: UTF-8 in, owned NUL-terminated buffers out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace llmrt::api {

// A string argument. NULL and ill-formed UTF-8 are invalid_argument naming it.
Result<std::string_view> text_argument(const char* name, const char* text);
// The same where NULL means "none".
Result<std::string_view> optional_text(const char* name, const char* text);
// Text for the tokenizer, which looks at the UTF-8 itself. NULL is fine if there are no bytes.
Result<std::string_view> bytes_argument(const char* name, const char* bytes, size_t length);

// A copy of the text behind *out, to be given back with llmrt_free; out must not be NULL.
Status give_text(std::string_view text, char** out);
void free_text(void* p) noexcept;

template <class T>
Status need(const char* name, T* pointer) {
  if (pointer) return Status();
  return error(Code::invalid_argument, "%s is NULL", name).at(name);
}

// Copies values if all fit; *n says how many there are in any case. out may be NULL with cap 0.
Status give_array(const char* name, std::span<const int32_t> values, int32_t* out, int32_t cap,
                  int32_t* n);
Status give_array(const char* name, std::span<const uint8_t> values, uint8_t* out, int32_t cap,
                  int32_t* n);

}  // namespace llmrt::api
