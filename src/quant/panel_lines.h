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
inline uint64_t get64(const uint8_t* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}
inline void put32(uint8_t* p, uint32_t v) { std::memcpy(p, &v, 4); }
inline void put16(uint8_t* p, uint16_t v) { std::memcpy(p, &v, 2); }

inline uint32_t low_nibbles(uint32_t w) { return w & 0x0f0f0f0fu; }
inline uint32_t high_nibbles(uint32_t w) { return (w >> 4) & 0x0f0f0f0fu; }

// The low, or high, nibbles of 8 bytes as a word of a 4-bit line: byte i is that of byte i | that of byte i + 4 << 4.
inline uint32_t low_line(uint64_t bytes) {
  bytes &= 0x0f0f0f0f0f0f0f0fu;
  return static_cast<uint32_t>(bytes | bytes >> 28);
}
inline uint32_t high_line(uint64_t bytes) { return low_line(bytes >> 4); }

// Exchanges, for all bits at places whose numbers differ in binary digits high and low only (high > low), the one with high = 0, low = 1 and
// the one with high = 1, low = 0: a transposition in the digits of a bit's place.
template <uint32_t high, uint32_t low>
constexpr uint32_t swap_digits(uint32_t x) {
  constexpr uint32_t kShift = (1u << high) - (1u << low);
  constexpr uint32_t kMoved = [] {
    uint32_t mask = 0;
    for (uint32_t place = 0; place < 32; ++place)
      if (((place >> high) & 1u) == 0 && ((place >> low) & 1u) == 1) mask |= 1u << place;
    return mask;
  }();
  const uint32_t t = (x ^ (x >> kShift)) & kMoved;
  return x ^ t ^ (t << kShift);
}

// A file's mask (bit k = bit of code k, k < 32) to the 1-bit part's word (byte i, bit b = code 4b + i), and back: place bbbii becomes iibbb.
constexpr uint32_t spread_bits(uint32_t mask) {
  return swap_digits<1, 0>(swap_digits<2, 1>(swap_digits<3, 0>(swap_digits<4, 1>(mask))));
}
constexpr uint32_t gather_bits(uint32_t word) {
  return swap_digits<4, 1>(swap_digits<3, 0>(swap_digits<2, 1>(swap_digits<1, 0>(word))));
}

// The upper of two fields of every group in a, which mask and shift tell, for the lower one in b.
inline void swap_fields(uint32_t& a, uint32_t& b, uint32_t shift, uint32_t mask) {
  const uint32_t t = ((a >> shift) ^ b) & mask;
  b ^= t;
  a ^= t << shift;
}
// In each byte, bit j of word i becomes bit i of word j. Its own inverse.
inline void transpose_bits(uint32_t w[8]) {
  for (uint32_t i = 0; i < 4; ++i) swap_fields(w[i], w[i + 4], 4, 0x0f0f0f0fu);
  for (uint32_t i : {0u, 1u, 4u, 5u}) swap_fields(w[i], w[i + 2], 2, 0x33333333u);
  for (uint32_t i = 0; i < 8; i += 2) swap_fields(w[i], w[i + 1], 1, 0x55555555u);
}
// In each byte, the pair of bits j of word i becomes pair i of word j. Its own inverse.
inline void transpose_pairs(uint32_t w[4]) {
  for (uint32_t i = 0; i < 2; ++i) swap_fields(w[i], w[i + 2], 4, 0x0f0f0f0fu);
  for (uint32_t i = 0; i < 4; i += 2) swap_fields(w[i], w[i + 1], 2, 0x33333333u);
}

}  // namespace llmrt::panel_lines
