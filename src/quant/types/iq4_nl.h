// IQ4_NL: 32 weights, 4 bits each, codes index a fixed table of unequal steps.  w[i] = d * kIq4Values[c[i]]
//
//   byte  0  2                  18
//        | d | qs[16]           |      d: f16 bits; qs[j] = c[j] | c[j + 16] << 4
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

struct BlockIq4Nl {
  uint16_t d;
  uint8_t qs[16];
};
static_assert(sizeof(BlockIq4Nl) == 18);

void decode_iq4_nl(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
