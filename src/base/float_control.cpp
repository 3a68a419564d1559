#include "base/float_control.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace llmrt {
namespace {

#if defined(__x86_64__)
constexpr uint64_t kCompute = 0x9fc0u, kIeee = 0x1f80u;  // of MXCSR
uint64_t control() { return _mm_getcsr(); }
void set_control(uint64_t value) { _mm_setcsr(static_cast<uint32_t>(value)); }
#elif defined(__aarch64__)
constexpr uint64_t kCompute = uint64_t{1} << 24, kIeee = 0;  // of FPCR
uint64_t control() {
  uint64_t value = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void set_control(uint64_t value) { __asm__ volatile("msr fpcr, %0" ::"r"(value)); }
#else
constexpr uint64_t kCompute = 0, kIeee = 0;
uint64_t control() { return 0; }
void set_control(uint64_t /*value*/) {}
#endif

}  // namespace

FloatScope::FloatScope(FloatMode mode) : saved_(control()) {
  set_control(mode == FloatMode::compute ? kCompute : kIeee);
}
FloatScope::~FloatScope() { set_control(saved_); }

}  // namespace llmrt
