// One line per type this build can decode. A new type: quant/types/<t>.{h,cpp}, a DType value and a line here.
#include "base/check.h"
#include "quant/dtype.h"
#include "quant/row_codes.h"
#include "quant/types/bf16.h"
#include "quant/types/f16.h"
#include "quant/types/f32.h"
#include "quant/types/iq1_m.h"
#include "quant/types/iq1_s.h"
#include "quant/types/iq2_s.h"
#include "quant/types/iq2_xs.h"
#include "quant/types/iq2_xxs.h"
#include "quant/types/iq3_s.h"
#include "quant/types/iq3_xxs.h"
#include "quant/types/iq4_nl.h"
#include "quant/types/iq4_xs.h"
#include "quant/types/mxfp4.h"
#include "quant/types/nvfp4.h"
#include "quant/types/q1_0.h"
#include "quant/types/q2_0.h"
#include "quant/types/q2_k.h"
#include "quant/types/q3_k.h"
#include "quant/types/q4_0.h"
#include "quant/types/q4_1.h"
#include "quant/types/q4_k.h"
#include "quant/types/q5_0.h"
#include "quant/types/q5_1.h"
#include "quant/types/q5_k.h"
#include "quant/types/q6_k.h"
#include "quant/types/q8_0.h"
#include "quant/types/tq1_0.h"
#include "quant/types/tq2_0.h"

namespace llmrt {
namespace {

using enum NumericsClass;

// clang-format off
constexpr QuantFormat kFormats[] = {
    // type           name       block  bytes                class group decode          encode
    {DType::f32,      "F32",     1,     4,                   f32,   0, decode_f32,     encode_f32},
    {DType::f16,      "F16",     1,     2,                   f32,   0, decode_f16,     encode_f16},
    {DType::bf16,     "BF16",    1,     2,                   f32,   0, decode_bf16,    encode_bf16},
    {DType::q4_0,     "Q4_0",    32,    sizeof(BlockQ4_0),   a8,   32, decode_q4_0,    encode_q4_0},
    {DType::q4_1,     "Q4_1",    32,    sizeof(BlockQ4_1),   a8,   32, decode_q4_1,    nullptr},
    {DType::q5_0,     "Q5_0",    32,    sizeof(BlockQ5_0),   a8,   32, decode_q5_0,    nullptr},
    {DType::q5_1,     "Q5_1",    32,    sizeof(BlockQ5_1),   a8,   32, decode_q5_1,    nullptr},
    {DType::q8_0,     "Q8_0",    32,    sizeof(BlockQ8_0),   a8,   32, decode_q8_0,    encode_q8_0},
    {DType::q2_k,     "Q2_K",    256,   sizeof(BlockQ2_K),   a8,  256, decode_q2_k,    nullptr},
    {DType::q3_k,     "Q3_K",    256,   sizeof(BlockQ3_K),   a8,  256, decode_q3_k,    nullptr},
    {DType::q4_k,     "Q4_K",    256,   sizeof(BlockQ4_K),   a8,  256, decode_q4_k,    nullptr},
    {DType::q5_k,     "Q5_K",    256,   sizeof(BlockQ5_K),   a8,  256, decode_q5_k,    nullptr},
    {DType::q6_k,     "Q6_K",    256,   sizeof(BlockQ6_K),   a8,  256, decode_q6_k,    nullptr},
    {DType::iq4_nl,   "IQ4_NL",  32,    sizeof(BlockIq4Nl),  a8,   32, decode_iq4_nl,  nullptr},
    {DType::iq4_xs,   "IQ4_XS",  256,   sizeof(BlockIq4Xs),  a8,  256, decode_iq4_xs,  nullptr},
    {DType::mxfp4,    "MXFP4",   32,    sizeof(BlockMxfp4),  a8,   32, decode_mxfp4,   nullptr},
    {DType::iq1_s,    "IQ1_S",   256,   sizeof(BlockIq1S),   a8,  256, decode_iq1_s,   nullptr},
    {DType::iq1_m,    "IQ1_M",   256,   sizeof(BlockIq1M),   a8,  256, decode_iq1_m,   nullptr},
    {DType::iq2_xxs,  "IQ2_XXS", 256,   sizeof(BlockIq2Xxs), a8,  256, decode_iq2_xxs, nullptr},
    {DType::iq2_xs,   "IQ2_XS",  256,   sizeof(BlockIq2Xs),  a8,  256, decode_iq2_xs,  nullptr},
    {DType::iq2_s,    "IQ2_S",   256,   sizeof(BlockIq2S),   a8,  256, decode_iq2_s,   nullptr},
    {DType::iq3_xxs,  "IQ3_XXS", 256,   sizeof(BlockIq3Xxs), a8,  256, decode_iq3_xxs, nullptr},
    {DType::iq3_s,    "IQ3_S",   256,   sizeof(BlockIq3S),   a8,  256, decode_iq3_s,   nullptr},
    {DType::tq1_0,    "TQ1_0",   256,   sizeof(BlockTQ1_0),  a8,  256, decode_tq1_0,   nullptr},
    {DType::tq2_0,    "TQ2_0",   256,   sizeof(BlockTQ2_0),  a8,  256, decode_tq2_0,   nullptr},
    {DType::nvfp4,    "NVFP4",   64,    sizeof(BlockNvfp4),  f32,   0, decode_nvfp4,   nullptr},
    {DType::q1_0,     "Q1_0",    128,   sizeof(BlockQ1_0),   a8,   32, decode_q1_0,    nullptr},
    {DType::q2_0,     "Q2_0",    64,    sizeof(BlockQ2_0),   a8,   32, decode_q2_0,    nullptr},
};

// clang-format on
static_assert([] {
  for (const RowType& row : kRowTypes) {
    bool same = false;
    for (const QuantFormat& f : kFormats)
      same = same || (f.type == row.type && f.numerics == a8 && f.group == row.group);
    if (!same) return false;
  }
  return true;
}());

// clang-format off
// Numbers that GGUF defines, by number; "" where a number was never used or was withdrawn.
constexpr const char* kGgufTypeNames[] = {
    "F32",     "F16",     "Q4_0",  "Q4_1",    "",      "",      "Q5_0",  "Q5_1",   "Q8_0", "Q8_1",  "Q2_K",
    "Q3_K",    "Q4_K",    "Q5_K",  "Q6_K",    "Q8_K",  "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S",
    "IQ2_S",   "IQ4_XS",  "I8",    "I16",     "I32",   "I64",   "F64",   "IQ1_M",  "BF16", "",      "",
    "",        "TQ1_0",   "TQ2_0", "",        "",      "",      "MXFP4", "NVFP4",  "Q1_0", "Q2_0",
};
// clang-format on
static_assert(std::size(kGgufTypeNames) <= kDTypeNumbers);

}  // namespace

std::span<const QuantFormat> all_formats() { return kFormats; }

const QuantFormat* find_format(uint32_t ggml_type) {
  for (const QuantFormat& f : kFormats) {
    if (static_cast<uint32_t>(f.type) == ggml_type) return &f;
  }
  return nullptr;
}

const QuantFormat& format_of(DType type) {
  const QuantFormat* f = find_format(static_cast<uint32_t>(type));
  LLMRT_ASSERT(f != nullptr);
  return *f;
}

const char* gguf_type_name(uint32_t ggml_type) {
  return ggml_type < std::size(kGgufTypeNames) ? kGgufTypeNames[ggml_type] : "";
}

}  // namespace llmrt
