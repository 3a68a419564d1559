// SourceReader: one tensor of a WeightSource as the WeightReader that a backend packs from. Borrows both. drops: what was read is let go.
#pragma once

#include "formats/weight_source.h"
#include "graph/backend.h"

namespace llmrt {

class SourceReader final : public WeightReader {
 public:
  SourceReader(const WeightSource& source, const TensorInfo& tensor, bool drops = true)
      : source_(source), tensor_(tensor), drops_(drops) {}
  Status read(uint64_t offset, void* dst, uint64_t n) const override {
    return source_.read(tensor_, offset, dst, n);
  }
  void drop_behind(uint64_t offset, uint64_t n) const override {
    if (drops_) source_.drop_behind(tensor_, offset, n);
  }

 private:
  const WeightSource& source_;
  const TensorInfo& tensor_;
  bool drops_;
};

}  // namespace llmrt
