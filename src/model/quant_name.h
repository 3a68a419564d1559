// The name people know a file's quantization by.
#pragma once

#include <string>

#include "formats/weight_source.h"

namespace llmrt {

// "Q4_K_M" from general.file_type; a file without the key, or with a number of no meaning: the type that holds most elements.
std::string quant_name(const WeightSource& source);

}  // namespace llmrt
