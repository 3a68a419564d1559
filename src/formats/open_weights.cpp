// Which format is it? The first bytes say so, never the file's name.
#include <algorithm>
#include <cstring>

#include "base/in_quotes.h"
#include "formats/gguf.h"
#include "formats/weight_source.h"

namespace llmrt {
namespace {

struct KnownStart {
  std::string_view start;
  const char* what;
};

// Files that people take for a GGUF model.
constexpr KnownStart kOthers[] = {
    {"FUGG", "a big-endian GGUF file, only little-endian ones are supported"},
    {"tjgg", "a GGJT file, the format before GGUF"},
    {"fmgg", "a GGMF file, the format before GGUF"},
    {"lmgg", "a GGML file, the format before GGUF"},
    {"version https://git-lfs",
     "a Git LFS pointer, the model itself was not downloaded (git lfs pull)"},
    {"PK\x03\x04", "a zip archive (PyTorch checkpoint?)"},
    {"<!DOCTYPE", "an HTML page, not a model: the download went wrong"},
    {"<html", "an HTML page, not a model: the download went wrong"},
};

// Safetensors: header length (u64), then a JSON object of that many bytes.
bool looks_like_safetensors(const uint8_t* head, size_t n, uint64_t size) {
  if (n < 9 || head[8] != '{') return false;
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, head, sizeof header_bytes);
  return header_bytes >= 2 && header_bytes <= size - 8;
}

}  // namespace

Result<std::unique_ptr<WeightSource>> open_weights(ByteSourcePtr first,
                                                   std::span<const ByteSourcePtr> shards,
                                                   std::string_view overrides_json) {
  if (!first) return error(Code::invalid_argument, "no model source was given");
  uint8_t head[32] = {};
  const size_t n = static_cast<size_t>(std::min<uint64_t>(first->size(), sizeof head));
  LLMRT_TRY(first->read(0, head, n));
  uint32_t magic = 0;
  std::memcpy(&magic, head, sizeof magic);
  if (n >= sizeof magic && magic == kGgufMagic)
    return open_gguf(std::move(first), shards, overrides_json);

  const std::string& name = first->name();
  const std::string_view start(reinterpret_cast<const char*>(head), n);
  for (const KnownStart& other : kOthers) {
    if (start.starts_with(other.start))
      return error(Code::unsupported, "%s: this is %s", name.c_str(), other.what).at(name);
  }
  if (looks_like_safetensors(head, n, first->size())) {
    return error(Code::unsupported, "%s: this is a safetensors file, this build loads GGUF only",
                 name.c_str())
        .at(name);
  }
  return error(Code::format, "%s: this is not a GGUF file: it begins with %s, not with \"GGUF\"",
               name.c_str(), in_quotes(start.substr(0, 4)).c_str())
      .at(name);
}

}  // namespace llmrt
