// Little Programs for tests: random float weights held in memory, and a way to hand them to a Backend.
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "graph/backend.h"
#include "graph/builder.h"

namespace llmrt::test {

using Rng = std::mt19937_64;

inline std::vector<float> random_floats(Rng& rng, size_t n, float spread = 1.0f) {
  std::normal_distribution<float> draw(0.0f, spread);
  std::vector<float> out(n);
  for (float& x : out) x = draw(rng);
  return out;
}

inline std::vector<uint8_t> bytes_of(std::span<const float> values) {
  std::vector<uint8_t> out(values.size_bytes());
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

class MemoryReader final : public WeightReader {
 public:
  explicit MemoryReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  Status read(uint64_t offset, void* dst, uint64_t n) const override {
    if (offset + n > bytes_.size()) return error(Code::io, "read past the end");
    std::memcpy(dst, bytes_.data() + offset, n);
    return Status();
  }
  void drop_behind(uint64_t, uint64_t) const override {}

 private:
  std::span<const uint8_t> bytes_;
};

// A Program with the bytes of its weights.
struct ProgramKit {
  Program program;
  std::vector<std::vector<uint8_t>> bytes;  // [program.weights]

  Builder builder() { return Builder(program); }
  WeightIndex add(const std::string& name, DType type, uint32_t n, uint32_t k,
                  std::vector<uint8_t> content) {
    program.weights.push_back({name, type, n, k});
    bytes.push_back(std::move(content));
    return static_cast<WeightIndex>(bytes.size() - 1);
  }
  WeightIndex add_f32(const std::string& name, uint32_t n, uint32_t k,
                      std::span<const float> values) {
    return add(name, DType::f32, n, k, bytes_of(values));
  }
  // logits = wanted rows of x, which must be n_vocab wide.
  void finish(ValueId x) {
    Builder b = builder();
    program.n_vocab = program.values[x].width;
    b.set_logits(program.values[x].rows == RowSpace::wanted ? x : b.gather_rows(x));
  }
  Result<std::vector<WeightId>> load(Backend& backend) const {
    std::vector<WeightId> ids;
    for (size_t i = 0; i < bytes.size(); ++i) {
      LLMRT_ASSIGN(const WeightId id,
                   backend.add_weight(program.weights[i], MemoryReader(bytes[i]), nullptr));
      ids.push_back(id);
    }
    return ids;
  }
};

}  // namespace llmrt::test
