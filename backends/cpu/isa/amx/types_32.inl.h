// AMX int8, 32-block types. Each block of 32 k has a float scale, so its sums leave the tiles after one product, half as deep as a tile can
// be, and vectors have more to do than tiles: 5 operations for each row of a block with a minimum, 3 without. Codes are signed, without
// bias. Products go one after another through two tiles of sums; while one works, the sums two before it are joined.
//
// While tiles work, and some hundred cycles more, the second port of 512-bit vectors takes no operations of floats (measured on a Xeon of
// the fifth generation): these operations are the limit, and the kernels for types with a minimum are within a tenth of it. Tiles first, for
// a superblock of two panels, and vectors then is slower by a tenth.

template <int kBits, bool kMin, int kBias>
struct TileB32 {
  using Few = B32<kBits, kMin, kBias>;
  static constexpr uint32_t kBytes = Few::kBytes, kDepth = 32;
  using Expanded = Expanded32;

  static void expand(const uint8_t* sb, uint32_t n, Expanded& e) {
    const __m512i bias = _mm512_set1_epi8(static_cast<char>(kBias));
    for (uint32_t j = 0; j < n; ++j) {
      const __m512i plane = Few::plane(sb, n, j);
#pragma GCC unroll 4
      for (int z = 0; z < 4; ++z) {
        Quads c = Few::codes(sb, j, plane, z);
        if constexpr (kBias != 0)
          for (__m512i& w : c.w) w = _mm512_sub_epi8(w, bias);
        store_quads(e.code[j * 8 + static_cast<uint32_t>(z) * 2], c);
      }
      e.d[j] = half_scales(Few::d_at(sb, n, j));
      if constexpr (kMin) e.m[j] = half_scales(Few::m_at(sb, n, j));
    }
  }

  // Of one block of rows with one panel.
  struct Step {
    const uint8_t* in;  // of the superblock
    const uint8_t* dx;  // of its first block
    const Expanded* e;
    float* to;
  };
  template <int kTile>
  static void multiply(const Step& step, size_t in_stride, uint32_t j) {
    load_tile<4 + kTile>(step.in + j * 32, in_stride);
    load_tile<6 + kTile>(step.e->code[j * 8], 64);
    zero_tile<kTile>();
    multiply_signed_tiles<kTile, 4 + kTile, 6 + kTile>();
  }
  [[gnu::always_inline]] static void join(const Step& step, size_t in_stride, size_t sum_behind,
                                          uint32_t j, const TileSums& sums, __m512* acc) {
    const __m512 d = step.e->d[j], m = kMin ? step.e->m[j] : _mm512_setzero_ps();
    const uint8_t* dx = step.dx + j * 4;
#pragma GCC unroll 16
    for (uint32_t i = 0; i < kTileRows; ++i, dx += in_stride) {
      // Else GCC makes all addresses first, and keeps them in vector registers.
      __asm__("" : "+r"(dx));
      acc[i] = Few::joined(d, m, dx, dx + sum_behind, _mm512_cvtepi32_ps(load512(sums[i])), acc[i]);
    }
  }
  template <bool kWhole>
  [[gnu::always_inline]] static void put(const Step& step, const __m512* acc) {
#pragma GCC unroll 16
    for (uint32_t i = 0; i < kTileRows; ++i) put_sum<kWhole>(step.to + i * kPanelRows, acc[i]);
  }
  template <bool kWhole>
  [[gnu::always_inline]] static void begin(const Step& step, __mmask16 goes_on, __m512* acc) {
#pragma GCC unroll 16
    for (uint32_t i = 0; i < kTileRows; ++i)
      acc[i] = sum_before<kWhole>(step.to + i * kPanelRows, goes_on);
  }

  static Step step_of(const TilePass<TileB32>& pass, uint32_t panel, uint32_t block) {
    const uint8_t* in = pass.in(block);
    return {in + pass.b * 256, in + pass.args.form->dx_at + pass.b * 32, pass.e[panel],
            pass.to(panel, block)};
  }

  template <bool kWhole>
  static void pass(const TilePass<TileB32>& pass) {
    const LinearArgs& a = pass.args;
    const size_t in_stride = a.in_stride, sum_behind = a.form->sum_at - a.form->dx_at;
    const uint32_t left = (a.k - pass.b * 256) / 32, n = left < 8 ? left : 8;
    if (n % 2 != 0) {
      pass_of_odd<kWhole>(pass, n, sum_behind);
      return;
    }
    const __mmask16 goes_on = pass.goes_on;
    alignas(64) TileSums sums[2];
    __m512 acc[kTileRows];
    Step last{};
    for (uint32_t block = 0; block < pass.n_blocks; ++block)
      for (uint32_t p = 0; p < a.n_panels; ++p) {
        const Step step = step_of(pass, p, block);
        multiply<0>(step, in_stride, 0);
        if (last.e) {
          store_sums<1>(sums[1]);
          join(last, in_stride, sum_behind, n - 2, sums[0], acc);
        }
        multiply<1>(step, in_stride, 1);
        store_sums<0>(sums[0]);
        if (last.e) {
          join(last, in_stride, sum_behind, n - 1, sums[1], acc);
          put<kWhole>(last, acc);
        }
        begin<kWhole>(step, goes_on, acc);
        for (uint32_t j = 2; j < n; j += 2) {
          multiply<0>(step, in_stride, j);
          store_sums<1>(sums[1]);
          join(step, in_stride, sum_behind, j - 2, sums[0], acc);
          multiply<1>(step, in_stride, j + 1);
          store_sums<0>(sums[0]);
          join(step, in_stride, sum_behind, j - 1, sums[1], acc);
        }
        last = step;
      }
    store_sums<1>(sums[1]);
    join(last, in_stride, sum_behind, n - 2, sums[0], acc);
    join(last, in_stride, sum_behind, n - 1, sums[1], acc);
    put<kWhole>(last, acc);
  }

  // The last superblock of rows that end with half a pair of blocks: one product at a time.
  template <bool kWhole>
  static void pass_of_odd(const TilePass<TileB32>& pass, uint32_t n, size_t sum_behind) {
    const size_t in_stride = pass.args.in_stride;
    alignas(64) TileSums sums;
    __m512 acc[kTileRows];
    for (uint32_t block = 0; block < pass.n_blocks; ++block)
      for (uint32_t p = 0; p < pass.args.n_panels; ++p) {
        const Step step = step_of(pass, p, block);
        begin<kWhole>(step, pass.goes_on, acc);
        for (uint32_t j = 0; j < n; ++j) {
          multiply<0>(step, in_stride, j);
          store_sums<0>(sums);
          join(step, in_stride, sum_behind, j, sums, acc);
        }
        put<kWhole>(step, acc);
      }
  }
};
