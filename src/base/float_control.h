// What the floating-point control word is while the library computes: a host may trap on exceptions, round elsewhere or flush.
#pragma once

#include <cstdint>

namespace llmrt {

// Both round to nearest and mask exceptions: an overflow in somebody's text must not become its signal.
enum class FloatMode : uint8_t {
  compute,  // subnormals flushed on input and output
  ieee,  // subnormals kept, as IEEE 754 and Python have it: numbers of files, options and templates
};

// Restores the host's word at its end.
class FloatScope {
 public:
  explicit FloatScope(FloatMode mode);
  ~FloatScope();
  FloatScope(const FloatScope&) = delete;
  FloatScope& operator=(const FloatScope&) = delete;

 private:
  uint64_t saved_;
};

}  // namespace llmrt
