// Everything a loader does with a model file before it knows the architecture, on bytes that may be anything.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"

namespace llmrt::test {

// Opens the bytes, and if that works reads all metadata, the ends of each tensor and the hash. The first failure, or ok.
Status exercise_gguf(std::span<const uint8_t> bytes);

}  // namespace llmrt::test
