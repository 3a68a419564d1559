#include "model/quant_name.h"

#include <map>

namespace llmrt {
namespace {

// GGUF's general.file_type, by number; "" where a number was given up.
constexpr const char* kFileTypes[] = {
    "F32",   "F16",     "Q4_0",   "Q4_1",   "",       "",        "",       "Q8_0",   "Q5_0",
    "Q5_1",  "Q2_K",    "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_K_S",  "Q4_K_M", "Q5_K_S", "Q5_K_M",
    "Q6_K",  "IQ2_XXS", "IQ2_XS", "Q2_K_S", "IQ3_XS", "IQ3_XXS", "IQ1_S",  "IQ4_NL", "IQ3_S",
    "IQ3_M", "IQ2_S",   "IQ2_M",  "IQ4_XS", "IQ1_M",  "BF16",    "",       "",       "",
    "TQ1_0", "TQ2_0",   "MXFP4",  "NVFP4",  "Q1_0",   "Q2_0"};
constexpr int64_t kGuessed = 1024;  // set when the converter was not told the type

}  // namespace

std::string quant_name(const WeightSource& source) {
  const auto key = source.metadata().get_int("general.file_type");
  if (key.ok() && key.value()) {
    const int64_t number = *key.value() & ~kGuessed;
    if (number >= 0 && number < static_cast<int64_t>(std::size(kFileTypes)) && *kFileTypes[number])
      return kFileTypes[number];
  }
  std::map<uint32_t, uint64_t> n_elements;
  uint32_t commonest = 0;
  for (const TensorInfo& t : source.tensors()) {
    uint64_t& n = n_elements[t.ggml_type];
    n += t.dims[0] * t.dims[1] * t.dims[2] * t.dims[3];
    if (n > n_elements[commonest]) commonest = t.ggml_type;
  }
  if (const QuantFormat* format = find_format(commonest)) return format->name;
  return gguf_type_name(commonest);
}

}  // namespace llmrt
