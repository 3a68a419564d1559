// WeightSource: what a loader sees of a model file: metadata and named tensors, read on demand. Formats (gguf, later
// safetensors) make one; nothing above this header knows which.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "formats/byte_source.h"
#include "formats/metadata.h"
#include "quant/dtype.h"

namespace llmrt {

struct TensorInfo {
  std::string name;
  // file's number; find_format(ggml_type) may be nullptr: an error only for whoever needs the tensor
  uint32_t ggml_type = 0;
  uint32_t n_dims = 0;
  std::array<uint64_t, 4> dims{
      1, 1, 1, 1};           // dims[0] is the row length K (innermost), dims[1] the row count N
  uint64_t bytes = 0;        // 0 if the type is unknown
  uint64_t file_offset = 0;  // absolute, in shard `shard`
  uint32_t shard = 0;
};

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual const Metadata& metadata() const = 0;
  virtual std::span<const TensorInfo> tensors() const = 0;
  virtual const TensorInfo* find(std::string_view name) const = 0;
  // Bytes [offset, offset + n) of a tensor. Any thread. Failure: io, naming tensor and offset.
  virtual Status read(const TensorInfo& tensor, uint64_t offset, void* dst, uint64_t n) const = 0;
  virtual void drop_behind(const TensorInfo& tensor, uint64_t offset, uint64_t n) const = 0;
  // From map() until unmap() tensors are read from mappings of the files; what is no file is read as ever. Neither may
  // run beside a read. once: as in ByteSource::map.
  virtual Status map(bool once) = 0;
  virtual void unmap() = 0;
  // All bytes of a tensor where they lie: of a mapped file until unmap(), of memory as long as this lives. Empty: it can only be read.
  virtual std::span<const uint8_t> bytes(const TensorInfo& tensor) const = 0;
  virtual const std::string& name() const = 0;
  // XXH3-128 hex over metadata after overrides, tensor table, file lengths, first and last 4 KiB of each tensor.
  virtual Result<std::string> hash() const = 0;
};

// Sniffs the magic and dispatches. Shards: for a path, siblings NAME-00002-of-0000N.gguf are opened beside the first one;
// otherwise `shards` gives parts 2..N in order. `overrides_json` may be empty. Hostile input assumed: one precise sentence each.
Result<std::unique_ptr<WeightSource>> open_weights(ByteSourcePtr first,
                                                   std::span<const ByteSourcePtr> shards,
                                                   std::string_view overrides_json);

}  // namespace llmrt
