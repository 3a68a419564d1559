// The names of backends/cpu/simd/amx.h in plain C++, with what the processor checks: so that the tile kernels' logic is tested on machines
// without tiles. In the namespace of avx512_emulation.h.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace llmrt::cpu::avx512_emulated {
namespace {

struct Tile {
  uint32_t rows = 0, row_bytes = 0;
  uint8_t byte[16][64];
};
struct TileRegisters {
  bool configured = false;
  Tile tile[8];
};
thread_local TileRegisters t_tiles;

// Where the processor would raise an exception.
inline void tile_check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "emulated tiles: %s\n", what);
  std::abort();
}

// palette | first row | 14 of 0 | 16 times bytes of a row, uint16 | 16 times rows, uint8; there are 8 tiles
inline void load_tile_config(const void* config) {
  uint8_t c[64];
  std::memcpy(c, config, 64);
  tile_check(c[0] == 1, "the palette is not 1");
  for (int i = 1; i < 16; ++i) tile_check(c[i] == 0, "a first row, or a reserved byte is not 0");
  t_tiles = TileRegisters{};
  for (int t = 0; t < 16; ++t) {
    const uint32_t row_bytes = c[16 + 2 * t] + 256u * c[17 + 2 * t], rows = c[48 + t];
    if (t >= 8) {
      tile_check(rows == 0 && row_bytes == 0, "a tile that there is not has a shape");
      continue;
    }
    tile_check(rows <= 16 && row_bytes <= 64 && (rows == 0) == (row_bytes == 0), "a tile's shape");
    t_tiles.tile[t].rows = rows;
    t_tiles.tile[t].row_bytes = row_bytes;
  }
  t_tiles.configured = true;
}
inline void release_tiles() { t_tiles = TileRegisters{}; }

template <int kTile>
Tile& tile_register() {
  tile_check(t_tiles.configured && t_tiles.tile[kTile].rows > 0, "a tile without a shape is used");
  return t_tiles.tile[kTile];
}
template <int kTile>
void zero_tile() {
  std::memset(tile_register<kTile>().byte, 0, sizeof(Tile::byte));
}
template <int kTile>
void load_tile(const void* rows, size_t stride) {
  Tile& tile = tile_register<kTile>();
  std::memset(tile.byte, 0, sizeof tile.byte);
  for (uint32_t r = 0; r < tile.rows; ++r)
    std::memcpy(tile.byte[r], static_cast<const uint8_t*>(rows) + r * stride, tile.row_bytes);
}
template <int kTile>
void store_tile(void* rows, size_t stride) {
  const Tile& tile = tile_register<kTile>();
  for (uint32_t r = 0; r < tile.rows; ++r)
    std::memcpy(static_cast<uint8_t*>(rows) + r * stride, tile.byte[r], tile.row_bytes);
}

template <class Weight>
void multiply_tiles(Tile& c, const Tile& a, const Tile& b) {
  tile_check(&c != &a && &c != &b && &a != &b, "tiles of a product are not three");
  tile_check(c.rows == a.rows && c.row_bytes == b.row_bytes && a.row_bytes == 4 * b.rows,
             "the shapes of a product do not fit");
  for (uint32_t m = 0; m < c.rows; ++m)
    for (uint32_t n = 0; n < c.row_bytes / 4; ++n) {
      int32_t sum;
      std::memcpy(&sum, &c.byte[m][4 * n], 4);
      for (uint32_t k = 0; k < a.row_bytes; ++k)
        sum +=
            static_cast<int8_t>(a.byte[m][k]) * static_cast<Weight>(b.byte[k / 4][4 * n + k % 4]);
      std::memcpy(&c.byte[m][4 * n], &sum, 4);
    }
}
template <int kC, int kA, int kB>
void multiply_signed_tiles() {
  multiply_tiles<int8_t>(tile_register<kC>(), tile_register<kA>(), tile_register<kB>());
}
template <int kC, int kA, int kB>
void multiply_unsigned_tiles() {
  multiply_tiles<uint8_t>(tile_register<kC>(), tile_register<kA>(), tile_register<kB>());
}

// Of finite numbers; subnormal ones are zeros as the mode of a compute phase has it.
template <int kC, int kA, int kB>
void multiply_bf16_tiles() {
  Tile &c = tile_register<kC>(), &a = tile_register<kA>(), &b = tile_register<kB>();
  tile_check(&c != &a && &c != &b && &a != &b, "tiles of a product are not three");
  tile_check(c.rows == a.rows && c.row_bytes == b.row_bytes && a.row_bytes == 4 * b.rows,
             "the shapes of a product do not fit");
  const auto value = [](const Tile& t, uint32_t row, uint32_t i) {
    uint32_t bits = 0;
    std::memcpy(reinterpret_cast<uint8_t*>(&bits) + 2, &t.byte[row][2 * i], 2);
    return std::bit_cast<float>(bits);
  };
  for (uint32_t m = 0; m < c.rows; ++m)
    for (uint32_t n = 0; n < c.row_bytes / 4; ++n) {
      float even = 0, odd = 0, sum;
      for (uint32_t k = 0; k < b.rows; ++k) {
        even = __builtin_fmaf(value(a, m, 2 * k), value(b, k, 2 * n), even);
        odd = __builtin_fmaf(value(a, m, 2 * k + 1), value(b, k, 2 * n + 1), odd);
      }
      std::memcpy(&sum, &c.byte[m][4 * n], 4);
      sum += even + odd;
      std::memcpy(&c.byte[m][4 * n], &sum, 4);
    }
}

}  // namespace
}  // namespace llmrt::cpu::avx512_emulated
