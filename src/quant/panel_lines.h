// Words of a P16 line: 4 codes of one row in 4 bytes (panel.h).
#pragma once

#include <cstdint>
#include <cstring>

namespace llmrt::panel_lines {

inline uint32_t get32(const uint8_t* p) {
  uint32_t v;
  std::memcpy(&v, p, 4);
  return v;
}
inline uint16_t get16(const uint8_t* p) {
  uint16_t v;
  std::memcpy(&v, p, 2);
  return v;
}
inline void put32(uint8_t* p, uint32_t v) { std::memcpy(p, &v, 4); }
inline void put16(uint8_t* p, uint16_t v) { std::memcpy(p, &v, 2); }

inline uint32_t low_nibbles(uint32_t w) { return w & 0x0f0f0f0fu; }
inline uint32_t high_nibbles(uint32_t w) { return (w >> 4) & 0x0f0f0f0fu; }

// A file's mask (bit k = bit of code k, k < 32) to the 1-bit part's word (byte i, bit b = code 4b + i), and back.
inline uint32_t spread_bits(uint32_t mask) {
  uint32_t out = 0;
  for (uint32_t b = 0; b < 8; ++b)
    for (uint32_t i = 0; i < 4; ++i) out |= ((mask >> (4 * b + i)) & 1u) << (8 * i + b);
  return out;
}
inline uint32_t gather_bits(uint32_t word) {
  uint32_t out = 0;
  for (uint32_t b = 0; b < 8; ++b)
    for (uint32_t i = 0; i < 4; ++i) out |= ((word >> (8 * i + b)) & 1u) << (4 * b + i);
  return out;
}

}  // namespace llmrt::panel_lines
