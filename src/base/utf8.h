// Bytes of UTF-8 (RFC 3629).
#pragma once

namespace llmrt {

// Second and later byte of a code point.
constexpr bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

}  // namespace llmrt
