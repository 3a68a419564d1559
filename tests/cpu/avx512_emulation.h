// The AVX-512 instructions that backends/cpu/isa/avx512, isa/amx and simd/avx512.h use, in plain C++: so that the kernels' logic is
// tested on machines without them. Only the types of 512 bits are emulated; 128 and 256 bits come from AVX2.
#pragma once

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>

// At -O0 the compiler's own are macros.
#undef _mm512_slli_epi16
#undef _mm512_srli_epi16
#undef _mm512_slli_epi32
#undef _mm512_srli_epi32
#undef _mm512_extractf64x4_pd
#undef _mm512_mask_blend_epi8

// In the namespace of the kernels, so that these names hide the compiler's.
namespace llmrt::cpu::avx512_emulated {
namespace {

struct Int512 {
  alignas(64) uint8_t byte[64];
};
struct Float512 {
  alignas(64) float lane[16];
};
struct Double512 {
  alignas(64) double lane[8];
};

template <class T>
struct Lanes {
  T v[64 / sizeof(T)];
  static Lanes of(const Int512& x) {
    Lanes l;
    std::memcpy(l.v, &x, 64);
    return l;
  }
  Int512 bits() const {
    Int512 x;
    std::memcpy(&x, v, 64);
    return x;
  }
};

template <class T, class F>
Int512 each(const Int512& a, F f) {
  auto l = Lanes<T>::of(a);
  for (T& v : l.v) v = static_cast<T>(f(v));
  return l.bits();
}
template <class T, class F>
Int512 each(const Int512& a, const Int512& b, F f) {
  auto l = Lanes<T>::of(a);
  const auto r = Lanes<T>::of(b);
  for (size_t i = 0; i < 64 / sizeof(T); ++i) l.v[i] = static_cast<T>(f(l.v[i], r.v[i]));
  return l.bits();
}
template <class F>
Float512 floats(F f) {
  Float512 r;
  for (int i = 0; i < 16; ++i) r.lane[i] = f(i);
  return r;
}

inline Int512 _mm512_loadu_si512(const void* p) {
  Int512 x;
  std::memcpy(&x, p, 64);
  return x;
}
inline void _mm512_store_si512(void* p, const Int512& x) { std::memcpy(p, &x, 64); }
inline Int512 _mm512_setzero_si512() { return Int512{}; }
inline Int512 _mm512_set1_epi8(char c) {
  Int512 x;
  std::memset(&x, c, 64);
  return x;
}
inline Int512 _mm512_set1_epi16(short v) {
  return each<int16_t>(Int512{}, [v](int16_t) { return v; });
}
inline Int512 _mm512_set1_epi32(int v) {
  return each<int32_t>(Int512{}, [v](int32_t) { return v; });
}
inline Int512 _mm512_and_si512(const Int512& a, const Int512& b) {
  return each<uint8_t>(a, b, [](int x, int y) { return x & y; });
}
inline Int512 _mm512_or_si512(const Int512& a, const Int512& b) {
  return each<uint8_t>(a, b, [](int x, int y) { return x | y; });
}
inline Int512 _mm512_xor_si512(const Int512& a, const Int512& b) {
  return each<uint8_t>(a, b, [](int x, int y) { return x ^ y; });
}
inline Int512 _mm512_slli_epi16(const Int512& a, unsigned n) {
  return each<uint16_t>(a, [n](unsigned x) { return x << n; });
}
inline Int512 _mm512_srli_epi16(const Int512& a, unsigned n) {
  return each<uint16_t>(a, [n](unsigned x) { return x >> n; });
}
inline Int512 _mm512_slli_epi32(const Int512& a, unsigned n) {
  return each<uint32_t>(a, [n](uint32_t x) { return x << n; });
}
inline Int512 _mm512_srli_epi32(const Int512& a, unsigned n) {
  return each<uint32_t>(a, [n](uint32_t x) { return x >> n; });
}
inline Int512 _mm512_add_epi32(const Int512& a, const Int512& b) {
  return each<uint32_t>(a, b, [](uint32_t x, uint32_t y) { return x + y; });
}
inline Int512 _mm512_mullo_epi32(const Int512& a, const Int512& b) {
  return each<uint32_t>(a, b, [](uint32_t x, uint32_t y) { return x * y; });
}
inline Int512 _mm512_madd_epi16(const Int512& a, const Int512& b) {
  const auto x = Lanes<int16_t>::of(a), y = Lanes<int16_t>::of(b);
  Lanes<int32_t> r;
  for (int i = 0; i < 16; ++i) r.v[i] = x.v[2 * i] * y.v[2 * i] + x.v[2 * i + 1] * y.v[2 * i + 1];
  return r.bits();
}
// Pairs of u8 x s8, each sum kept within int16.
inline Int512 _mm512_maddubs_epi16(const Int512& u, const Int512& s) {
  const auto x = Lanes<uint8_t>::of(u);
  const auto y = Lanes<int8_t>::of(s);
  Lanes<int16_t> r;
  for (int i = 0; i < 32; ++i) {
    const int sum = x.v[2 * i] * y.v[2 * i] + x.v[2 * i + 1] * y.v[2 * i + 1];
    r.v[i] = static_cast<int16_t>(sum > 32767 ? 32767 : (sum < -32768 ? -32768 : sum));
  }
  return r.bits();
}
inline Int512 _mm512_sub_epi8(const Int512& a, const Int512& b) {
  return each<uint8_t>(a, b, [](int x, int y) { return x - y; });
}
inline Int512 _mm512_sub_epi16(const Int512& a, const Int512& b) {
  return each<uint16_t>(a, b, [](int x, int y) { return x - y; });
}
// Bytes of b where the mask has a bit.
inline Int512 _mm512_mask_blend_epi8(uint64_t mask, const Int512& a, const Int512& b) {
  Int512 r = a;
  for (int i = 0; i < 64; ++i)
    if (((mask >> i) & 1u) != 0) r.byte[i] = b.byte[i];
  return r;
}
inline Int512 _mm512_dpwssd_epi32(const Int512& acc, const Int512& a, const Int512& b) {
  return _mm512_add_epi32(acc, _mm512_madd_epi16(a, b));
}
inline Int512 _mm512_dpbusd_epi32(const Int512& acc, const Int512& u, const Int512& s) {
  auto r = Lanes<int32_t>::of(acc);
  const auto x = Lanes<uint8_t>::of(u);
  const auto y = Lanes<int8_t>::of(s);
  for (int i = 0; i < 64; ++i) r.v[i / 4] += x.v[i] * y.v[i];
  return r.bits();
}
template <class From, class To, class Narrow>
Int512 widen(const Narrow& a) {
  From in[64 / sizeof(To)];
  std::memcpy(in, &a, sizeof in);
  Lanes<To> r;
  for (size_t i = 0; i < 64 / sizeof(To); ++i) r.v[i] = in[i];
  return r.bits();
}
inline Int512 _mm512_cvtepu8_epi32(__m128i a) { return widen<uint8_t, int32_t>(a); }
inline Int512 _mm512_cvtepi8_epi32(__m128i a) { return widen<int8_t, int32_t>(a); }
inline Int512 _mm512_cvtepu8_epi16(__m256i a) { return widen<uint8_t, int16_t>(a); }
inline __m256i _mm512_cvtepi32_epi16(const Int512& a) {
  const auto x = Lanes<uint32_t>::of(a);
  uint16_t out[16];
  for (int i = 0; i < 16; ++i) out[i] = static_cast<uint16_t>(x.v[i]);
  __m256i r;
  std::memcpy(&r, out, 32);
  return r;
}

inline Float512 _mm512_setzero_ps() { return Float512{}; }
inline Float512 _mm512_set1_ps(float v) {
  return floats([v](int) { return v; });
}
inline Float512 _mm512_loadu_ps(const void* p) {
  Float512 x;
  std::memcpy(&x, p, 64);
  return x;
}
inline Float512 _mm512_load_ps(const void* p) { return _mm512_loadu_ps(p); }
inline Float512 _mm512_maskz_load_ps(uint16_t mask, const void* p) {
  const Float512 x = _mm512_loadu_ps(p);
  return floats([&](int i) { return mask >> i & 1 ? x.lane[i] : 0.0f; });
}
inline void _mm512_storeu_ps(void* p, const Float512& x) { std::memcpy(p, &x, 64); }
inline void _mm512_store_ps(void* p, const Float512& x) { std::memcpy(p, &x, 64); }
inline Float512 _mm512_add_ps(const Float512& a, const Float512& b) {
  return floats([&](int i) { return a.lane[i] + b.lane[i]; });
}
inline Float512 _mm512_mul_ps(const Float512& a, const Float512& b) {
  return floats([&](int i) { return a.lane[i] * b.lane[i]; });
}
inline Float512 _mm512_max_ps(const Float512& a, const Float512& b) {
  return floats([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline Float512 _mm512_fmadd_ps(const Float512& a, const Float512& b, const Float512& c) {
  return floats([&](int i) { return std::fma(a.lane[i], b.lane[i], c.lane[i]); });
}
inline Float512 _mm512_fmsub_ps(const Float512& a, const Float512& b, const Float512& c) {
  return floats([&](int i) { return std::fma(a.lane[i], b.lane[i], -c.lane[i]); });
}
inline Float512 _mm512_fnmadd_ps(const Float512& a, const Float512& b, const Float512& c) {
  return floats([&](int i) { return std::fma(-a.lane[i], b.lane[i], c.lane[i]); });
}
inline Float512 _mm512_cvtepi32_ps(const Int512& a) {
  const auto x = Lanes<int32_t>::of(a);
  return floats([&](int i) { return static_cast<float>(x.v[i]); });
}
inline Float512 _mm512_cvtph_ps(__m256i a) {
  Float512 r;
  const __m256 low = _mm256_cvtph_ps(_mm256_castsi256_si128(a)),
               high = _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1));
  std::memcpy(r.lane, &low, 32);
  std::memcpy(r.lane + 8, &high, 32);
  return r;
}
inline Float512 _mm512_castsi512_ps(const Int512& a) {
  Float512 r;
  std::memcpy(&r, &a, 64);
  return r;
}
inline __m256 _mm512_castps512_ps256(const Float512& a) {
  __m256 r;
  std::memcpy(&r, a.lane, 32);
  return r;
}
inline Double512 _mm512_castps_pd(const Float512& a) {
  Double512 r;
  std::memcpy(&r, &a, 64);
  return r;
}
inline __m256d _mm512_extractf64x4_pd(const Double512& a, int half) {
  __m256d r;
  std::memcpy(&r, a.lane + 4 * half, 32);
  return r;
}

}  // namespace
}  // namespace llmrt::cpu::avx512_emulated
