#include "quant/panel.h"

#include <cstring>

#include "quant/panel_lines.h"
#include "quant/types/q4_0.h"
#include "quant/types/q4_1.h"
#include "quant/types/q4_k.h"
#include "quant/types/q5_0.h"
#include "quant/types/q5_1.h"
#include "quant/types/q5_k.h"
#include "quant/types/q6_k.h"
#include "quant/types/q8_0.h"

namespace llmrt {
namespace {

using namespace panel_lines;

// Each packer moves the blocks of one row between the file's form and row r of a superblock; `n` counts blocks of 32.
// Pack and unpack are written side by side, line for line. Pack reads fields where they lie: a copy of a block would have to be stored
// before its parts could be loaded, which takes longer than all the rest.

template <class Block, bool kHigh, bool kMin>
struct Block32 {
  using At = Panel32<kHigh ? 5 : 4, kMin>;
  static_assert(At::kBytes == kPanelRows * sizeof(Block));
  // Parts of a superblock of n blocks.
  static uint8_t* high(uint8_t* sb, uint32_t n) { return sb + size_t{n} * At::kHighAt; }
  static uint8_t* d(uint8_t* sb, uint32_t n) { return sb + size_t{n} * At::kDAt; }
  static uint8_t* m(uint8_t* sb, uint32_t n) { return sb + size_t{n} * At::kMAt; }

  static void pack(const uint8_t* row, uint8_t* sb, uint32_t r, uint32_t n) {
    for (uint32_t j = 0; j < n; ++j) {
      const uint8_t* b = row + j * sizeof(Block);
      const uint64_t first = get64(b + offsetof(Block, qs)),
                     last = get64(b + offsetof(Block, qs) + 8);
      uint8_t* line = sb + j * 256 + r * 4;
      put32(line, low_line(first));
      put32(line + 64, low_line(last));
      put32(line + 128, high_line(first));
      put32(line + 192, high_line(last));
      if constexpr (kHigh)
        put32(high(sb, n) + j * 64 + r * 4, spread_bits(get32(b + offsetof(Block, qh))));
      put16(d(sb, n) + j * 32 + r * 2, get16(b + offsetof(Block, d)));
      if constexpr (kMin) put16(m(sb, n) + j * 32 + r * 2, get16(b + offsetof(Block, m)));
    }
  }
  static void unpack(uint8_t* sb, uint32_t r, uint32_t n, uint8_t* row) {
    for (uint32_t j = 0; j < n; ++j) {
      Block b{};
      const uint8_t* line = sb + j * 256 + r * 4;
      const uint32_t l0 = get32(line), l1 = get32(line + 64), l2 = get32(line + 128),
                     l3 = get32(line + 192);
      const uint32_t w[4] = {
          low_nibbles(l0) | low_nibbles(l2) << 4, high_nibbles(l0) | high_nibbles(l2) << 4,
          low_nibbles(l1) | low_nibbles(l3) << 4, high_nibbles(l1) | high_nibbles(l3) << 4};
      std::memcpy(b.qs, w, 16);
      if constexpr (kHigh) put32(b.qh, gather_bits(get32(high(sb, n) + j * 64 + r * 4)));
      b.d = get16(d(sb, n) + j * 32 + r * 2);
      if constexpr (kMin) b.m = get16(m(sb, n) + j * 32 + r * 2);
      std::memcpy(row + j * sizeof(Block), &b, sizeof b);
    }
  }
};

struct PackQ8_0 {
  using At = Panel32<8, false>;
  static_assert(At::kBytes == kPanelRows * sizeof(BlockQ8_0));

  static void pack(const uint8_t* row, uint8_t* sb, uint32_t r, uint32_t n) {
    uint8_t* d = sb + size_t{n} * At::kDAt;
    for (uint32_t j = 0; j < n; ++j) {
      const uint8_t* b = row + j * sizeof(BlockQ8_0);
      for (uint32_t w = 0; w < 8; ++w) put32(sb + (j * 8 + w) * 64 + r * 4, get32(b + 2 + w * 4));
      put16(d + j * 32 + r * 2, get16(b));
    }
  }
  static void unpack(uint8_t* sb, uint32_t r, uint32_t n, uint8_t* row) {
    const uint8_t* d = sb + size_t{n} * At::kDAt;
    for (uint32_t j = 0; j < n; ++j) {
      uint8_t* b = row + j * sizeof(BlockQ8_0);
      put16(b, get16(d + j * 32 + r * 2));
      for (uint32_t w = 0; w < 8; ++w) put32(b + 2 + w * 4, get32(sb + (j * 8 + w) * 64 + r * 4));
    }
  }
};

template <class Block, bool kHigh>
struct BlockK4 {
  using At = PanelK<kHigh ? 5 : 4>;
  static_assert(At::kBytes == kPanelRows * sizeof(Block));

  static void pack(const uint8_t* row, uint8_t* sb, uint32_t r, uint32_t) {
    for (uint32_t p = 0; p < 4; ++p) {  // a pair of sub-blocks shares 32 bytes
      uint8_t* even = sb + (2 * p) * 256 + r * 4;
      uint8_t* odd = even + 256;
      for (uint32_t z = 0; z < 4; ++z) {
        const uint64_t pair = get64(row + offsetof(Block, qs) + p * 32 + z * 8);
        put32(even + z * 64, low_line(pair));
        put32(odd + z * 64, high_line(pair));
      }
    }
    if constexpr (kHigh) {  // bit g of the word at 4q: bit q of the word of sub-block g
      uint32_t words[8];
      for (uint32_t q = 0; q < 8; ++q) words[q] = get32(row + offsetof(Block, qh) + q * 4);
      transpose_bits(words);
      for (uint32_t g = 0; g < 8; ++g) put32(sb + At::kHighAt + g * 64 + r * 4, words[g]);
    }
    for (uint32_t i = 0; i < 12; ++i)
      sb[At::kScalesAt + i * 16 + r] = row[offsetof(Block, scales) + i];
    put16(sb + At::kDAt + r * 2, get16(row + offsetof(Block, d)));
    put16(sb + At::kDminAt + r * 2, get16(row + offsetof(Block, dmin)));
  }
  static void unpack(uint8_t* sb, uint32_t r, uint32_t, uint8_t* row) {
    Block b{};
    for (uint32_t p = 0; p < 4; ++p) {
      const uint8_t* even = sb + (2 * p) * 256 + r * 4;
      const uint8_t* odd = even + 256;
      for (uint32_t z = 0; z < 4; ++z) {
        const uint32_t e = get32(even + z * 64), o = get32(odd + z * 64);
        put32(b.qs + p * 32 + z * 8, low_nibbles(e) | low_nibbles(o) << 4);
        put32(b.qs + p * 32 + z * 8 + 4, high_nibbles(e) | high_nibbles(o) << 4);
      }
    }
    if constexpr (kHigh) {
      uint32_t words[8];
      for (uint32_t g = 0; g < 8; ++g) words[g] = get32(sb + At::kHighAt + g * 64 + r * 4);
      transpose_bits(words);
      std::memcpy(b.qh, words, 32);
    }
    for (uint32_t i = 0; i < 12; ++i) b.scales[i] = sb[At::kScalesAt + i * 16 + r];
    b.d = get16(sb + At::kDAt + r * 2);
    b.dmin = get16(sb + At::kDminAt + r * 2);
    std::memcpy(row, &b, sizeof b);
  }
};

struct PackQ6_K {
  using At = PanelK<6>;
  static_assert(At::kBytes == kPanelRows * sizeof(BlockQ6_K));

  // The line of high bits of half h of sub-block g.
  static uint8_t* high(uint8_t* sb, uint32_t g, uint32_t h) {
    return sb + At::kHighAt + (g * 2 + h) * 64;
  }

  // Sub-block of 32 g = 4 half + s: low bits in nibble s/2 of the ql words from 16 half + 8 (s%2), high bits 2s of the qh words: pair s of the
  // word at 4q is pair q of the word of sub-block s.
  static void pack(const uint8_t* row, uint8_t* sb, uint32_t r, uint32_t) {
    for (uint32_t g = 0; g < 8; ++g) {
      const uint32_t half = g / 4, s = g % 4, shift = s / 2 * 4;
      const uint8_t* ql = row + offsetof(BlockQ6_K, ql) + half * 64 + (s & 1) * 32;
      for (uint32_t z = 0; z < 4; ++z)
        put32(sb + (g * 4 + z) * 64 + r * 4, low_line(get64(ql + z * 8) >> shift));
    }
    for (uint32_t half = 0; half < 2; ++half)
      for (uint32_t h = 0; h < 2; ++h) {
        const uint8_t* qh = row + offsetof(BlockQ6_K, qh) + half * 32 + h * 16;
        uint32_t words[4] = {get32(qh), get32(qh + 4), get32(qh + 8), get32(qh + 12)};
        transpose_pairs(words);
        for (uint32_t s = 0; s < 4; ++s) put32(high(sb, half * 4 + s, h) + r * 4, words[s]);
      }
    for (uint32_t j = 0; j < 16; ++j)
      sb[At::kScalesAt + j * 16 + r] = row[offsetof(BlockQ6_K, scales) + j];
    put16(sb + At::kDAt + r * 2, get16(row + offsetof(BlockQ6_K, d)));
  }
  static void unpack(uint8_t* sb, uint32_t r, uint32_t, uint8_t* row) {
    BlockQ6_K b{};
    for (uint32_t g = 0; g < 8; ++g) {
      const uint32_t half = g / 4, s = g % 4, shift = s / 2 * 4;
      uint8_t* ql = b.ql + half * 64 + (s & 1) * 32;
      for (uint32_t z = 0; z < 4; ++z) {
        const uint32_t line = get32(sb + (g * 4 + z) * 64 + r * 4);
        put32(ql + z * 8, get32(ql + z * 8) | low_nibbles(line) << shift);
        put32(ql + z * 8 + 4, get32(ql + z * 8 + 4) | high_nibbles(line) << shift);
      }
    }
    for (uint32_t half = 0; half < 2; ++half)
      for (uint32_t h = 0; h < 2; ++h) {
        uint32_t words[4];
        for (uint32_t s = 0; s < 4; ++s) words[s] = get32(high(sb, half * 4 + s, h) + r * 4);
        transpose_pairs(words);
        std::memcpy(b.qh + half * 32 + h * 16, words, 16);
      }
    for (uint32_t j = 0; j < 16; ++j)
      b.scales[j] = static_cast<int8_t>(sb[At::kScalesAt + j * 16 + r]);
    b.d = get16(sb + At::kDAt + r * 2);
    std::memcpy(row, &b, sizeof b);
  }
};

// Float types: a superblock of nk elements (n blocks of 32).
template <class T, uint32_t kGroup>  // kGroup consecutive k of one row lie together
struct PackFloat {
  static void pack(const uint8_t* row, uint8_t* sb, uint32_t r, uint32_t n) {
    for (uint32_t k = 0; k < n * 32; k += kGroup)
      std::memcpy(sb + (size_t{k} * 16 + r * kGroup) * sizeof(T), row + k * sizeof(T),
                  kGroup * sizeof(T));
  }
  static void unpack(uint8_t* sb, uint32_t r, uint32_t n, uint8_t* row) {
    for (uint32_t k = 0; k < n * 32; k += kGroup)
      std::memcpy(row + k * sizeof(T), sb + (size_t{k} * 16 + r * kGroup) * sizeof(T),
                  kGroup * sizeof(T));
  }
};

using PackRow = void (*)(const uint8_t* row, uint8_t* sb, uint32_t r, uint32_t n);
using UnpackRow = void (*)(uint8_t* sb, uint32_t r, uint32_t n, uint8_t* row);
struct Packer {
  PackRow pack = nullptr;
  UnpackRow unpack = nullptr;
};
template <class P>
constexpr Packer packer_of() {
  return {&P::pack, &P::unpack};
}

Packer packer(DType type) {
  switch (type) {
    case DType::q4_0:
      return packer_of<Block32<BlockQ4_0, false, false>>();
    case DType::q4_1:
      return packer_of<Block32<BlockQ4_1, false, true>>();
    case DType::q5_0:
      return packer_of<Block32<BlockQ5_0, true, false>>();
    case DType::q5_1:
      return packer_of<Block32<BlockQ5_1, true, true>>();
    case DType::q8_0:
      return packer_of<PackQ8_0>();
    case DType::q4_k:
      return packer_of<BlockK4<BlockQ4_K, false>>();
    case DType::q5_k:
      return packer_of<BlockK4<BlockQ5_K, true>>();
    case DType::q6_k:
      return packer_of<PackQ6_K>();
    case DType::f16:
    case DType::bf16:
      return packer_of<PackFloat<uint16_t, 2>>();
    case DType::f32:
      return packer_of<PackFloat<float, 1>>();
    default:
      return {};
  }
}

// Bytes of `n` blocks of 32 of one row.
uint32_t bytes_of_blocks(const QuantFormat& f, uint32_t n) {
  return static_cast<uint32_t>(row_bytes(f, uint64_t{n} * 32));
}

}  // namespace

uint32_t superblock_bytes(DType type) { return kPanelRows * bytes_of_blocks(format_of(type), 8); }

uint64_t panel_bytes(DType type, uint32_t k) {
  return kPanelRows * row_bytes(format_of(type), padded_k(type, k));
}

void pack_panel(DType type, const uint8_t* rows, size_t row_stride, uint32_t n_rows, uint32_t k,
                uint8_t* panel) {
  const QuantFormat& format = format_of(type);
  const uint32_t stored_k = padded_k(type, k);
  const uint64_t file_row = row_bytes(format, k);
  const Packer p = packer(type);
  if (n_rows < kPanelRows || stored_k != k) std::memset(panel, 0, panel_bytes(type, k));
  for (uint32_t begin = 0; begin < stored_k; begin += kSuperblock) {
    const uint32_t n = (stored_k - begin < kSuperblock ? stored_k - begin : kSuperblock) / 32;
    const uint32_t n_bytes = bytes_of_blocks(format, n);
    const uint64_t row_at = row_bytes(format, begin);
    uint8_t* sb = panel + kPanelRows * row_at;
    for (uint32_t r = 0; r < n_rows; ++r) {
      const uint8_t* row = rows + r * row_stride + row_at;
      if (!p.pack) {
        std::memcpy(sb + size_t{r} * n_bytes, row, n_bytes);
      } else if (row_at + n_bytes <= file_row) {
        p.pack(row, sb, r, n);
      } else {  // float rows: the padded end
        uint8_t padded[kSuperblock * sizeof(float)] = {};
        std::memcpy(padded, row, file_row - row_at);
        p.pack(padded, sb, r, n);
      }
    }
  }
}

void unpack_row(DType type, const uint8_t* panel, uint32_t row, uint32_t k, uint8_t* out) {
  const QuantFormat& format = format_of(type);
  const uint32_t stored_k = padded_k(type, k);
  const uint64_t file_row = row_bytes(format, k);
  const Packer p = packer(type);
  for (uint32_t begin = 0; begin < stored_k; begin += kSuperblock) {
    const uint32_t n = (stored_k - begin < kSuperblock ? stored_k - begin : kSuperblock) / 32;
    const uint32_t n_bytes = bytes_of_blocks(format, n);
    const uint64_t row_at = row_bytes(format, begin);
    uint8_t* sb = const_cast<uint8_t*>(panel) + kPanelRows * row_at;  // read only
    if (!p.unpack) {
      std::memcpy(out + row_at, sb + size_t{row} * n_bytes, n_bytes);
    } else if (row_at + n_bytes <= file_row) {
      p.unpack(sb, row, n, out + row_at);
    } else {
      uint8_t padded[kSuperblock * sizeof(float)];
      p.unpack(sb, row, n, padded);
      std::memcpy(out + row_at, padded, file_row - row_at);
    }
  }
}

}  // namespace llmrt
