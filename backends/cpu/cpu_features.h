// What this processor and its operating system let us use.
#pragma once

#include <cstdint>
#include <string>

namespace llmrt::cpu {

struct CpuFeatures {
  // x86-64: the instruction sets a table needs, with the register state enabled by the system (XGETBV).
  bool avx2 = false;         // AVX2, FMA, F16C
  bool avx_vnni = false;     // avx2 and AVX-VNNI
  bool avx512_vnni = false;  // avx2 and AVX-512 F, BW, DQ, VL, VNNI
  // avx512_vnni and AMX tiles and int8. To run tiles the system must be asked besides: platform::request_tiles().
  bool amx_int8 = false;
  // AArch64
  bool neon_dotprod = false;
  bool neon_i8mm = false;  // neon_dotprod and 8-bit matrix multiplication
  bool sve = false;
  std::string processor;  // "AMD EPYC 7B13 64-Core Processor"
};

CpuFeatures detect_cpu_features();

}  // namespace llmrt::cpu
