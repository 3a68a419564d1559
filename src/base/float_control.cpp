#include <cstdint>

#include "base/thread_pool.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace llmrt {

// One value for every compute phase: round to nearest, denormals flushed on input and output, exceptions masked.
#if defined(__x86_64__)
FloatControlScope::FloatControlScope() : saved_(_mm_getcsr()) { _mm_setcsr(0x9fc0u); }
FloatControlScope::~FloatControlScope() { _mm_setcsr(static_cast<uint32_t>(saved_)); }
#elif defined(__aarch64__)
namespace {
constexpr uint64_t kFlushToZero = uint64_t{1} << 24;
}
FloatControlScope::FloatControlScope() : saved_(0) {
  __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
  __asm__ volatile("msr fpcr, %0" ::"r"(kFlushToZero));
}
FloatControlScope::~FloatControlScope() { __asm__ volatile("msr fpcr, %0" ::"r"(saved_)); }
#else
FloatControlScope::FloatControlScope() : saved_(0) {}
FloatControlScope::~FloatControlScope() = default;
#endif

}  // namespace llmrt
