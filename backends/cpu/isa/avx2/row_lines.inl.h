// AVX2 and AVX-VNNI, types T of kernels/linear_lines.inl.h. Sums of outputs lie side by side, and those of several lines join in int16
// before they widen, if the codes are small enough: not those of IQ4_XS, which row_dots.inl.h multiplies as fast. The sign trick is
// row_dots.inl.h's.

constexpr uint32_t kLinesFrom = 8;
constexpr int kLinesLargestCode = 64;  // two lines at least join

// Lines of 4 k whose products with codes of at most `largest` an int16 can hold, two products a line; of `lines`, halved until they fit.
constexpr uint32_t lines_per_sum(int largest, uint32_t lines) {
  while (static_cast<int>(lines) * 2 * 127 * largest > 32767) lines /= 2;
  return lines;
}

// acc += c . q, in pairs of int16. In assembly for the reason that simd/dot_maddubs.h gives.
inline void multiply_signed(__m256i& acc, __m256i c, __m256i magnitude, __m256i q) {
  __m256i product;
  __asm__("vpsignb %2, %4, %1\n\tvpmaddubsw %1, %3, %1\n\tvpaddw %1, %0, %0"
          : "+x"(acc), "=&x"(product)
          : "x"(c), "x"(magnitude), "x"(q));
}

// Types of 256 k; kPerSum lines join.
template <uint32_t kPerSum, bool kMin>
struct LinesK {
  struct alignas(64) Expanded {
    uint8_t code[64][64];  // int8
    __m256i scale[16][2];  // [sub-block][half]: each row's twice
    __m256i min[8][2];     // two sub-blocks of each row
    __m256 d[2], m[2];
  };

  static void expand(const RowCodes* rows, uint32_t, Expanded& e) {
    lines_of_codes<0>(rows, 8, e.code);
    for (uint32_t h = 0; h < 2; ++h) {
      __m256i pairs[8];  // sub-scales 2w and 2w + 1
      transpose_words(rows[8 * h].sub_scale, sizeof(RowCodes), pairs);
      for (uint32_t w = 0; w < 8; ++w) {
        e.scale[2 * w][h] = _mm256_blend_epi16(pairs[w], _mm256_slli_epi32(pairs[w], 16), 0xaa);
        e.scale[2 * w + 1][h] = _mm256_blend_epi16(_mm256_srli_epi32(pairs[w], 16), pairs[w], 0xaa);
      }
      if constexpr (kMin) {
        transpose_words(rows[8 * h].sub_min, sizeof(RowCodes), pairs);
        for (uint32_t w = 0; w < 8; ++w) e.min[w][h] = pairs[w];
      }
    }
    alignas(32) float d[16], m[16] = {};
    for (uint32_t r = 0; r < 16; ++r) {
      d[r] = rows[r].d[0];
      if constexpr (kMin) m[r] = rows[r].m[0];
    }
    for (uint32_t h = 0; h < 2; ++h) {
      e.d[h] = _mm256_load_ps(d + 8 * h);
      e.m[h] = _mm256_load_ps(m + 8 * h);
    }
  }

  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* weights,
                         uint32_t b, __m256 (*acc)[2]) {
    const auto& e = *reinterpret_cast<const Expanded*>(weights);
    alignas(32) int16_t sums[R][16];  // S of each 16 k
    if constexpr (kMin)
      for (int i = 0; i < R; ++i)
        _mm256_store_si256(reinterpret_cast<__m256i*>(sums[i]),
                           sub_block_sums(in.bias(a, i) + b * 32));
#pragma GCC unroll 1
    for (uint32_t h = 0; h < 2; ++h) {  // one half at a time: 2 R accumulators
      __m256i isum[R];
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) isum[i] = _mm256_setzero_si256();
      for (uint32_t j = 0; j < 16; ++j) {
        const __m256i scale = e.scale[j][h];
#pragma GCC unroll 4
        for (uint32_t t = 0; t < 4; t += kPerSum) {
          __m256i lanes[R];
#pragma GCC unroll 4
          for (int i = 0; i < R; ++i) lanes[i] = _mm256_setzero_si256();
#pragma GCC unroll 4
          for (uint32_t u = t; u < t + kPerSum; ++u) {
            const __m256i c = load256(e.code[4 * j + u] + 32 * h), magnitude = _mm256_abs_epi8(c);
#pragma GCC unroll 4
            for (int i = 0; i < R; ++i)
              multiply_signed(lanes[i], c, magnitude,
                              broadcast4(in.q[i] + b * 256 + 16 * j + 4 * u));
          }
#pragma GCC unroll 4
          for (int i = 0; i < R; ++i)
            isum[i] = _mm256_add_epi32(isum[i], _mm256_madd_epi16(lanes[i], scale));
        }
      }
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) {
        __m256 t = _mm256_mul_ps(e.d[h], _mm256_cvtepi32_ps(isum[i]));
        if constexpr (kMin) {
          __m256i jsum = _mm256_setzero_si256();
          for (uint32_t w = 0; w < 8; ++w)
            jsum =
                _mm256_add_epi32(jsum, _mm256_madd_epi16(e.min[w][h], broadcast4(sums[i] + 2 * w)));
          t = _mm256_fmsub_ps(e.d[h], _mm256_cvtepi32_ps(isum[i]),
                              _mm256_mul_ps(e.m[h], _mm256_cvtepi32_ps(jsum)));
        }
        acc[i][h] = _mm256_fmadd_ps(t, _mm256_broadcast_ss(in.dx(a, i) + b), acc[i][h]);
      }
    }
  }
};

// Types of 32 k; kPerSum lines join.
template <uint32_t kPerSum>
struct Lines32 {
  struct alignas(64) Expanded {
    uint8_t code[64][64];  // int8
    __m256 d[8][2];
  };

  static void expand(const RowCodes* rows, uint32_t n_blocks, Expanded& e) {
    lines_of_codes<0>(rows, n_blocks, e.code);
    for (uint32_t h = 0; h < 2; ++h) {
      __m256i d[8];
      transpose_words(rows[8 * h].d, sizeof(RowCodes), d);
      for (uint32_t j = 0; j < n_blocks; ++j) e.d[j][h] = _mm256_castsi256_ps(d[j]);
    }
  }

  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* weights,
                         uint32_t b, __m256 (*acc)[2]) {
    const auto& e = *reinterpret_cast<const Expanded*>(weights);
    const uint32_t left = (a.k - b * 256) / 32, n = left < 8 ? left : 8;
    const __m256i ones = _mm256_set1_epi16(1);
    for (uint32_t j = 0; j < n; ++j)
#pragma GCC unroll 1
      for (uint32_t h = 0; h < 2; ++h) {
        __m256i dot[R];
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i) dot[i] = _mm256_setzero_si256();
#pragma GCC unroll 8
        for (uint32_t t = 0; t < 8; t += kPerSum) {
          __m256i lanes[R];
#pragma GCC unroll 4
          for (int i = 0; i < R; ++i) lanes[i] = _mm256_setzero_si256();
#pragma GCC unroll 8
          for (uint32_t u = t; u < t + kPerSum; ++u) {
            const __m256i c = load256(e.code[8 * j + u] + 32 * h), magnitude = _mm256_abs_epi8(c);
#pragma GCC unroll 4
            for (int i = 0; i < R; ++i)
              multiply_signed(lanes[i], c, magnitude,
                              broadcast4(in.q[i] + b * 256 + 32 * j + 4 * u));
          }
#pragma GCC unroll 4
          for (int i = 0; i < R; ++i)
            dot[i] = _mm256_add_epi32(dot[i], _mm256_madd_epi16(lanes[i], ones));
        }
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i) {
          const __m256 dx = _mm256_broadcast_ss(in.dx(a, i) + b * 8 + j);
          acc[i][h] =
              _mm256_fmadd_ps(_mm256_mul_ps(e.d[j][h], dx), _mm256_cvtepi32_ps(dot[i]), acc[i][h]);
        }
      }
  }
};

template <DType kType>
using RowLines = std::conditional_t<
    kRowType<kType>.group == 256,
    LinesK<lines_per_sum(kRowType<kType>.largest_code, 4), kRowType<kType>.has_min>,
    Lines32<lines_per_sum(kRowType<kType>.largest_code, 8)>>;
