#include "backends/cpu/cpu_features.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/platform/machine.h"

namespace llmrt::cpu {

#if defined(__x86_64__)
namespace {

struct Leaf {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};
Leaf cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Leaf r;
  if (__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d) == 0) return {};
  return r;
}
bool bit(uint32_t word, int i) { return ((word >> i) & 1u) != 0; }

uint64_t enabled_state() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

std::string brand() {
  char text[49] = {};
  if (cpuid(0x80000000u).a < 0x80000004u) return "x86-64 processor";
  for (uint32_t i = 0; i < 3; ++i) {
    const Leaf l = cpuid(0x80000002u + i);
    std::memcpy(text + 16 * i, &l, 16);
  }
  std::string name = text;
  while (!name.empty() && name.back() == ' ') name.pop_back();
  name.erase(0, name.find_first_not_of(' ') == std::string::npos ? 0 : name.find_first_not_of(' '));
  return name;
}

}  // namespace

CpuFeatures detect_cpu_features() {
  CpuFeatures f;
  f.processor = brand();
  const Leaf one = cpuid(1);
  constexpr int kFma = 12, kOsxsave = 27, kAvx = 28, kF16c = 29;
  if (!bit(one.c, kOsxsave) || !bit(one.c, kAvx)) return f;
  const uint64_t state = enabled_state();
  // SSE, AVX | opmask, upper ZMM parts | configuration and data of tiles
  constexpr uint64_t kYmm = 0x6, kZmm = 0xe6, kTiles = 0x60000;
  if ((state & kYmm) != kYmm) return f;
  const Leaf seven = cpuid(7), seven_one = seven.a >= 1 ? cpuid(7, 1) : Leaf{};
  f.avx2 = bit(one.c, kFma) && bit(one.c, kF16c) && bit(seven.b, 5);
  f.avx_vnni = f.avx2 && bit(seven_one.a, 4);
  const bool avx512 = bit(seven.b, 16) && bit(seven.b, 17) && bit(seven.b, 30) && bit(seven.b, 31);
  f.avx512_vnni = f.avx2 && avx512 && bit(seven.c, 11) && (state & kZmm) == kZmm;
  f.amx_int8 = f.avx512_vnni && bit(seven.d, 22) && bit(seven.d, 24) && bit(seven.d, 25) &&
               (state & kTiles) == kTiles;
  return f;
}

#elif defined(__aarch64__)

namespace {
bool bit(uint64_t word, int i) { return ((word >> i) & 1u) != 0; }
}  // namespace

CpuFeatures detect_cpu_features() {
  CpuFeatures f;
  constexpr int kAsimdDotprod = 20, kSve = 22, kI8mm = 13;  // the last of AT_HWCAP2
  const platform::HardwareCapabilities has = platform::hardware_capabilities();
  f.neon_dotprod = bit(has.first, kAsimdDotprod);
  f.neon_i8mm = f.neon_dotprod && bit(has.second, kI8mm);
  f.sve = bit(has.first, kSve);
  f.processor = "AArch64 processor";
  return f;
}

#else

CpuFeatures detect_cpu_features() {
  CpuFeatures f;
  f.processor = "processor";
  return f;
}

#endif

}  // namespace llmrt::cpu
