// The parts of a GGUF model as one WeightSource.
#define XXH_STATIC_LINKING_ONLY  // XXH3_state_t by value: no allocation outside the library's own
#include <xxhash.h>

#include <algorithm>
#include <unordered_map>

#include "base/in_quotes.h"
#include "formats/gguf.h"

namespace llmrt {
namespace {

using ull = unsigned long long;  // for printf

// Bytes of each tensor's two ends that enter the hash: enough to tell retrained weights apart without reading the file.
constexpr uint64_t kHashedEnd = 4096;

class Hasher {
 public:
  Hasher() {
    XXH3_INITSTATE(&state_);
    XXH3_128bits_reset(&state_);
  }
  void bytes(const void* data, size_t n) { XXH3_128bits_update(&state_, data, n); }
  void number(uint64_t value) { bytes(&value, sizeof value); }
  void text(std::string_view value) {  // with its length, so that neighbours cannot trade bytes
    number(value.size());
    bytes(value.data(), value.size());
  }
  void value(const MetaValue& meta) {
    number(meta.v.index());
    std::visit([this](const auto& v) { content(v); }, meta.v);
  }
  std::string hex() const {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_));
    constexpr char kHex[] = "0123456789abcdef";
    std::string out;
    for (unsigned char byte : canonical.digest) out += {kHex[byte >> 4], kHex[byte & 15]};
    return out;
  }

 private:
  void content(bool v) { number(v ? 1 : 0); }
  void content(int64_t v) { bytes(&v, sizeof v); }
  void content(uint64_t v) { number(v); }
  void content(double v) { bytes(&v, sizeof v); }
  void content(const std::string& v) { text(v); }
  void content(const std::vector<bool>& v) {
    number(v.size());
    for (bool b : v) number(b ? 1 : 0);
  }
  template <class T>
  void content(const std::vector<T>& v) {
    number(v.size());
    bytes(v.data(), v.size() * sizeof(T));
  }
  void content(const StringArray& v) {
    text(v.blob);
    content(v.begin);
  }

  XXH3_state_t state_;
};

class GgufWeights final : public WeightSource {
 public:
  explicit GgufWeights(std::vector<GgufPart> parts) : metadata_(std::move(parts[0].file.metadata)) {
    for (size_t shard = 0; shard < parts.size(); ++shard) {
      for (TensorInfo& t : parts[shard].file.tensors) {
        t.shard = static_cast<uint32_t>(shard);
        tensors_.push_back(std::move(t));
      }
      sources_.push_back(std::move(parts[shard].source));
    }
    for (size_t i = 0; i < tensors_.size(); ++i) index_.emplace(tensors_[i].name, i);
  }
  GgufWeights(const GgufWeights&) = delete;
  GgufWeights& operator=(const GgufWeights&) = delete;

  Status apply_overrides(std::string_view json) {
    return json.empty() ? Status() : metadata_.apply_overrides(json);
  }

  const Metadata& metadata() const override { return metadata_; }
  std::span<const TensorInfo> tensors() const override { return tensors_; }
  const std::string& name() const override { return sources_[0]->name(); }

  const TensorInfo* find(std::string_view name) const override {
    const auto at = index_.find(name);
    return at == index_.end() ? nullptr : &tensors_[at->second];
  }

  Status read(const TensorInfo& t, uint64_t offset, void* dst, uint64_t n) const override {
    if (!find_format(t.ggml_type)) {
      const char* type = gguf_type_name(t.ggml_type);
      return error(Code::unsupported,
                   "%s: tensor %s has type %s (%u), which this build cannot decode", name().c_str(),
                   in_quotes(t.name).c_str(), *type ? type : "unknown", t.ggml_type)
          .at(t.name);
    }
    if (offset > t.bytes || n > t.bytes - offset) {
      return error(Code::io, "%s: tensor %s has %llu bytes, %llu at offset %llu were asked for",
                   name().c_str(), in_quotes(t.name).c_str(), ull{t.bytes}, ull{n}, ull{offset})
          .at(t.name);
    }
    Status status = source_of(t).read(t.file_offset + offset, dst, n);
    if (status.ok()) return status;
    const int32_t sys_code = status.detail() ? status.detail()->sys_code : 0;
    return error(status.code(), "tensor %s, offset %llu: %s", in_quotes(t.name).c_str(),
                 ull{offset}, std::string(status.message()).c_str())
        .sys(sys_code)
        .at(t.name);
  }

  void drop_behind(const TensorInfo& t, uint64_t offset, uint64_t n) const override {
    if (offset <= t.bytes && n <= t.bytes - offset)
      source_of(t).drop_behind(t.file_offset + offset, n);
  }

  Status map(bool once) override {
    std::vector<ByteSourcePtr> mapped;
    for (const ByteSourcePtr& source : sources_) {
      LLMRT_ASSIGN(ByteSourcePtr file, source->map(once));
      if (!file) file = source;
      mapped.push_back(std::move(file));
    }
    mapped_ = std::move(mapped);
    return {};
  }
  void unmap() override { mapped_.clear(); }
  std::span<const uint8_t> bytes(const TensorInfo& t) const override {
    const std::span<const uint8_t> file = source_of(t).bytes();
    if (t.file_offset > file.size() || t.bytes > file.size() - t.file_offset) return {};
    return file.subspan(t.file_offset, t.bytes);
  }

  Result<std::string> hash() const override {
    Hasher h;
    h.number(metadata_.size());
    for (size_t i = 0; i < metadata_.size(); ++i) {
      h.text(metadata_.key_at(i));
      h.value(metadata_.value_at(i));
    }
    h.number(sources_.size());
    for (const ByteSourcePtr& source : sources_) h.number(source->size());
    h.number(tensors_.size());
    std::vector<uint8_t> ends(2 * kHashedEnd);
    for (const TensorInfo& t : tensors_) {
      h.text(t.name);
      h.number(t.ggml_type);
      h.number(t.n_dims);
      for (uint64_t dim : t.dims) h.number(dim);
      h.number(t.shard);
      h.number(t.file_offset);
      // Small tensors are hashed whole; the two ends never overlap.
      const uint64_t head = std::min(t.bytes, kHashedEnd);
      const uint64_t tail = std::min(t.bytes - head, kHashedEnd);
      if (head > 0) LLMRT_TRY(read(t, 0, ends.data(), head));
      if (tail > 0) LLMRT_TRY(read(t, t.bytes - tail, ends.data() + head, tail));
      h.bytes(ends.data(), head + tail);
    }
    return h.hex();
  }

 private:
  const ByteSource& source_of(const TensorInfo& t) const {
    return mapped_.empty() ? *sources_[t.shard] : *mapped_[t.shard];
  }

  std::vector<ByteSourcePtr> sources_;
  std::vector<ByteSourcePtr> mapped_;  // [sources_], or none
  Metadata metadata_;
  std::vector<TensorInfo> tensors_;
  // views into tensors_, which never changes again
  std::unordered_map<std::string_view, size_t> index_;
};

}  // namespace

Result<std::unique_ptr<WeightSource>> open_gguf(ByteSourcePtr first,
                                                std::span<const ByteSourcePtr> shards,
                                                std::string_view overrides_json) {
  LLMRT_ASSIGN(std::vector<GgufPart> parts, open_gguf_parts(std::move(first), shards));
  auto weights = std::make_unique<GgufWeights>(std::move(parts));
  LLMRT_TRY(weights->apply_overrides(overrides_json));
  return std::unique_ptr<WeightSource>(std::move(weights));
}

}  // namespace llmrt
