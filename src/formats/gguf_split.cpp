// Split models. Every part says split.count and split.no (from 0); files are named NAME-00001-of-0000N.gguf.
#include <cstdio>
#include <unordered_map>

#include "base/in_quotes.h"
#include "formats/gguf.h"

namespace llmrt {
namespace {

using ll = long long;  // for printf

constexpr const char* kCount = "split.count";
constexpr const char* kNumber = "split.no";
constexpr const char* kTensorCount = "split.tensors.count";
constexpr int64_t kMostParts = 65535;  // split.count is u16

struct SplitKeys {
  int64_t count = 1;   // parts of the model
  int64_t number = 0;  // of this part, from 0
};

Result<SplitKeys> split_keys(const GgufPart& part) {
  const char* name = part.source->name().c_str();
  SplitKeys keys;
  LLMRT_ASSIGN(const auto count, part.file.metadata.get_int(kCount));
  LLMRT_ASSIGN(const auto number, part.file.metadata.get_int(kNumber));
  keys.count = count.value_or(1);
  keys.number = number.value_or(0);
  if (keys.count == 0) keys.count = 1;  // some writers say 0 for a whole model
  if (keys.count < 1 || keys.count > kMostParts || keys.number < 0 || keys.number >= keys.count) {
    return error(Code::format,
                 "%s: split.no is %lld and split.count %lld, 0 <= split.no < split.count <= %lld "
                 "is needed",
                 name, ll{keys.number}, ll{keys.count}, ll{kMostParts})
        .at(kNumber);
  }
  return keys;
}

std::string part_ending(int64_t number, int64_t count) {
  char ending[64];
  std::snprintf(ending, sizeof ending, "-%05lld-of-%05lld.gguf", ll{number} + 1, ll{count});
  return ending;
}

// path without -0000k-of-0000N.gguf; an error if it does not end so.
Result<std::string> split_prefix(const std::string& path, const SplitKeys& keys) {
  const std::string ending = part_ending(keys.number, keys.count);
  if (path.size() <= ending.size() || !path.ends_with(ending)) {
    return error(Code::format,
                 "%s: this is part %lld of %lld of a split model, its name must end in %s",
                 path.c_str(), ll{keys.number} + 1, ll{keys.count}, ending.c_str())
        .at(path);
  }
  return path.substr(0, path.size() - ending.size());
}

Result<GgufPart> read_part(ByteSourcePtr source) {
  GgufPart part;
  LLMRT_ASSIGN(part.file, parse_gguf(*source));
  part.source = std::move(source);
  return part;
}

// Part `number` of `count` must say so itself.
Status check_part(const GgufPart& part, int64_t number, int64_t count) {
  LLMRT_ASSIGN(const SplitKeys keys, split_keys(part));
  if (keys.number == number && keys.count == count) return {};
  return error(Code::format,
               "%s: part %lld of %lld of the split model is needed here, this file is part %lld of "
               "%lld",
               part.source->name().c_str(), ll{number} + 1, ll{count}, ll{keys.number} + 1,
               ll{keys.count})
      .at(part.source->name());
}

Result<GgufPart> open_sibling(const std::string& path, int64_t number, int64_t count) {
  auto source = source_from_path(path);
  if (!source.ok()) {
    return error(source.status().code(), "part %lld of %lld of the split model: %s", ll{number} + 1,
                 ll{count}, std::string(source.status().message()).c_str())
        .at(path);
  }
  LLMRT_ASSIGN(GgufPart part, read_part(std::move(source).value()));
  LLMRT_TRY(check_part(part, number, count));
  return part;
}

// Over all parts: no tensor twice, and as many as part 1 says.
Status check_tensors(const std::vector<GgufPart>& parts) {
  std::unordered_map<std::string_view, const GgufPart*> seen;
  for (const GgufPart& part : parts) {
    for (const TensorInfo& t : part.file.tensors) {
      const auto [at, added] = seen.try_emplace(t.name, &part);
      if (!added) {
        return error(Code::format, "%s: tensor %s is also in %s", part.source->name().c_str(),
                     in_quotes(t.name).c_str(), at->second->source->name().c_str())
            .at(t.name);
      }
    }
  }
  LLMRT_ASSIGN(const auto wanted, parts[0].file.metadata.get_int(kTensorCount));
  if (wanted && (*wanted < 0 || static_cast<uint64_t>(*wanted) != seen.size())) {
    return error(Code::format, "%s: split.tensors.count is %lld, the parts hold %lld tensors",
                 parts[0].source->name().c_str(), ll{*wanted}, static_cast<ll>(seen.size()))
        .at(kTensorCount);
  }
  return {};
}

}  // namespace

Result<std::vector<GgufPart>> open_gguf_parts(ByteSourcePtr first,
                                              std::span<const ByteSourcePtr> shards) {
  std::vector<GgufPart> parts;
  LLMRT_ASSIGN(GgufPart given, read_part(std::move(first)));
  LLMRT_ASSIGN(const SplitKeys keys, split_keys(given));
  if (keys.count == 1 && shards.empty()) {
    parts.push_back(std::move(given));
    return parts;
  }
  const std::string path = given.source->path();
  if (shards.empty() && !path.empty()) {  // any part of the set may have been given
    LLMRT_ASSIGN(const std::string prefix, split_prefix(path, keys));
    for (int64_t number = 0; number < keys.count; ++number) {
      if (number == keys.number) {
        parts.emplace_back();  // given goes here
        continue;
      }
      LLMRT_ASSIGN(GgufPart part,
                   open_sibling(prefix + part_ending(number, keys.count), number, keys.count));
      parts.push_back(std::move(part));
    }
    parts[static_cast<size_t>(keys.number)] = std::move(given);
  } else {
    if (shards.size() != static_cast<size_t>(keys.count - 1)) {
      return error(Code::invalid_argument, "%s: split.count is %lld, given are %lld parts",
                   given.source->name().c_str(), ll{keys.count}, static_cast<ll>(shards.size()) + 1)
          .at(kCount);
    }
    LLMRT_TRY(check_part(given, 0, keys.count));
    parts.push_back(std::move(given));
    for (const ByteSourcePtr& shard : shards) {
      LLMRT_ASSIGN(GgufPart part, read_part(shard));
      LLMRT_TRY(check_part(part, static_cast<int64_t>(parts.size()), keys.count));
      parts.push_back(std::move(part));
    }
  }
  LLMRT_TRY(check_tensors(parts));
  return parts;
}

}  // namespace llmrt
