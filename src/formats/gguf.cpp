#include "formats/gguf.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "base/in_quotes.h"
#include "formats/gguf_reader.h"

namespace llmrt {
namespace {

static_assert(std::endian::native == std::endian::little,
              "GGUF numbers are copied as they lie in the file");

using ull = unsigned long long;  // for printf

constexpr uint64_t kLeastKeyBytes = 8 + 1 + 4 + 1;  // name of one byte, type, value of one byte
// Name of one byte, no dims, type, offset.
constexpr uint64_t kLeastTensorBytes = 8 + 1 + 4 + 4 + 8;
// Decoded cost of a key or tensor beside its bytes.
constexpr uint64_t kEntryOverhead = sizeof(MetaValue) + 64;

// One pass over the file; where_ names the part being read, for messages.
class GgufParser {
 public:
  explicit GgufParser(const ByteSource& source) : source_(source), reader_(source) {}

  Result<GgufFile> parse() {
    LLMRT_TRY(read_header());
    for (uint64_t i = 0; i < n_keys_; ++i) LLMRT_TRY(read_entry(i));
    LLMRT_TRY(read_alignment());
    for (uint64_t i = 0; i < n_tensors_; ++i) LLMRT_TRY(read_tensor(i));
    LLMRT_TRY(place_tensors());
    return std::move(file_);
  }

 private:
  const char* name() const { return source_.name().c_str(); }

  Status truncated(const char* what) const {
    return error(Code::format, "%s: the file ends at byte %llu inside %s", name(),
                 ull{source_.size()}, what)
        .at(source_.name());
  }

  template <class T>
  Status get(T& out, const char* what) {
    if (reader_.remaining() < sizeof(T)) return truncated(what);
    return reader_.read(&out, sizeof(T));
  }

  // Counts decoded bytes, so that the sum over a file of tiny pieces stays bounded too.
  Status charge(uint64_t n, uint64_t each = 1) {
    if (n > (kGgufMaxMetadataBytes - charged_) / each) {
      return error(Code::format,
                   "%s: keys and tensor names take over %llu MiB, which is not a model's metadata",
                   name(), ull{kGgufMaxMetadataBytes >> 20})
          .at(source_.name());
    }
    charged_ += n * each;
    return {};
  }

  Status read_header();
  Status read_entry(uint64_t i);
  Status read_value(GgufType type, std::string_view key, MetaValue& out);
  template <class Stored, class Kept>
  Status read_number(MetaValue& out);
  Status read_bool(std::string_view key, MetaValue& out);
  Status read_array(std::string_view key, MetaValue& out);
  template <class Stored, class Kept>
  Status read_numbers(uint64_t n, MetaValue& out);
  Status read_bools(std::string_view key, uint64_t n, MetaValue& out);
  Status read_strings(std::string_view key, uint64_t n, MetaValue& out);
  Status read_name(const char* what, uint64_t i, std::string& out);
  Status read_alignment();
  Status read_tensor(uint64_t i);
  Status read_shape(TensorInfo& t);
  Status place_tensors();

  const ByteSource& source_;
  GgufReader reader_;
  GgufFile file_;
  uint64_t n_keys_ = 0;
  uint64_t n_tensors_ = 0;
  uint64_t alignment_ = kGgufDefaultAlignment;
  uint64_t charged_ = 0;
  std::unordered_set<std::string> tensor_names_;
};

Status GgufParser::read_header() {
  uint32_t magic = 0;
  LLMRT_TRY(get(magic, "the GGUF header"));
  if (magic != kGgufMagic) {
    return error(Code::format,
                 "%s: this is not a GGUF file: it begins with 0x%08x, not with \"GGUF\"", name(),
                 magic)
        .at(source_.name());
  }
  LLMRT_TRY(get(file_.version, "the GGUF header"));
  const uint32_t swapped = __builtin_bswap32(file_.version);
  if (swapped >= 1 && swapped <= 0xffff && file_.version > 0xffff) {
    return error(Code::unsupported,
                 "%s: this is a big-endian GGUF file (version %u), only little-endian ones are "
                 "supported",
                 name(), swapped)
        .at(source_.name());
  }
  if (file_.version != 2 && file_.version != 3) {
    return error(Code::unsupported, "%s: GGUF version %u, versions 2 and 3 are supported", name(),
                 file_.version)
        .at(source_.name());
  }
  LLMRT_TRY(get(n_tensors_, "the GGUF header"));
  LLMRT_TRY(get(n_keys_, "the GGUF header"));
  if (n_keys_ > reader_.remaining() / kLeastKeyBytes) {
    return error(Code::format,
                 "%s: the header counts %llu metadata keys, a file of %llu bytes cannot hold them",
                 name(), ull{n_keys_}, ull{source_.size()})
        .at(source_.name());
  }
  if (n_tensors_ > reader_.remaining() / kLeastTensorBytes) {
    return error(Code::format,
                 "%s: the header counts %llu tensors, a file of %llu bytes cannot hold them",
                 name(), ull{n_tensors_}, ull{source_.size()})
        .at(source_.name());
  }
  return {};
}

// The name of key or tensor i: 1 to kGgufMaxNameBytes bytes.
Status GgufParser::read_name(const char* what, uint64_t i, std::string& out) {
  uint64_t n = 0;
  LLMRT_TRY(get(n, what));
  if (n == 0)
    return error(Code::format, "%s: %s %llu has a name of length 0", name(), what, ull{i})
        .at(source_.name());
  if (n > kGgufMaxNameBytes || n > reader_.remaining()) {
    return error(Code::format, "%s: the name of %s %llu has %llu bytes, %llu are allowed here",
                 name(), what, ull{i}, ull{n},
                 ull{std::min(kGgufMaxNameBytes, reader_.remaining())})
        .at(source_.name());
  }
  LLMRT_TRY(charge(n + kEntryOverhead));
  out.resize(n);
  return reader_.read(out.data(), n);
}

Status GgufParser::read_entry(uint64_t i) {
  std::string key;
  LLMRT_TRY(read_name("metadata key", i, key));
  uint32_t type = 0;
  LLMRT_TRY(get(type, "a metadata key"));
  if (type >= kGgufTypeCount) {
    return error(Code::format, "%s: metadata key %s has value type %u, types 0 to 12 are defined",
                 name(), in_quotes(key).c_str(), type)
        .at(key);
  }
  MetaValue value;
  LLMRT_TRY(read_value(static_cast<GgufType>(type), key, value));
  if (file_.metadata.find(key)) {
    return error(Code::format, "%s: metadata key %s is there twice", name(), in_quotes(key).c_str())
        .at(key);
  }
  file_.metadata.add(std::move(key), std::move(value));
  return {};
}

template <class Stored, class Kept>
Status GgufParser::read_number(MetaValue& out) {
  Stored stored{};
  LLMRT_TRY(get(stored, "a metadata value"));
  out.v = static_cast<Kept>(stored);
  return {};
}

Status GgufParser::read_bool(std::string_view key, MetaValue& out) {
  uint8_t stored = 0;
  LLMRT_TRY(get(stored, "a metadata value"));
  if (stored > 1) {
    return error(Code::format, "%s: metadata key %s is a bool of value %u, 0 and 1 are allowed",
                 name(), in_quotes(key).c_str(), stored)
        .at(key);
  }
  out.v = stored == 1;
  return {};
}

Status GgufParser::read_value(GgufType type, std::string_view key, MetaValue& out) {
  out.type_name = kGgufTypes[static_cast<uint32_t>(type)].name;
  switch (type) {
    case GgufType::u8:
      return read_number<uint8_t, uint64_t>(out);
    case GgufType::i8:
      return read_number<int8_t, int64_t>(out);
    case GgufType::u16:
      return read_number<uint16_t, uint64_t>(out);
    case GgufType::i16:
      return read_number<int16_t, int64_t>(out);
    case GgufType::u32:
      return read_number<uint32_t, uint64_t>(out);
    case GgufType::i32:
      return read_number<int32_t, int64_t>(out);
    case GgufType::u64:
      return read_number<uint64_t, uint64_t>(out);
    case GgufType::i64:
      return read_number<int64_t, int64_t>(out);
    case GgufType::f32:
      return read_number<float, double>(out);
    case GgufType::f64:
      return read_number<double, double>(out);
    case GgufType::boolean:
      return read_bool(key, out);
    case GgufType::array:
      return read_array(key, out);
    case GgufType::string:
      break;
  }
  uint64_t n = 0;
  LLMRT_TRY(get(n, "a metadata value"));
  if (n > reader_.remaining()) {
    return error(Code::format,
                 "%s: metadata key %s is a string of %llu bytes, the file has %llu left", name(),
                 in_quotes(key).c_str(), ull{n}, ull{reader_.remaining()})
        .at(key);
  }
  LLMRT_TRY(charge(n));
  std::string text(n, '\0');
  LLMRT_TRY(reader_.read(text.data(), n));
  out.v = std::move(text);
  return {};
}

Status GgufParser::read_array(std::string_view key, MetaValue& out) {
  uint32_t number = 0;
  uint64_t n = 0;
  LLMRT_TRY(get(number, "an array's header"));
  LLMRT_TRY(get(n, "an array's header"));
  if (number >= kGgufTypeCount || static_cast<GgufType>(number) == GgufType::array) {
    return error(Code::format, "%s: metadata key %s is an array of element type %u, %s", name(),
                 in_quotes(key).c_str(), number,
                 number >= kGgufTypeCount ? "types 0 to 12 are defined"
                                          : "an array of arrays is not allowed")
        .at(key);
  }
  const GgufTypeRow& row = kGgufTypes[number];
  out.type_name = row.array_name;
  if (n > reader_.remaining() / row.bytes) {
    return error(Code::format,
                 "%s: metadata key %s is an array of %llu %s, the file has %llu bytes left", name(),
                 in_quotes(key).c_str(), ull{n}, row.name, ull{reader_.remaining()})
        .at(key);
  }
  LLMRT_TRY(charge(n, 8));
  switch (static_cast<GgufType>(number)) {
    case GgufType::u8:
      return read_numbers<uint8_t, uint64_t>(n, out);
    case GgufType::i8:
      return read_numbers<int8_t, int64_t>(n, out);
    case GgufType::u16:
      return read_numbers<uint16_t, uint64_t>(n, out);
    case GgufType::i16:
      return read_numbers<int16_t, int64_t>(n, out);
    case GgufType::u32:
      return read_numbers<uint32_t, uint64_t>(n, out);
    case GgufType::i32:
      return read_numbers<int32_t, int64_t>(n, out);
    case GgufType::u64:
      return read_numbers<uint64_t, uint64_t>(n, out);
    case GgufType::i64:
      return read_numbers<int64_t, int64_t>(n, out);
    case GgufType::f32:
      return read_numbers<float, double>(n, out);
    case GgufType::f64:
      return read_numbers<double, double>(n, out);
    case GgufType::boolean:
      return read_bools(key, n, out);
    case GgufType::string:
    case GgufType::array:
      break;
  }
  return read_strings(key, n, out);
}

// n * sizeof(Stored) <= remaining(): read_array checked it.
template <class Stored, class Kept>
Status GgufParser::read_numbers(uint64_t n, MetaValue& out) {
  std::vector<Kept> kept(n);
  for (Kept& value : kept) {
    Stored stored{};
    LLMRT_TRY(reader_.read(&stored, sizeof stored));
    value = static_cast<Kept>(stored);  // NOLINT(bugprone-signed-char-misuse): i8 is a number here
  }
  out.v = std::move(kept);
  return {};
}

Status GgufParser::read_bools(std::string_view key, uint64_t n, MetaValue& out) {
  std::vector<bool> kept(n);
  for (uint64_t i = 0; i < n; ++i) {
    MetaValue element;
    LLMRT_TRY(read_bool(key, element));
    kept[i] = std::get<bool>(element.v);
  }
  out.v = std::move(kept);
  return {};
}

Status GgufParser::read_strings(std::string_view key, uint64_t n, MetaValue& out) {
  StringArray strings;
  strings.begin.reserve(n + 1);
  strings.begin.push_back(0);
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t length = 0;
    LLMRT_TRY(get(length, "an array of strings"));
    if (length > reader_.remaining()) {
      return error(Code::format,
                   "%s: metadata key %s: string %llu has %llu bytes, the file has %llu left",
                   name(), in_quotes(key).c_str(), ull{i}, ull{length}, ull{reader_.remaining()})
          .at(key);
    }
    LLMRT_TRY(charge(length));
    const size_t begin = strings.blob.size();
    strings.blob.resize(begin + length);
    LLMRT_TRY(reader_.read(strings.blob.data() + begin, length));
    strings.begin.push_back(strings.blob.size());
  }
  out.v = std::move(strings);
  return {};
}

Status GgufParser::read_alignment() {
  constexpr const char* kKey = "general.alignment";
  const MetaValue* value = file_.metadata.find(kKey);
  if (!value) return {};
  if (std::string_view(value->type_name) != kGgufTypes[static_cast<uint32_t>(GgufType::u32)].name) {
    return error(Code::format, "%s: metadata key \"%s\" has type %s, wanted is u32", name(), kKey,
                 value->type_name)
        .at(kKey);
  }
  alignment_ = std::get<uint64_t>(value->v);
  if (!std::has_single_bit(alignment_) || alignment_ > kGgufMaxAlignment) {
    return error(Code::format,
                 "%s: metadata key \"%s\" is %llu, a power of two up to %llu is needed", name(),
                 kKey, ull{alignment_}, ull{kGgufMaxAlignment})
        .at(kKey);
  }
  return {};
}

Status GgufParser::read_tensor(uint64_t i) {
  TensorInfo t;
  LLMRT_TRY(read_name("tensor", i, t.name));
  LLMRT_TRY(read_shape(t));
  if (!tensor_names_.insert(t.name).second) {
    return error(Code::format, "%s: tensor %s is there twice", name(), in_quotes(t.name).c_str())
        .at(t.name);
  }
  file_.tensors.push_back(std::move(t));
  return {};
}

// Dimensions, type, size and offset; file_offset stays relative to the data until place_tensors() knows where that begins.
Status GgufParser::read_shape(TensorInfo& t) {
  const std::string shown = in_quotes(t.name);
  LLMRT_TRY(get(t.n_dims, "the tensor table"));
  if (t.n_dims > kGgufMaxDims) {
    return error(Code::format, "%s: tensor %s has %u dimensions, at most %u are allowed", name(),
                 shown.c_str(), t.n_dims, kGgufMaxDims)
        .at(t.name);
  }
  uint64_t n_elements = 1;
  for (uint32_t d = 0; d < t.n_dims; ++d) {
    LLMRT_TRY(get(t.dims[d], "the tensor table"));
    if (t.dims[d] == 0) {
      return error(Code::format, "%s: dimension %u of tensor %s is 0, at least 1 is needed", name(),
                   d, shown.c_str())
          .at(t.name);
    }
    if (t.dims[d] > uint64_t{INT64_MAX} / n_elements) {
      return error(Code::format, "%s: tensor %s has more than 2^63 - 1 elements", name(),
                   shown.c_str())
          .at(t.name);
    }
    n_elements *= t.dims[d];
  }
  LLMRT_TRY(get(t.ggml_type, "the tensor table"));
  LLMRT_TRY(get(t.file_offset, "the tensor table"));
  const QuantFormat* format = find_format(t.ggml_type);
  if (!format) return {};
  if (t.dims[0] % format->block != 0) {
    return error(Code::format,
                 "%s: tensor %s has rows of %llu elements, type %s needs a multiple of %u", name(),
                 shown.c_str(), ull{t.dims[0]}, format->name, format->block)
        .at(t.name);
  }
  const uint64_t n_blocks = n_elements / format->block;
  if (n_blocks > uint64_t{INT64_MAX} / format->block_bytes) {
    return error(Code::format, "%s: tensor %s takes more than 2^63 - 1 bytes", name(),
                 shown.c_str())
        .at(t.name);
  }
  t.bytes = n_blocks * format->block_bytes;
  return {};
}

Status GgufParser::place_tensors() {
  const uint64_t table_end = reader_.position();
  const uint64_t data = (table_end + alignment_ - 1) / alignment_ * alignment_;
  const uint64_t size = source_.size();
  file_.data_offset = data;
  for (TensorInfo& t : file_.tensors) {
    if (t.file_offset % alignment_ != 0) {
      return error(Code::format,
                   "%s: the data of tensor %s is at offset %llu, a multiple of general.alignment "
                   "%llu is needed",
                   name(), in_quotes(t.name).c_str(), ull{t.file_offset}, ull{alignment_})
          .at(t.name);
    }
    if (data > size || t.file_offset > size - data || t.bytes > size - data - t.file_offset) {
      return error(Code::format,
                   "%s: tensor %s has %llu bytes at offset %llu of the data, the file ends %llu "
                   "bytes after the data begins",
                   name(), in_quotes(t.name).c_str(), ull{t.bytes}, ull{t.file_offset},
                   ull{size > data ? size - data : 0})
          .at(t.name);
    }
    t.file_offset += data;
  }
  std::vector<const TensorInfo*> by_offset;
  for (const TensorInfo& t : file_.tensors) {
    if (t.bytes > 0) by_offset.push_back(&t);
  }
  std::sort(by_offset.begin(), by_offset.end(), [](const TensorInfo* a, const TensorInfo* b) {
    return a->file_offset < b->file_offset;
  });
  for (size_t i = 1; i < by_offset.size(); ++i) {
    const TensorInfo& before = *by_offset[i - 1];
    const TensorInfo& after = *by_offset[i];
    if (before.file_offset + before.bytes > after.file_offset) {
      return error(Code::format, "%s: the data of tensors %s and %s overlap", name(),
                   in_quotes(before.name).c_str(), in_quotes(after.name).c_str())
          .at(after.name);
    }
  }
  return {};
}

}  // namespace

Result<GgufFile> parse_gguf(const ByteSource& source) { return GgufParser(source).parse(); }

}  // namespace llmrt
