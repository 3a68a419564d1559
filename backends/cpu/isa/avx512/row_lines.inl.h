// AVX-512 VNNI, types T of kernels/linear_lines.inl.h. Codes are biased by 128 to be unsigned, whatever they are. What the bias adds is
// taken off in int32 by the sums of the input.

constexpr uint32_t kLinesFrom = 8;
constexpr int kLinesLargestCode = 127;  // any

template <bool kMin>
struct LinesK {
  struct alignas(64) Expanded {
    uint8_t code[64][64];
    int32_t scale[16][16];  // [sub-block][row]
    int16_t min[8][16][2];  // two sub-blocks of each row
    float d[16], m[16];
  };

  static void expand(const RowCodes* rows, uint32_t, Expanded& e) {
    lines_of_codes<0x80>(rows, 8, e.code);
    const auto put = [](void* to, __m256i v) { _mm256_store_si256(static_cast<__m256i*>(to), v); };
    for (uint32_t h = 0; h < 2; ++h) {
      __m256i pairs[8];  // sub-scales 2w and 2w + 1
      transpose_words(rows[8 * h].sub_scale, sizeof(RowCodes), pairs);
      for (uint32_t w = 0; w < 8; ++w) {
        put(e.scale[2 * w] + 8 * h, _mm256_srai_epi32(_mm256_slli_epi32(pairs[w], 16), 16));
        put(e.scale[2 * w + 1] + 8 * h, _mm256_srai_epi32(pairs[w], 16));
      }
      if constexpr (kMin) {
        transpose_words(rows[8 * h].sub_min, sizeof(RowCodes), pairs);
        for (uint32_t w = 0; w < 8; ++w) put(e.min[w] + 8 * h, pairs[w]);
      }
    }
    for (uint32_t r = 0; r < 16; ++r) {
      e.d[r] = rows[r].d[0];
      if constexpr (kMin) e.m[r] = rows[r].m[0];
    }
  }

  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* weights,
                         uint32_t b, __m512* acc) {
    const auto& e = *reinterpret_cast<const Expanded*>(weights);
    const __m512i fours = _mm512_set1_epi16(4);
    __m512i isum[R];
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) isum[i] = _mm512_setzero_si512();
    for (uint32_t j = 0; j < 16; ++j) {
      __m512i dot[R];  // starts at -128 * (sum of q): four times the two halves of bias32
#pragma GCC unroll 8
      for (int i = 0; i < R; ++i)
        dot[i] = _mm512_madd_epi16(broadcast4(in.bias(a, i) + (b * 16 + j) * 2), fours);
#pragma GCC unroll 2
      for (uint32_t z = 0; z < 2; ++z)
        multiply<R>(byte_codes(e.code[j * 4 + z * 2]), in.q, b * 256 + j * 16 + z * 8, dot);
      const __m512i scale = load512(e.scale[j]);
#pragma GCC unroll 8
      for (int i = 0; i < R; ++i)
        isum[i] = _mm512_add_epi32(isum[i], _mm512_mullo_epi32(dot[i], scale));
    }
    const __m512 d = _mm512_loadu_ps(e.d);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      __m512 t = _mm512_mul_ps(d, _mm512_cvtepi32_ps(isum[i]));
      if constexpr (kMin) {
        alignas(32) int16_t sums[16];  // S of each 16 k
        _mm256_store_si256(reinterpret_cast<__m256i*>(sums),
                           sub_block_sums(in.bias(a, i) + b * 32));
        __m512i jsum = _mm512_setzero_si512();
        for (uint32_t w = 0; w < 8; ++w)
          jsum = _mm512_add_epi32(jsum,
                                  _mm512_madd_epi16(load512(e.min[w]), broadcast4(sums + 2 * w)));
        t = _mm512_fmsub_ps(d, _mm512_cvtepi32_ps(isum[i]),
                            _mm512_mul_ps(_mm512_loadu_ps(e.m), _mm512_cvtepi32_ps(jsum)));
      }
      acc[i] = _mm512_fmadd_ps(t, _mm512_set1_ps(in.dx(a, i)[b]), acc[i]);
    }
  }
};

// As Q8_0 is multiplied once it is expanded.
struct Lines32 {
  using Bytes = B32<8, false, 128>;
  using Expanded = Bytes::Expanded;

  static void expand(const RowCodes* rows, uint32_t n_blocks, Expanded& e) {
    lines_of_codes<0x80>(rows, n_blocks, e.code);
    alignas(64) float d[16];
    for (uint32_t j = 0; j < n_blocks; ++j) {
      for (uint32_t r = 0; r < 16; ++r) d[r] = rows[r].d[j];
      e.d[j] = _mm512_loadu_ps(d);
    }
  }

  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* weights,
                         uint32_t b, __m512* acc) {
    Bytes::superblock<R, true>(a, in, weights, b, acc);
  }
};

template <DType kType>
using RowLines =
    std::conditional_t<kRowType<kType>.group == 256, LinesK<kRowType<kType>.has_min>, Lines32>;
