// GGUF, version 2 and 3, little-endian. Hostile input assumed.
//
//   offset 0        "GGUF" | version u32 | n_tensors u64 | n_keys u64
//   then n_keys     key: str | type u32 | value             str = n u64, n bytes; array = type u32, n u64, n values
//   then n_tensors  name: str | n_dims u32 | dims u64[n_dims], dims[0] innermost | type u32 | offset u64
//   data            at the next multiple of general.alignment (32); each offset counts from here
//
// What parse_gguf() promises of its result, whatever the bytes were:
//   every key and tensor name is unique and not empty
//   n_dims <= 4, every dim >= 1, the product of dims fits int64; dims[0] % block == 0 where the type is known
//   data <= file_offset, file_offset + bytes <= size of the file, file_offset - data is a multiple of the alignment
//   tensors of known type do not overlap
// Memory taken is bounded by the bytes of the file that were read and by kGgufMaxMetadataBytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/byte_source.h"
#include "formats/metadata.h"
#include "formats/weight_source.h"

namespace llmrt {

enum class GgufType : uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};

struct GgufTypeRow {
  const char* name;        // "u8"
  const char* array_name;  // "arr[u8]"
  uint32_t bytes;          // smallest size in the file: of the number, or of a string's length
};
inline constexpr GgufTypeRow kGgufTypes[] = {
    {"u8", "arr[u8]", 1},    {"i8", "arr[i8]", 1},     {"u16", "arr[u16]", 2},
    {"i16", "arr[i16]", 2},  {"u32", "arr[u32]", 4},   {"i32", "arr[i32]", 4},
    {"f32", "arr[f32]", 4},  {"bool", "arr[bool]", 1}, {"str", "arr[str]", 8},
    {"arr", "arr[arr]", 12}, {"u64", "arr[u64]", 8},   {"i64", "arr[i64]", 8},
    {"f64", "arr[f64]", 8},
};
inline constexpr uint32_t kGgufTypeCount = 13;
static_assert(sizeof(kGgufTypes) / sizeof(kGgufTypes[0]) == kGgufTypeCount);

inline constexpr uint32_t kGgufMagic = 0x46554747;  // "GGUF"
inline constexpr uint32_t kGgufMaxDims = 4;
inline constexpr uint64_t kGgufDefaultAlignment = 32;
inline constexpr uint64_t kGgufMaxAlignment = uint64_t{1} << 20;
inline constexpr uint64_t kGgufMaxNameBytes = 65535;  // of a key or a tensor name
inline constexpr uint64_t kGgufMaxMetadataBytes = uint64_t{1}
                                                  << 29;  // of all values and names, decoded

struct GgufFile {
  uint32_t version = 0;
  uint64_t data_offset = 0;
  Metadata metadata;
  std::vector<TensorInfo> tensors;  // in file order; shard = 0
};

Result<GgufFile> parse_gguf(const ByteSource& source);

// All parts of a split model, in order. Siblings of a path are opened by name: NAME-00001-of-0000N.gguf. Otherwise `shards`
// holds parts 2..N. One part with split.count absent or 1 is a whole model.
struct GgufPart {
  ByteSourcePtr source;
  GgufFile file;
};
Result<std::vector<GgufPart>> open_gguf_parts(ByteSourcePtr first,
                                              std::span<const ByteSourcePtr> shards);

// The parts as one WeightSource: metadata of part 1 with overrides, tensors of all parts in order.
Result<std::unique_ptr<WeightSource>> open_gguf(ByteSourcePtr first,
                                                std::span<const ByteSourcePtr> shards,
                                                std::string_view overrides_json);

}  // namespace llmrt
