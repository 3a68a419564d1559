// What the floating-point control word is while the library computes. Both scopes restore the host's at their end.
#pragma once

#include <cstdint>

namespace llmrt {

// Compute phases: round to nearest, subnormals flushed on input and output, exceptions masked.
class FloatControlScope {
 public:
  FloatControlScope();
  ~FloatControlScope();
  FloatControlScope(const FloatControlScope&) = delete;
  FloatControlScope& operator=(const FloatControlScope&) = delete;

 private:
  uint64_t saved_;
};

// Numbers of files, options and templates: the same with subnormals kept, as IEEE 754 and Python have it. A host may trap on
// exceptions, round elsewhere or flush: an overflow in somebody's text must not become its signal.
class IeeeFloatScope {
 public:
  IeeeFloatScope();
  ~IeeeFloatScope();
  IeeeFloatScope(const IeeeFloatScope&) = delete;
  IeeeFloatScope& operator=(const IeeeFloatScope&) = delete;

 private:
  uint64_t saved_;
};

}  // namespace llmrt
