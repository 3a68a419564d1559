// Sources: where model bytes come from.
#include <algorithm>

#include "api/guard.h"
#include "api/objects.h"
#include "api/options.h"
#include "api/text.h"

namespace llmrt::api {
namespace {

Status give_source(ByteSourcePtr first, llmrt_source** out) {
  auto source = std::make_shared<SourceObject>();
  source->first = std::move(first);
  *out = make_handle<llmrt_source>(std::move(source));
  return Status();
}

}  // namespace

SourceParts parts_of(SourceObject& source) {
  const std::lock_guard lock(source.mutex);
  return {source.first, source.shards};
}

}  // namespace llmrt::api

using namespace llmrt;
using namespace llmrt::api;

extern "C" {

llmrt_status llmrt_source_from_path(const char* utf8_path, llmrt_source** out) {
  return LLMRT_ENTRY_MAKES(out) {
    LLMRT_TRY(need("out", out));
    LLMRT_ASSIGN(const std::string_view path, text_argument("utf8_path", utf8_path));
    LLMRT_ASSIGN(ByteSourcePtr bytes, source_from_path(path));
    return give_source(std::move(bytes), out);
  };
}

llmrt_status llmrt_source_from_memory(const void* data, size_t size, llmrt_done_fn done, void* user,
                                      llmrt_source** out) {
  return LLMRT_ENTRY_MAKES(out) {
    LLMRT_TRY(need("out", out));
    LLMRT_TRY(need("data", data));
    if (size == 0) return refuse("size", "0", "1 and up");
    LLMRT_ASSIGN(ByteSourcePtr bytes, source_from_memory(data, size, done, user));
    return give_source(std::move(bytes), out);
  };
}

llmrt_status llmrt_source_from_callbacks(int64_t size, llmrt_read_fn read, llmrt_done_fn done,
                                         void* user, llmrt_source** out) {
  return LLMRT_ENTRY_MAKES(out) {
    LLMRT_TRY(need("out", out));
    if (!read) return error(Code::invalid_argument, "read is NULL").at("read");
    LLMRT_TRY(check_range("size", size, 1, kNoMost));
    LLMRT_ASSIGN(ByteSourcePtr bytes,
                 source_from_callbacks(static_cast<uint64_t>(size), read, done, user));
    return give_source(std::move(bytes), out);
  };
}

llmrt_status llmrt_source_from_fd(int32_t fd, int64_t offset, int64_t length, llmrt_source** out) {
  return LLMRT_ENTRY_MAKES(out) {
    LLMRT_TRY(need("out", out));
    LLMRT_TRY(check_range("fd", fd, 0, kNoMost));
    LLMRT_TRY(check_range("offset", offset, 0, kNoMost));
    LLMRT_ASSIGN(ByteSourcePtr bytes, source_from_fd(fd, static_cast<uint64_t>(offset), length));
    return give_source(std::move(bytes), out);
  };
}

llmrt_status llmrt_source_add_shard(llmrt_source* source, llmrt_source* shard) {
  return LLMRT_ENTRY_OUTSIDE {
    LLMRT_ASSIGN(const auto s, get(source));
    LLMRT_ASSIGN(const auto part, get(shard));
    if (!s->first->path().empty())
      return error(Code::invalid_argument, "%s is a path: it finds its shards itself",
                   s->first->name().c_str())
          .at("source");
    const SourceParts parts = parts_of(*part);
    if (!parts.shards.empty())
      return error(Code::invalid_argument, "%s has %zu shards of its own",
                   parts.first->name().c_str(), parts.shards.size())
          .at("shard");
    const std::lock_guard lock(s->mutex);
    if (parts.first == s->first ||
        std::find(s->shards.begin(), s->shards.end(), parts.first) != s->shards.end())
      return error(Code::invalid_argument, "shard is a part that the source has already")
          .at("shard");
    s->shards.push_back(parts.first);
    return Status();
  };
}

void llmrt_source_release(llmrt_source* source) {
  LLMRT_ENTRY_VOID { release(source); };
}

}  // extern "C"
