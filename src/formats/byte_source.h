// ByteSource: where model bytes come from (path, memory, callbacks, fd + offset), with pread semantics.
// Immutable after creation; read() is safe from any thread at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace llmrt {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  // All n bytes or an error (io, naming this source and the offset). A read past size() is an error.
  virtual Status read(uint64_t offset, void* dst, uint64_t n) const = 0;
  // path, "<memory>", "<callbacks>", "<fd 7>": for messages
  virtual const std::string& name() const = 0;
  virtual std::string path() const {
    return {};
  }  // non-empty only for a path: split files find their siblings by it
  // Tells the system that [offset, offset + n) will not be read again.
  virtual void drop_behind(uint64_t, uint64_t) const {}
  // The same bytes through a read-only mapping that lives as long as the result; nullptr: this is no file. size() stays what it was
  // here: a byte that the file loses meanwhile, or that the system cannot read, raises SIGBUS. once: each byte is read once, in order;
  // else many times, in any order.
  virtual Result<std::shared_ptr<const ByteSource>> map(bool /*once*/) const {
    return std::shared_ptr<const ByteSource>();
  }
  // All bytes where they lie, as long as this lives: of a mapping, and of memory. Empty: they can only be read.
  virtual std::span<const uint8_t> bytes() const { return {}; }
};

using ByteSourcePtr = std::shared_ptr<const ByteSource>;

// Where one model's bytes come from: a file, or the first part of a split one and, unless it is a path, the others in order.
struct SourceParts {
  ByteSourcePtr first;
  std::vector<ByteSourcePtr> shards = {};
};

// a directory, FIFO, device or empty file is an error
Result<ByteSourcePtr> source_from_path(std::string_view utf8_path);
Result<ByteSourcePtr> source_from_memory(const void* data, uint64_t size, void (*done)(void*),
                                         void* user);  // done null: copied
Result<ByteSourcePtr> source_from_callbacks(uint64_t size,
                                            int64_t (*read)(void*, int64_t, void*, int64_t),
                                            void (*done)(void*), void* user);
// The descriptor is duplicated: the caller's own may be closed. length -1: to the end.
Result<ByteSourcePtr> source_from_fd(int fd, uint64_t offset, int64_t length);

}  // namespace llmrt
